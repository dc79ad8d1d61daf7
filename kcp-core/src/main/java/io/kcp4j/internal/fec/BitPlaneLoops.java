package io.kcp4j.internal.fec;

import java.util.Arrays;

/**
 * The loops of a {@link BitPlaneKernel}, in the only form that C2 of HotSpot vectorises both on JDK
 * 17 and 25: over at most six heap arrays, all with the same index. With one more array the code is
 * five times slower.
 */
final class BitPlaneLoops {

  /** Target = sum of the sources. */
  static final int SUM = 0;

  /** Target = twice the target, plus the sources. */
  static final int DOUBLE = 1;

  /** Target = target plus the sources. */
  static final int ADD = 2;

  static final int MAX_SOURCES = 5;

  private static final int COUNT_BITS = 3;
  private static final int COUNT_MASK = (1 << COUNT_BITS) - 1;

  private static final long TOP_BITS = 0x8080808080808080L;

  /** The reduction of x^8 in each byte, x^4 + x^3 + x^2 + 1. */
  private static final long REDUCTION = 0x1D1D1D1D1D1D1D1DL;

  private BitPlaneLoops() {}

  static int code(int kind, int sources) {
    return kind << COUNT_BITS | sources;
  }

  static void run(short[] program, int length, long[][] rows, int longs) {
    int at = 0;
    while (at < length) {
      int kind = program[at] >> COUNT_BITS;
      int sources = program[at] & COUNT_MASK;
      long[] target = rows[program[at + 1]];
      at += 2;
      switch (kind) {
        case SUM -> sum(target, sources, program, at, rows, longs);
        case DOUBLE -> doubleAndAdd(target, sources, program, at, rows, longs);
        default -> add(target, sources, program, at, rows, longs);
      }
      at += sources;
    }
  }

  private static void sum(
      long[] to, int sources, short[] program, int at, long[][] rows, int longs) {
    switch (sources) {
      case 0 -> Arrays.fill(to, 0, longs, 0);
      case 1 -> System.arraycopy(rows[program[at]], 0, to, 0, longs);
      case 2 -> sum(to, rows[program[at]], rows[program[at + 1]], longs);
      case 3 -> sum(to, rows[program[at]], rows[program[at + 1]], rows[program[at + 2]], longs);
      case 4 ->
          sum(
              to,
              rows[program[at]],
              rows[program[at + 1]],
              rows[program[at + 2]],
              rows[program[at + 3]],
              longs);
      default ->
          sum(
              to,
              rows[program[at]],
              rows[program[at + 1]],
              rows[program[at + 2]],
              rows[program[at + 3]],
              rows[program[at + 4]],
              longs);
    }
  }

  private static void sum(long[] to, long[] a, long[] b, int longs) {
    for (int i = 0; i < longs; i++) {
      to[i] = a[i] ^ b[i];
    }
  }

  private static void sum(long[] to, long[] a, long[] b, long[] c, int longs) {
    for (int i = 0; i < longs; i++) {
      to[i] = a[i] ^ b[i] ^ c[i];
    }
  }

  private static void sum(long[] to, long[] a, long[] b, long[] c, long[] d, int longs) {
    for (int i = 0; i < longs; i++) {
      to[i] = a[i] ^ b[i] ^ c[i] ^ d[i];
    }
  }

  private static void sum(long[] to, long[] a, long[] b, long[] c, long[] d, long[] e, int longs) {
    for (int i = 0; i < longs; i++) {
      to[i] = a[i] ^ b[i] ^ c[i] ^ d[i] ^ e[i];
    }
  }

