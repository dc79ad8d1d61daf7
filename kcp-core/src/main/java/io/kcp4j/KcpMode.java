package io.kcp4j;

/**
 * The four presets of kcptun, from the slowest to the fastest. A preset sets {@code noDelay}, the
 * interval and the fast retransmit threshold of a {@link KcpConfig}; settings made later override
 * it. kcptun's also have {@code nc=1}, no congestion control: {@link
 * io.kcp4j.CongestionControl#NONE} has to be set for that.
 *
 * <p>The least RTO applies with {@link LossDetection#FAST_RETRANSMIT}, and until the first round
 * trip is measured.
 */
public enum KcpMode {
  /** Interval 40 ms, RTO doubled on every timeout, at least 100 ms. */
  NORMAL(false, 40),
  /** Interval 30 ms, RTO doubled on every timeout, at least 100 ms. */
  FAST(false, 30),
  /** Interval 20 ms, RTO times 1.5 on every timeout, at least 30 ms. The default. */
  FAST2(true, 20),
  /** Interval 10 ms, RTO times 1.5 on every timeout, at least 30 ms. */
  FAST3(true, 10);

  private final boolean noDelay;
  private final int intervalMs;

  KcpMode(boolean noDelay, int intervalMs) {
    this.noDelay = noDelay;
    this.intervalMs = intervalMs;
  }

  /** See {@link KcpConfig#noDelay()}. */
  public boolean noDelay() {
    return noDelay;
  }

  /** The flush interval, in milliseconds. */
  public int intervalMs() {
    return intervalMs;
  }

  /** The fast retransmit threshold: 2 in every mode. */
  public int fastRetransmit() {
    return 2;
  }
}
