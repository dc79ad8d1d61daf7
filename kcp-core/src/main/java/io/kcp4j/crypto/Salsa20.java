package io.kcp4j.crypto;

import java.util.Arrays;

/**
 * Salsa20/20 of D. J. Bernstein, keyed by the first 8 bytes of each packet, which stay as they are.
 *
 * <p>Blocks are computed side by side, one in each lane, whether of one packet or of several: word
 * w of all of them stands in array w, and a quarter round is one loop over the lanes, which C2
 * turns into vector instructions. Packets of a burst take half the time of single ones.
 */
final class Salsa20 implements StreamCipher {

  /** Longer loops take less time for each lane; these fill with six packets. */
  static final int LANES = 128;

  /** With more lanes than these it takes less time to compute all. */
  private static final int MOST_LANES = 88;

  /** Words of the smaller vectors that a loop ends with. */
  private static final int VECTOR_LANES = 8;

  private static final int WORDS = 16;
  private static final int BLOCK_BYTES = 64;
  private static final int NONCE_BYTES = 8;
  private static final int DOUBLE_ROUNDS = 10;
  private static final int[] SIGMA = {0x61707865, 0x3320646e, 0x79622d32, 0x6b206574};

  /** Of the columns, and then of the rows. */
  private static final int[][] QUARTER_ROUNDS = {
    {0, 4, 8, 12}, {5, 9, 13, 1}, {10, 14, 2, 6}, {15, 3, 7, 11},
    {0, 1, 2, 3}, {5, 6, 7, 4}, {10, 11, 8, 9}, {15, 12, 13, 14}
  };

  private final int[] initial = new int[WORDS];
  private final int[][] words = new int[WORDS][LANES];
  private final int[] nonceLow = new int[LANES];
  private final int[] nonceHigh = new int[LANES];
  private final int[] blocks = new int[LANES];
  private final int[] starts = new int[LANES];
  private final int[] ends = new int[LANES];
  private final byte[] edge = new byte[BLOCK_BYTES];
  private int lanes;

  Salsa20(byte[] key) {
    for (int i = 0; i < SIGMA.length; i++) {
      initial[5 * i] = SIGMA[i];
      initial[1 + i] = (int) Words.INT.get(key, 4 * i);
      initial[11 + i] = (int) Words.INT.get(key, 16 + 4 * i);
    }
  }

  @Override
  public void encrypt(PacketGroup group) {
    byte[] data = group.data();
    for (int i = 0; i < group.size(); i++) {
      int start = group.start(i);
      int end = start + group.length(i);
      int low = (int) Words.INT.get(data, start);
      int high = (int) Words.INT.get(data, start + Integer.BYTES);
      int block = 0;
      for (int at = start + NONCE_BYTES; at < end; at += BLOCK_BYTES) {
        if (lanes == LANES) {
          xorLanes(data);
        }
        nonceLow[lanes] = low;
        nonceHigh[lanes] = high;
        blocks[lanes] = block++;
        starts[lanes] = at;
        ends[lanes++] = end;
      }
    }
    xorLanes(data);
  }

  @Override
  public void decrypt(PacketGroup group) {
    encrypt(group);
  }

  private void xorLanes(byte[] data) {
    int n = lanes > MOST_LANES ? LANES : (lanes + VECTOR_LANES - 1) & -VECTOR_LANES;
    for (int w = 0; w < WORDS; w++) {
      Arrays.fill(words[w], 0, n, initial[w]);
    }
    System.arraycopy(nonceLow, 0, words[6], 0, n);
    System.arraycopy(nonceHigh, 0, words[7], 0, n);
    System.arraycopy(blocks, 0, words[8], 0, n);
    for (int i = 0; i < DOUBLE_ROUNDS; i++) {
      doubleRound(words, n);
    }
    int from = 0;
    for (int lane = 0; lane < lanes; lane++) {
      if (ends[lane] - starts[lane] < BLOCK_BYTES) {
        xorBlocks(from, lane, data);
        xorLastBlock(lane, data);
        from = lane + 1;
      }
    }
    xorBlocks(from, lanes, data);
    lanes = 0;
  }

  private void xorLastBlock(int lane, byte[] data) {
    int start = starts[lane];
    int bytes = ends[lane] - start;
    System.arraycopy(data, start, edge, 0, bytes);
    starts[lane] = 0;
    xorBlocks(lane, lane + 1, edge);
    System.arraycopy(edge, 0, data, start, bytes);
  }

  private static void doubleRound(int[][] x, int n) {
    for (int[] q : QUARTER_ROUNDS) {
      if (n == LANES) {
        quarterRound(x[q[0]], x[q[1]], x[q[2]], x[q[3]]);
      } else {
        quarterRound(x[q[0]], x[q[1]], x[q[2]], x[q[3]], n);
      }
    }
  }

  /** In all lanes. C2 unrolls a loop far enough for wide vectors only if it knows its end. */
  private static void quarterRound(int[] a, int[] b, int[] c, int[] d) {
    for (int i = 0; i < LANES; i++) {
      b[i] ^= Integer.rotateLeft(a[i] + d[i], 7);
      c[i] ^= Integer.rotateLeft(b[i] + a[i], 9);
      d[i] ^= Integer.rotateLeft(c[i] + b[i], 13);
      a[i] ^= Integer.rotateLeft(d[i] + c[i], 18);
    }
  }

  private static void quarterRound(int[] a, int[] b, int[] c, int[] d, int n) {
    for (int i = 0; i < n; i++) {
      b[i] ^= Integer.rotateLeft(a[i] + d[i], 7);
      c[i] ^= Integer.rotateLeft(b[i] + a[i], 9);
      d[i] ^= Integer.rotateLeft(c[i] + b[i], 13);
      a[i] ^= Integer.rotateLeft(d[i] + c[i], 18);
    }
  }

  /**
   * Adds the initial state to what became of it, and XORs that into the data: one loop over lanes
   * without a branch, so that no array's bounds are checked inside.
   */
  private void xorBlocks(int from, int to, byte[] data) {
    int[] y = initial;
    int[][] x = words;
    int[] x0 = x[0];
    int[] x1 = x[1];
    int[] x2 = x[2];
    int[] x3 = x[3];
    int[] x4 = x[4];
    int[] x5 = x[5];
    int[] x6 = x[6];
    int[] x7 = x[7];
    int[] x8 = x[8];
    int[] x9 = x[9];
    int[] x10 = x[10];
    int[] x11 = x[11];
    int[] x12 = x[12];
    int[] x13 = x[13];
    int[] x14 = x[14];
    int[] x15 = x[15];
    for (int i = from; i < to; i++) {
      int at = starts[i];
      xor(data, at, x0[i] + y[0], x1[i] + y[1]);
      xor(data, at + 8, x2[i] + y[2], x3[i] + y[3]);
      xor(data, at + 16, x4[i] + y[4], x5[i] + y[5]);
      xor(data, at + 24, x6[i] + nonceLow[i], x7[i] + nonceHigh[i]);
      xor(data, at + 32, x8[i] + blocks[i], x9[i]);
      xor(data, at + 40, x10[i] + y[10], x11[i] + y[11]);
      xor(data, at + 48, x12[i] + y[12], x13[i] + y[13]);
      xor(data, at + 56, x14[i] + y[14], x15[i] + y[15]);
    }
  }

  private static void xor(byte[] data, int at, int low, int high) {
    long mask = (long) high << 32 | (low & 0xffffffffL);
    Words.LONG.set(data, at, (long) Words.LONG.get(data, at) ^ mask);
  }
}
