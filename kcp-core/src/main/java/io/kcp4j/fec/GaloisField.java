package io.kcp4j.fec;

/**
 * Arithmetic in GF(2^8) modulo x^8 + x^4 + x^3 + x^2 + 1 (0x11D), for setting up codes; the bytes
 * of shards go through a {@link ShardKernel}. Addition is XOR.
 *
 * <p>2 generates the field, so that products of many factors are sums of logarithms.
 */
final class GaloisField {

  static final int SIZE = 256;

  private static final int POLYNOMIAL = 0x11D;
  private static final int GROUP_ORDER = SIZE - 1;

  private static final byte[] EXP = new byte[2 * GROUP_ORDER];
  private static final short[] LOG = new short[SIZE];

  static {
    int power = 1;
    for (int log = 0; log < GROUP_ORDER; log++) {
      EXP[log] = (byte) power;
      EXP[log + GROUP_ORDER] = (byte) power;
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

  /** 2 to the power {@code log}, which may be any number, also a negative one. */
  static int exp(int log) {
    return EXP[Math.floorMod(log, GROUP_ORDER)] & 0xFF;
  }

  /** The product of two elements, 0 to 255. */
  static int multiply(int a, int b) {
    return a == 0 || b == 0 ? 0 : EXP[LOG[a] + LOG[b]] & 0xFF;
  }
}
