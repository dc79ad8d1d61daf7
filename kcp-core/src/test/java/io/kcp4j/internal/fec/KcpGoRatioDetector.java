package io.kcp4j.internal.fec;

import java.util.Arrays;

/**
 * How kcp-go v5.6.72 finds the ratio of its peer: the first complete run of data and the first of
 * parity among the newest 258 packets, in the order of their sequence numbers, if none is missing
 * before the end of the run.
 */
final class KcpGoRatioDetector {

  static final int NOT_FOUND = -1;

  private static final int SAMPLES = 258;

  /** The sequence number, and in the lowest bit whether it is data; in a ring. */
  private final long[] samples = new long[SAMPLES];

  private int count;

  void sample(boolean isData, int seqid) {
    samples[count % SAMPLES] = (long) seqid << 1 | (isData ? 1 : 0);
    count++;
  }

  /** The length of the first complete run, or {@link #NOT_FOUND}. */
  int runLength(boolean ofData) {
    if (count < 3) {
      return NOT_FOUND;
    }
    long[] sorted = sorted();
    int bit = ofData ? 1 : 0;
    int begin = NOT_FOUND;
    for (int i = 1; i < sorted.length; i++) {
      if ((int) (sorted[i] >> 1) != (int) (sorted[i - 1] >> 1) + 1) {
        return NOT_FOUND;
      }
      boolean wasIn = (sorted[i - 1] & 1) == bit;
      boolean isIn = (sorted[i] & 1) == bit;
      if (begin == NOT_FOUND && !wasIn && isIn) {
        begin = i;
      } else if (begin != NOT_FOUND && wasIn && !isIn) {
        return i - begin;
      }
    }
    return NOT_FOUND;
  }

  /** The samples in the order of their sequence numbers, which lie close together. */
  private long[] sorted() {
    long[] sorted = Arrays.copyOf(samples, Math.min(count, SAMPLES));
    Arrays.sort(sorted);
    return sorted;
  }
}