  private static void doubleAndAdd(
      long[] to, int sources, short[] program, int at, long[][] rows, int longs) {
    switch (sources) {
      case 0 -> doubleAndAdd(to, longs);
      case 1 -> doubleAndAdd(to, rows[program[at]], longs);
      case 2 -> doubleAndAdd(to, rows[program[at]], rows[program[at + 1]], longs);
      case 3 ->
          doubleAndAdd(to, rows[program[at]], rows[program[at + 1]], rows[program[at + 2]], longs);
      case 4 ->
          doubleAndAdd(
              to,
              rows[program[at]],
              rows[program[at + 1]],
              rows[program[at + 2]],
              rows[program[at + 3]],
              longs);
      default ->
          doubleAndAdd(
              to,
              rows[program[at]],
              rows[program[at + 1]],
              rows[program[at + 2]],
              rows[program[at + 3]],
              rows[program[at + 4]],
              longs);
    }
  }

  private static void doubleAndAdd(long[] to, int longs) {
    for (int i = 0; i < longs; i++) {
      to[i] = doubled(to[i]);
    }
  }

  private static void doubleAndAdd(long[] to, long[] a, int longs) {
    for (int i = 0; i < longs; i++) {
      to[i] = doubled(to[i]) ^ a[i];
    }
  }

  private static void doubleAndAdd(long[] to, long[] a, long[] b, int longs) {
    for (int i = 0; i < longs; i++) {
      to[i] = doubled(to[i]) ^ a[i] ^ b[i];
    }
  }

  private static void doubleAndAdd(long[] to, long[] a, long[] b, long[] c, int longs) {
    for (int i = 0; i < longs; i++) {
      to[i] = doubled(to[i]) ^ a[i] ^ b[i] ^ c[i];
    }
  }

  private static void doubleAndAdd(long[] to, long[] a, long[] b, long[] c, long[] d, int longs) {
    for (int i = 0; i < longs; i++) {
      to[i] = doubled(to[i]) ^ a[i] ^ b[i] ^ c[i] ^ d[i];
    }
  }

  private static void doubleAndAdd(
      long[] to, long[] a, long[] b, long[] c, long[] d, long[] e, int longs) {
    for (int i = 0; i < longs; i++) {
      to[i] = doubled(to[i]) ^ a[i] ^ b[i] ^ c[i] ^ d[i] ^ e[i];
    }
  }

  private static void add(
      long[] to, int sources, short[] program, int at, long[][] rows, int longs) {
    switch (sources) {
      case 1 -> add(to, rows[program[at]], longs);
      case 2 -> add(to, rows[program[at]], rows[program[at + 1]], longs);
      case 3 -> add(to, rows[program[at]], rows[program[at + 1]], rows[program[at + 2]], longs);
      case 4 ->
          add(
              to,
              rows[program[at]],
              rows[program[at + 1]],
              rows[program[at + 2]],
              rows[program[at + 3]],
              longs);
      default ->
          add(
              to,
              rows[program[at]],
              rows[program[at + 1]],
              rows[program[at + 2]],
              rows[program[at + 3]],
              rows[program[at + 4]],
              longs);
    }
  }

  private static void add(long[] to, long[] a, int longs) {
    for (int i = 0; i < longs; i++) {
      to[i] ^= a[i];
    }
  }

  private static void add(long[] to, long[] a, long[] b, int longs) {
    for (int i = 0; i < longs; i++) {
      to[i] ^= a[i] ^ b[i];
    }
  }

  private static void add(long[] to, long[] a, long[] b, long[] c, int longs) {
    for (int i = 0; i < longs; i++) {
      to[i] ^= a[i] ^ b[i] ^ c[i];
    }
  }

  private static void add(long[] to, long[] a, long[] b, long[] c, long[] d, int longs) {
    for (int i = 0; i < longs; i++) {
      to[i] ^= a[i] ^ b[i] ^ c[i] ^ d[i];
    }
  }

  private static void add(long[] to, long[] a, long[] b, long[] c, long[] d, long[] e, int longs) {
    for (int i = 0; i < longs; i++) {
      to[i] ^= a[i] ^ b[i] ^ c[i] ^ d[i] ^ e[i];
    }
  }

  /** Eight elements of the field times 2. */
  private static long doubled(long a) {
    long top = a & TOP_BITS;
    return (a ^ top) << 1 ^ (top - (top >>> 7) & REDUCTION);
  }
}
