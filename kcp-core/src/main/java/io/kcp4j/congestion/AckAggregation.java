package io.kcp4j.congestion;

/**
 * How many more bytes are acknowledged at once than the bandwidth explains (draft-ietf-ccwg-bbr,
 * "extra_acked"). KCP's peers acknowledge every 10 to 40 ms what has arrived meanwhile; without
 * room for that in the window the path would run dry.
 */
final class AckAggregation {

  /** The largest of the last five to ten rounds counts. */
  private static final int PERIOD_ROUNDS = 5;

  private static final double US_PER_S = 1e6;

  private long epochAtUs;
  private double epochBytes;
  private final WindowedFilter extraAcked = WindowedFilter.maximum(PERIOD_ROUNDS);
  private long round;

  /**
   * Bytes have been acknowledged.
   *
   * @param bytesPerSecond the bandwidth
   * @param limit more than this does not count
   */
  void acknowledged(int bytes, double bytesPerSecond, double limit, long nowUs) {
    double expected = bytesPerSecond * (nowUs - epochAtUs) / US_PER_S;
    if (epochBytes <= expected) {
      epochAtUs = nowUs;
      epochBytes = 0;
      expected = 0;
    }
    epochBytes += bytes;
    extraAcked.sample(Math.min(epochBytes - expected, limit), round);
  }

  /** A round begins. */
  void beginRound() {
    round++;
    extraAcked.advance(round);
  }

  /** In bytes. */
  double bytes() {
    return extraAcked.best();
  }
}
