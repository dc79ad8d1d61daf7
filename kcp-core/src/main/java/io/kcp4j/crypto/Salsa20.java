package io.kcp4j.crypto;

import java.util.Arrays;

/**
 * Salsa20/20 of D. J. Bernstein, keyed by the first 8 bytes of each packet, which stay as they are.
 *
 * <p>Blocks are computed {@value #LANES} at a time, of one packet or several: word w of all of them
 * stands in array w, and each step of a quarter round is one loop over lanes, which C2 turns into
 * vector instructions.
 */
final class Salsa20 implements StreamCipher {

  private static final int LANES = 64;
  private static final int WORDS = 16;
  private static final int BLOCK_BYTES = 64;
  private static final int NONCE_BYTES = 8;
  private static final int DOUBLE_ROUNDS = 10;

  private final int[] initial = new int[WORDS];
  private final int[][] x = new int[WORDS][LANES];
  private final int[] nonceLow = new int[LANES];
  private final int[] nonceHigh = new int[LANES];
  private final int[] counters = new int[LANES];
  private final int[] positions = new int[LANES];
  private final int[] ends = new int[LANES];
  private int lanes;

  Salsa20(byte[] key) {
    int[] sigma = {0x61707865, 0x3320646e, 0x79622d32, 0x6b206574};
    for (int i = 0; i < 4; i++) {
      initial[5 * i] = sigma[i];
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
      for (int at = start + NONCE_BYTES, block = 0; at < end; at += BLOCK_BYTES, block++) {
        if (lanes == LANES) {
          xorLanes(data);
        }
        nonceLow[lanes] = (int) Words.INT.get(data, start);
        nonceHigh[lanes] = (int) Words.INT.get(data, start + 4);
        counters[lanes] = block;
        positions[lanes] = at;
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
    int n = (lanes + 15) & -16;
    for (int w = 0; w < WORDS; w++) {
      Arrays.fill(x[w], 0, n, initial[w]);
    }
    System.arraycopy(nonceLow, 0, x[6], 0, n);
    System.arraycopy(nonceHigh, 0, x[7], 0, n);
    System.arraycopy(counters, 0, x[8], 0, n);
    for (int i = 0; i < DOUBLE_ROUNDS; i++) {
      doubleRound(n);
    }
    for (int lane = 0; lane < lanes; lane++) {
      xorLane(data, lane);
    }
    lanes = 0;
  }

  private void doubleRound(int n) {
    quarterRound(x[0], x[4], x[8], x[12], n);
    quarterRound(x[5], x[9], x[13], x[1], n);
    quarterRound(x[10], x[14], x[2], x[6], n);
    quarterRound(x[15], x[3], x[7], x[11], n);
    quarterRound(x[0], x[1], x[2], x[3], n);
    quarterRound(x[5], x[6], x[7], x[4], n);
    quarterRound(x[10], x[11], x[8], x[9], n);
    quarterRound(x[15], x[12], x[13], x[14], n);
  }

  private static void quarterRound(int[] a, int[] b, int[] c, int[] d, int n) {
    for (int i = 0; i < n; i++) {
      b[i] ^= Integer.rotateLeft(a[i] + d[i], 7);
      c[i] ^= Integer.rotateLeft(b[i] + a[i], 9);
      d[i] ^= Integer.rotateLeft(c[i] + b[i], 13);
      a[i] ^= Integer.rotateLeft(d[i] + c[i], 18);
    }
  }

  private void xorLane(byte[] data, int lane) {
    int at = positions[lane];
    int words = Math.min(WORDS, (ends[lane] - at + 7) / 8 * 2);
    for (int w = 0; w < words; w += 2, at += Long.BYTES) {
      int low = x[w][lane] + added(w, lane);
      int high = x[w + 1][lane] + added(w + 1, lane);
      long mask = (long) high << 32 | (low & 0xffffffffL);
      Words.LONG.set(data, at, (long) Words.LONG.get(data, at) ^ mask);
    }
  }

  private int added(int w, int lane) {
    return switch (w) {
      case 6 -> nonceLow[lane];
      case 7 -> nonceHigh[lane];
      case 8 -> counters[lane];
      default -> initial[w];
    };
  }
}
