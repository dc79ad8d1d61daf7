package io.kcp4j.lab;

import java.util.Arrays;

/** A histogram of latencies with bins of 10 microseconds. */
final class Latencies {

  static final int BIN_US = 10;

  private long[] bins = new long[1 << 14];
  private long count;
  private long maxUs;
  private double sumUs;

  /** Adds one latency, in microseconds. */
  void add(long us) {
    int bin = Math.toIntExact(us / BIN_US);
    if (bin >= bins.length) {
      bins = Arrays.copyOf(bins, Math.max(bin + 1, 2 * bins.length));
    }
    bins[bin]++;
    count++;
    sumUs += us;
    maxUs = Math.max(maxUs, us);
  }

  long count() {
    return count;
  }

  /** The largest latency, in microseconds, or 0 if there is none. */
  long maxUs() {
    return maxUs;
  }

  /** The mean, in microseconds, or 0 if there is none. */
  double meanUs() {
    return count == 0 ? 0 : sumUs / count;
  }

  /**
   * The smallest latency that a given share of all does not exceed, rounded down to a bin, in
   * microseconds; 0 if there is none.
   */
  long quantileUs(double share) {
    long rank = (long) Math.ceil(share * count);
    int bin = 0;
    for (long seen = bins[0]; seen < rank; seen += bins[bin]) {
      bin++;
    }
    return (long) bin * BIN_US;
  }
}
