package io.kcp4j;

/**
 * How long acknowledgements take, the peer's delay included: the third longest time of the last 96
 * to 192. So one or two lost ACKs do not count; a peer that delays its ACKs, and a path that often
 * loses them, do.
 */
final class AckTime {

  /** The samples of a period, which its user counts. */
  static final int PERIOD = 96;

  // The longest times of this period and of the one before, in descending order.

  private int first;
  private int second;
  private int third;
  private int firstBefore;
  private int secondBefore;
  private int thirdBefore;

  /** A sample, which changes nothing unless it exceeds {@link #thirdUs}. */
  void sample(long sampleUs) {
    int timeUs = (int) Math.min(sampleUs, RttEstimator.MAX_RTO_US);
    if (timeUs > first) {
      third = second;
      second = first;
      first = timeUs;
    } else if (timeUs > second) {
      third = second;
      second = timeUs;
    } else {
      third = Math.max(third, timeUs);
    }
  }

  /** {@link #PERIOD} samples have been seen since the last call. */
  void beginPeriod() {
    firstBefore = first;
    secondBefore = second;
    thirdBefore = third;
    first = 0;
    second = 0;
    third = 0;
  }

  /** The third longest time of this period, in microseconds; 0 before the third sample. */
  int thirdUs() {
    return third;
  }

  /** Whether a whole period has been sampled. */
  boolean isKnown() {
    return firstBefore > 0;
  }

  /** The time, in microseconds. */
  int us() {
    // In descending order, the third is in one period, or follows one of it and two of the other.
    int oneAndTwo = Math.max(Math.min(first, secondBefore), Math.min(second, firstBefore));
    return Math.max(oneAndTwo, Math.max(third, thirdBefore));
  }
}
