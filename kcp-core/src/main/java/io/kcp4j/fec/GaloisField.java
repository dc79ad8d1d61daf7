package io.kcp4j.fec;

/**
 * Arithmetic in GF(2^8) modulo x^8 + x^4 + x^3 + x^2 + 1 (0x11D), for constructing codes; a {@link
 * ShardKernel} processes the bytes of shards. Addition is XOR.
 *
 * <p>2 generates the field: products of many factors are sums of logarithms.
 */
final class GaloisField {

  static final int SIZE = 256;

  private static final int POLYNOMIAL = 0x11D;
  private static final int GROUP_ORDER = SIZE - 1;

  /** Repeated three times, so that sums and differences of logarithms need no division. */
  private static final byte[] EXP = new byte[3 * GROUP_ORDER];

  private static final short[] LOG = new short[SIZE];

  static {
    int power = 1;
    for (int log = 0; log < GROUP_ORDER; log++) {
      for (int round = 0; round < EXP.length; round += GROUP_ORDER) {
        EXP[round + log] = (byte) power;
      }
      LOG[power] = (short) log;
      power <<= 1;
      power ^= power < SIZE ? 0 : POLYNOMIAL;
    }
  }

  private GaloisField() {}

  /** The logarithm to base 2 of {@code a}, 1 to 255. */
  static int log(int a) {
    assert a > 0 && a < SIZE : a;
    return LOG[a];
  }

  /**
   * The logarithm, 0 to 254, of a product whose factors' logarithms, some negative, add up to this.
   */
  static int reduceLog(int log) {
    return Math.floorMod(log, GROUP_ORDER);
  }

  /** The element with the logarithm {@code a - b - c}, each of them 0 to 254. */
  static byte quotient(int a, int b, int c) {
    return EXP[a - b - c + 2 * GROUP_ORDER];
  }
}
