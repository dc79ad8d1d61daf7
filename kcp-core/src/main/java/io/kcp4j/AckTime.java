package io.kcp4j;

/**
 * How long acknowledgements take, the peer's delay included: the second longest time of the last 64
 * to 128. So a single lost ACK does not count; a peer that delays its ACKs, and a path that often
 * loses them, do.
 */
final class AckTime {

  private static final int PERIOD = 64;

  private int samples;
  private int longestUs;
  private int secondUs;

  // Of the period before; 0 if there was none.

  private int previousLongestUs;
  private int previousSecondUs;

  void sample(long sampleUs) {
    if (samples == PERIOD) {
      samples = 0;
      previousLongestUs = longestUs;
      previousSecondUs = secondUs;
      longestUs = 0;
      secondUs = 0;
    }
    samples++;
    int timeUs = (int) Math.min(sampleUs, RttEstimator.MAX_RTO_US);
    if (timeUs > longestUs) {
      secondUs = longestUs;
      longestUs = timeUs;
    } else {
      secondUs = Math.max(secondUs, timeUs);
    }
  }

  /** Whether a whole period has been sampled. */
  boolean isKnown() {
    return previousLongestUs > 0;
  }

  /** The time, in microseconds. */
  int us() {
    int shorterOfLongest = Math.min(longestUs, previousLongestUs);
    return Math.max(shorterOfLongest, Math.max(secondUs, previousSecondUs));
  }
}
