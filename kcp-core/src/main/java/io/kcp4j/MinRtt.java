package io.kcp4j;

/**
 * The least round-trip time of the last ten to twenty seconds: the smaller of those of two periods,
 * the present one and the one before. RFC 8985 §5.1 asks for a windowed minimum.
 */
final class MinRtt {

  /** That of BBR. */
  private static final long PERIOD_US = 10_000_000;

  private int presentUs = Integer.MAX_VALUE;
  private int previousUs = Integer.MAX_VALUE;
  private long endsAtUs;

  void sample(int rttUs, long nowUs) {
    if (nowUs >= endsAtUs) {
      previousUs = nowUs - endsAtUs < PERIOD_US ? presentUs : Integer.MAX_VALUE;
      presentUs = Integer.MAX_VALUE;
      endsAtUs = nowUs + PERIOD_US;
    }
    presentUs = Math.min(presentUs, rttUs);
  }

  /** The least, in microseconds; 0 before the first sample. */
  int us() {
    int us = Math.min(presentUs, previousUs);
    return us == Integer.MAX_VALUE ? 0 : us;
  }
}
