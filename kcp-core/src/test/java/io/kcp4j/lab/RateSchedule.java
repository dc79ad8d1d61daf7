package io.kcp4j.lab;

import java.util.Arrays;

/** The rate of a link, which may change at given times. */
final class RateSchedule {

  private static final double BYTES_PER_NS = Byte.SIZE * 1e9;

  private static final long NS_PER_US = 1_000;

  private final long[] fromNs;
  private final double[] bytesPerNs;

  private RateSchedule(long[] fromNs, double[] bytesPerNs) {
    this.fromNs = fromNs;
    this.bytesPerNs = bytesPerNs;
  }

  /** Always the same rate. */
  static RateSchedule constant(long bitsPerSecond) {
    return new RateSchedule(new long[1], new double[] {bitsPerSecond / BYTES_PER_NS});
  }

  /** This schedule, and from the given time on, which is later than all changes, another rate. */
  RateSchedule then(long atUs, long bitsPerSecond) {
    int changes = fromNs.length;
    long[] moreNs = Arrays.copyOf(fromNs, changes + 1);
    double[] more = Arrays.copyOf(bytesPerNs, changes + 1);
    moreNs[changes] = atUs * NS_PER_US;
    more[changes] = bitsPerSecond / BYTES_PER_NS;
    return new RateSchedule(moreNs, more);
  }

  /** The rate at a given time, in bits per second. */
  double bitsPerSecond(long atUs) {
    return bytesPerNs[piece(atUs * NS_PER_US)] * BYTES_PER_NS;
  }

  /** When so many bytes have left that begin to leave at the given time, in nanoseconds. */
  long endsAtNs(long beginsAtNs, double bytes) {
    long atNs = beginsAtNs;
    double left = bytes;
    for (int i = piece(beginsAtNs); i + 1 < fromNs.length; i++) {
      double more = (fromNs[i + 1] - atNs) * bytesPerNs[i];
      if (left <= more) {
        return atNs + (long) Math.ceil(left / bytesPerNs[i]);
      }
      left -= more;
      atNs = fromNs[i + 1];
    }
    return atNs + (long) Math.ceil(left / bytesPerNs[bytesPerNs.length - 1]);
  }

  /** How many bytes leave between two times. */
  double bytesBetween(long beginNs, long endNs) {
    double bytes = 0;
    long atNs = beginNs;
    for (int i = piece(beginNs); atNs < endNs; i++) {
      long untilNs = i + 1 < fromNs.length ? Math.min(fromNs[i + 1], endNs) : endNs;
      bytes += (untilNs - atNs) * bytesPerNs[i];
      atNs = untilNs;
    }
    return bytes;
  }

  private int piece(long atNs) {
    int i = fromNs.length - 1;
    while (i > 0 && fromNs[i] > atNs) {
      i--;
    }
    return i;
  }
}
