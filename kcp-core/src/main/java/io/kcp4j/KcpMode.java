package io.kcp4j;

import io.kcp4j.congestion.CongestionControl;

/**
 * The four presets of kcptun, from polite to aggressive. A preset sets the delay behaviour, the
 * interval, the fast-resend threshold and the congestion control of a {@link KcpConfig}; anything
 * set after it overrides it.
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

  /** Whether timeouts back off gently; see {@link KcpConfig#noDelay()}. */
  public boolean noDelay() {
    return noDelay;
  }

  /** The flush interval, in milliseconds. */
  public int intervalMs() {
    return intervalMs;
  }

  /** The fast-resend threshold: 2 in every mode. */
  public int fastRetransmit() {
    return 2;
  }

  /** The congestion control: none in every mode. */
  public CongestionControl.Factory congestionControl() {
    return CongestionControl.NONE;
  }
}
