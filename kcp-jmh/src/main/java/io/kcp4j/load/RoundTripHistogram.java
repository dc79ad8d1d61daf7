package io.kcp4j.load;

import java.util.Arrays;
import java.util.Locale;
import java.util.StringJoiner;
import java.util.concurrent.TimeUnit;

/** The round trips of messages since the last mark, in bins of 10 microseconds. */
final class RoundTripHistogram implements LoadReport {

  private static final long BIN_NS = TimeUnit.MICROSECONDS.toNanos(10);

  private int[] counts = new int[1 << 14];
  private long messages;
  private long maxNs;

  /** Adds the round-trip time of one message. */
  synchronized void add(long ns) {
    int bin = Math.toIntExact(ns / BIN_NS);
    if (bin >= counts.length) {
      counts = Arrays.copyOf(counts, 2 * bin);
    }
    counts[bin]++;
    messages++;
    maxNs = Math.max(maxNs, ns);
  }

  /** The bins that are not empty, as pairs of their number and their count. */
  @Override
  public synchronized String toJson() {
    StringJoiner bins = new StringJoiner(",", "[", "]");
    for (int bin = 0; bin < counts.length; bin++) {
      if (counts[bin] > 0) {
        bins.add("[" + bin + "," + counts[bin] + "]");
      }
    }
    String line =
        String.format(
            Locale.ROOT,
            "{\"messages\":%d,\"max_us\":%.1f,\"bins_10us\":%s}",
            messages,
            maxNs / 1e3,
            bins);
    Arrays.fill(counts, 0);
    messages = 0;
    maxNs = 0;
    return line;
  }
}
