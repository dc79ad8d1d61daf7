package io.kcp4j.examples;

import java.util.Arrays;
import java.util.Locale;

/** Round-trip times or one-way delays, and their percentiles. For any thread. */
final class LatencySamples {

  private long[] nanos = new long[256];
  private int size;

  synchronized void add(long sampleNs) {
    if (size == nanos.length) {
      nanos = Arrays.copyOf(nanos, 2 * size);
    }
    nanos[size++] = sampleNs;
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

  /** How many percent of all samples are longer than that; 0 if there are none. */
  double percentAbove(double limitMs) {
    long[] samples = copy();
    long longer = Arrays.stream(samples).filter(ns -> ns > limitMs * 1e6).count();
    return samples.length == 0 ? 0 : 100.0 * longer / samples.length;
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
        "min/p50/p90/p99/max %.2f/%.2f/%.2f/%.2f/%.2f ms",
        percentileMs(0),
        percentileMs(50),
        percentileMs(90),
        percentileMs(99),
        percentileMs(100));
  }
}
