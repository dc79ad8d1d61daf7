package io.kcp4j.examples;

import java.util.Arrays;
import java.util.Locale;

/** Round-trip times, and their percentiles. For any thread. */
final class RttSamples {

  private long[] nanos = new long[256];
  private int size;

  synchronized void add(long rttNs) {
    if (size == nanos.length) {
      nanos = Arrays.copyOf(nanos, 2 * size);
    }
    nanos[size++] = rttNs;
  }

  synchronized int size() {
    return size;
  }

  /**
   * The smallest sample that {@code percent} of all samples do not exceed, in milliseconds; 0 if
   * there are none.
   */
  double percentileMs(double percent) {
    long[] sorted = copy();
    if (sorted.length == 0) {
      return 0;
    }
    Arrays.sort(sorted);
    int rank = (int) Math.ceil(percent / 100 * sorted.length);
    return sorted[Math.max(rank, 1) - 1] / 1e6;
  }

  /** Sorted without the lock, so that no event loop waits for it. */
  private synchronized long[] copy() {
    return Arrays.copyOf(nanos, size);
  }

  /** Minimum, p50, p90, p99 and maximum, in milliseconds. */
  @Override
  public String toString() {
    return String.format(
        Locale.ROOT,
        "rtt min/p50/p90/p99/max %.2f/%.2f/%.2f/%.2f/%.2f ms",
        percentileMs(0),
        percentileMs(50),
        percentileMs(90),
        percentileMs(99),
        percentileMs(100));
  }
}
