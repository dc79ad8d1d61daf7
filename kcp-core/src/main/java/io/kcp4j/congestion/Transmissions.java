package io.kcp4j.congestion;

import java.util.Arrays;

/**
 * What is known of the last transmission of each segment in flight, by sequence number: eight
 * values side by side, half a cache line. Of times and totals these are the low bits, so no time
 * may be more than half an hour ago, and no total 2 GB less, when they are read.
 *
 * <p>The memory grows with what is in flight, and shrinks once nothing is. Arrays are kept for the
 * next session of the same thread that needs one, so that bursts cause no garbage.
 */
final class Transmissions {

  static final int SN = 0;

  /** The size of the segment, or 0 if the entry is free. */
  static final int BYTES = 1;

  static final int SENT_AT_US = 2;

  // When the transmission was sent:
  static final int FIRST_SENT_AT_US = 3;
  static final int DELIVERED = 4;
  static final int DELIVERED_AT_US = 5;
  static final int IN_FLIGHT_BYTES = 6;
  static final int IS_LIMITED = 7;

  /** An entry has 2^ENTRY_SHIFT values. */
  private static final int ENTRY_SHIFT = 3;

  private static final int ENTRY = 1 << ENTRY_SHIFT;

  /** Memory for 16 segments is kept while nothing is in flight. */
  private static final int MIN_LENGTH = 16 * ENTRY;

  /** Larger arrays than for 4096 segments are left to the garbage collector. */
  private static final int MAX_SPARE_LENGTH = 4096 * ENTRY;

  /** One array of each length, by its logarithm: at most 256 KiB per thread. */
  private static final ThreadLocal<int[][]> SPARES =
      ThreadLocal.withInitial(() -> new int[log2(MAX_SPARE_LENGTH) + 1][]);

  private int[] values = new int[MIN_LENGTH];

  private static int log2(int length) {
    return Integer.numberOfTrailingZeros(length);
  }

  /** An array whose entries are free. */
  private static int[] take(int length) {
    if (length > MAX_SPARE_LENGTH) {
      return new int[length];
    }
    int[][] spares = SPARES.get();
    int[] spare = spares[log2(length)];
    spares[log2(length)] = null;
    return spare == null ? new int[length] : spare;
  }

  /** Keeps an array whose entries are free. */
  private static void giveBack(int[] values) {
    if (values.length <= MAX_SPARE_LENGTH) {
      SPARES.get()[log2(values.length)] = values;
    }
  }

  /** The values of all entries; others once an entry has been claimed, or all have been freed. */
  int[] values() {
    return values;
  }

  private static int index(int sn, int[] values) {
    return (sn << ENTRY_SHIFT) & values.length - 1;
  }

  /** Where the entry of a segment begins, or -1 if it has none. */
  int find(int sn) {
    int i = index(sn, values);
    return values[i + BYTES] != 0 && values[i + SN] == sn ? i : -1;
  }

  /** Where the entry of a segment begins, which becomes its own if it has none. */
  int claim(int sn) {
    int i = index(sn, values);
    while (values[i + BYTES] != 0 && values[i + SN] != sn) {
      grow();
      i = index(sn, values);
    }
    values[i + SN] = sn;
    return i;
  }

  /** Segments whose entries differed have different ones in an array of twice the length, too. */
  private void grow() {
    int[] larger = take(2 * values.length);
    for (int i = 0; i < values.length; i += ENTRY) {
      if (values[i + BYTES] != 0) {
        System.arraycopy(values, i, larger, index(values[i + SN], larger), ENTRY);
      }
    }
    Arrays.fill(values, 0);
    giveBack(values);
    values = larger;
  }

  /** All entries have been freed: nothing is in flight. */
  void shrink() {
    if (values.length > MIN_LENGTH) {
      int[] least = take(MIN_LENGTH);
      giveBack(values);
      values = least;
    }
  }
}
