package io.kcp4j;

/**
 * RTT estimator: round-trip time and retransmission timeout after RFC 6298, in whole milliseconds,
 * with two of kcp-go's refinements: a sample far below the expected range widens the variation only
 * a little, and the flush interval is part of every round trip: protocol.md 4.2 and 4.3.
 */
final class RttEstimator {

  /** The reference's IKCP_RTO_MAX. */
  static final int MAX_RTO_MS = 60_000;

  /** The reference's IKCP_RTO_DEF: before the first sample. */
  private static final int INITIAL_RTO_MS = 200;

  /** The reference's IKCP_RTO_MIN and IKCP_RTO_NDL. */
  private static final int MIN_RTO_MS = 100;

  private static final int MIN_RTO_NO_DELAY_MS = 30;

  private int srttMs;
  private int rttVarMs;
  private int rtoMs = INITIAL_RTO_MS;
  private boolean sampled;
  private int minRtoMs;
  private int intervalMs;

  /** Takes over limits that may have changed. */
  void configure(KcpConfig config) {
    minRtoMs = config.minRtoMs();
    if (minRtoMs == 0) {
      minRtoMs = config.noDelay() ? MIN_RTO_NO_DELAY_MS : MIN_RTO_MS;
    }
    intervalMs = config.intervalMs();
    update();
  }

  boolean hasSample() {
    return sampled;
  }

  int srttMs() {
    return srttMs;
  }

  int rttVarMs() {
    return rttVarMs;
  }

  int rtoMs() {
    return rtoMs;
  }

  void sample(int rttMs) {
    if (!sampled) {
      sampled = true;
      srttMs = rttMs;
      rttVarMs = rttMs / 2;
    } else {
      int delta = rttMs - srttMs;
      srttMs += delta >> 3;
      int distance = Math.abs(delta);
      boolean farBelow = rttMs < srttMs - rttVarMs;
      rttVarMs += (distance - rttVarMs) >> (farBelow ? 5 : 2);
    }
    update();
  }

  private void update() {
    int rto = sampled ? srttMs + Math.max(intervalMs, 4 * rttVarMs) : INITIAL_RTO_MS;
    rtoMs = Math.min(Math.max(rto, minRtoMs), MAX_RTO_MS);
  }

  /** The timeout after {@code segmentRtoMs} has passed without an acknowledgement. */
  int backOff(int segmentRtoMs, boolean noDelay) {
    return Math.min(segmentRtoMs + (noDelay ? (segmentRtoMs + 1) / 2 : segmentRtoMs), MAX_RTO_MS);
  }
}
