package io.kcp4j;

/**
 * The third longest time that acknowledgements took, the peer's delay included, in the last 1.5 to
 * 3 seconds. One or two lost ACKs do not count; a peer that delays its ACKs, and a path that often
 * loses them, do.
 */
final class LongestTime {

  /** How long a period lasts. A stall of either side is forgotten after two. */
  static final long PERIOD_US = 1_500_000;

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

  /**
   * A period begins.
   *
   * @param isNext whether it follows the last one; else the samples of that are too old
   */
  void beginPeriod(boolean isNext) {
    firstBefore = isNext ? first : 0;
    secondBefore = isNext ? second : 0;
    thirdBefore = isNext ? third : 0;
    first = 0;
    second = 0;
    third = 0;
  }

  /** The third longest time of this period, in microseconds; 0 before the third sample. */
  int thirdUs() {
    return third;
  }

  /** The time, in microseconds; 0 before the third sample. */
  int us() {
    // In descending order, the third is in one period, or follows one of it and two of the other.
    int oneAndTwo = Math.max(Math.min(first, secondBefore), Math.min(second, firstBefore));
    return Math.max(oneAndTwo, Math.max(third, thirdBefore));
  }
}
