package io.kcp4j.crypto;

/**
 * Blocks of Salsa20's key stream side by side, one in each lane.
 *
 * <p>A block is a square of words. Its four diagonals stand in one array each, and there one word
 * of all lanes before the next word of all lanes. So the quarter rounds of all four columns in all
 * lanes are one loop, which C2 turns into vector instructions. For those of the rows three of the
 * diagonals have to be turned, by one, two and three words: what stands at the front is copied to
 * the end, and the loop begins behind it.
 *
 * <p>C2 makes wide vectors only of loops whose ends and offsets are constants, hence the two sizes,
 * each with its own loops.
 */
final class Salsa20Lanes {

  /** As many as the largest packet has blocks. */
  static final int FEW = 24;

  /** Of several packets; with these a block takes four fifths of the time. */
  static final int MANY = 48;

  private static final int DOUBLE_ROUNDS = 10;
  private static final int[] SIGMA = {0x61707865, 0x3320646e, 0x79622d32, 0x6b206574};

  private final int size;
  private final int diagonal;

  // Words 0, 5, 10, 15; 4, 9, 14, 3; 8, 13, 2, 7; 12, 1, 6, 11: as they begin, and what becomes of
  // them.
  private final int[] a0;
  private final int[] b0;
  private final int[] c0;
  private final int[] d0;
  private final int[] a;
  private final int[] b;
  private final int[] c;
  private final int[] d;

  Salsa20Lanes(int size, byte[] key) {
    this.size = size;
    diagonal = 4 * size;
    int[] k = new int[8];
    for (int i = 0; i < k.length; i++) {
      k[i] = (int) Words.INT.get(key, Integer.BYTES * i);
    }
    a0 = diagonal(SIGMA[0], SIGMA[1], SIGMA[2], SIGMA[3]);
    b0 = diagonal(k[3], 0, k[7], k[2]);
    c0 = diagonal(0, k[6], k[1], 0);
    d0 = diagonal(k[5], k[0], 0, k[4]);
    a = new int[diagonal];
    b = new int[diagonal + 3 * size];
    c = new int[diagonal + 2 * size];
    d = new int[diagonal + size];
  }

  private int[] diagonal(int first, int second, int third, int fourth) {
    int[] words = new int[diagonal];
    for (int lane = 0; lane < size; lane++) {
      words[lane] = first;
      words[size + lane] = second;
      words[2 * size + lane] = third;
      words[3 * size + lane] = fourth;
    }
    return words;
  }

  /** How many lanes there are. */
  int size() {
    return size;
  }

  /** Chooses a lane's block. No packet has so many that the number's upper word would count. */
  void set(int lane, int nonceLow, int nonceHigh, int block) {
    d0[2 * size + lane] = nonceLow;
    c0[3 * size + lane] = nonceHigh;
    c0[lane] = block;
  }

  /** Computes the blocks of all lanes. */
  void compute() {
    System.arraycopy(a0, 0, a, 0, diagonal);
    System.arraycopy(b0, 0, b, 0, diagonal);
    System.arraycopy(c0, 0, c, 0, diagonal);
    System.arraycopy(d0, 0, d, 0, diagonal);
    for (int i = 0; i < DOUBLE_ROUNDS; i++) {
      doubleRound();
    }
    add(a, a0);
    add(b, b0);
    add(c, c0);
    add(d, d0);
  }

  private void doubleRound() {
    if (size == FEW) {
      columnsOfFew(a, b, c, d);
    } else {
      columnsOfMany(a, b, c, d);
    }
    System.arraycopy(b, 0, b, diagonal, 3 * size);
    System.arraycopy(c, 0, c, diagonal, 2 * size);
    System.arraycopy(d, 0, d, diagonal, size);
    if (size == FEW) {
      rowsOfFew(a, b, c, d);
    } else {
      rowsOfMany(a, b, c, d);
    }
    System.arraycopy(b, diagonal, b, 0, 3 * size);
    System.arraycopy(c, diagonal, c, 0, 2 * size);
    System.arraycopy(d, diagonal, d, 0, size);
  }

  private static void columnsOfFew(int[] a, int[] b, int[] c, int[] d) {
    for (int i = 0; i < 4 * FEW; i++) {
      b[i] ^= Integer.rotateLeft(a[i] + d[i], 7);
      c[i] ^= Integer.rotateLeft(b[i] + a[i], 9);
      d[i] ^= Integer.rotateLeft(c[i] + b[i], 13);
      a[i] ^= Integer.rotateLeft(d[i] + c[i], 18);
    }
  }

  private static void rowsOfFew(int[] a, int[] b, int[] c, int[] d) {
    for (int i = 0; i < 4 * FEW; i++) {
      d[i + FEW] ^= Integer.rotateLeft(a[i] + b[i + 3 * FEW], 7);
      c[i + 2 * FEW] ^= Integer.rotateLeft(d[i + FEW] + a[i], 9);
      b[i + 3 * FEW] ^= Integer.rotateLeft(c[i + 2 * FEW] + d[i + FEW], 13);
      a[i] ^= Integer.rotateLeft(b[i + 3 * FEW] + c[i + 2 * FEW], 18);
    }
  }

  private static void columnsOfMany(int[] a, int[] b, int[] c, int[] d) {
    for (int i = 0; i < 4 * MANY; i++) {
      b[i] ^= Integer.rotateLeft(a[i] + d[i], 7);
      c[i] ^= Integer.rotateLeft(b[i] + a[i], 9);
      d[i] ^= Integer.rotateLeft(c[i] + b[i], 13);
      a[i] ^= Integer.rotateLeft(d[i] + c[i], 18);
    }
  }

  private static void rowsOfMany(int[] a, int[] b, int[] c, int[] d) {
    for (int i = 0; i < 4 * MANY; i++) {
      d[i + MANY] ^= Integer.rotateLeft(a[i] + b[i + 3 * MANY], 7);
      c[i + 2 * MANY] ^= Integer.rotateLeft(d[i + MANY] + a[i], 9);
      b[i + 3 * MANY] ^= Integer.rotateLeft(c[i + 2 * MANY] + d[i + MANY], 13);
      a[i] ^= Integer.rotateLeft(b[i + 3 * MANY] + c[i + 2 * MANY], 18);
    }
  }

  private static void add(int[] x, int[] y) {
    for (int i = 0; i < y.length; i++) {
      x[i] += y[i];
    }
  }

  /**
   * XORs the blocks of the lanes [{@code from}, {@code to}) into the data at their {@code starts}.
   */
  void xor(int from, int to, byte[] data, int[] starts) {
    int[] a = this.a;
    int[] b = this.b;
    int[] c = this.c;
    int[] d = this.d;
    for (int i = from; i < to; i++) {
      int second = i + size;
      int third = second + size;
      int fourth = third + size;
      int at = starts[i];
      xor(data, at, a[i], d[second]);
      xor(data, at + 8, c[third], b[fourth]);
      xor(data, at + 16, b[i], a[second]);
      xor(data, at + 24, d[third], c[fourth]);
      xor(data, at + 32, c[i], b[second]);
      xor(data, at + 40, a[third], d[fourth]);
      xor(data, at + 48, d[i], c[second]);
      xor(data, at + 56, b[third], a[fourth]);
    }
  }

  private static void xor(byte[] data, int at, int low, int high) {
    long mask = (long) high << 32 | (low & 0xffffffffL);
    Words.LONG.set(data, at, (long) Words.LONG.get(data, at) ^ mask);
  }
}
