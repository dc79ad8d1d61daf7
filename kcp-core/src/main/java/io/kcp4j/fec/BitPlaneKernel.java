package io.kcp4j.fec;

/**
 * Bit planes over longs, by Horner's rule over the bits of the coefficients: an output is doubled
 * seven times, and before each doubling, and after the last, takes in all inputs whose coefficient
 * has that bit.
 */
final class BitPlaneKernel implements ShardKernel {

  @Override
  public String name() {
    return "portable";
  }

  @Override
  public Product prepare(byte[][] coefficients) {
    byte[][] copy = new byte[coefficients.length][];
    for (int i = 0; i < copy.length; i++) {
      copy[i] = coefficients[i].clone();
    }
    return (inputs, outputs, longs) -> {
      for (int out = 0; out < copy.length; out++) {
        row(copy[out], inputs, outputs[out], longs);
      }
    };
  }

  private static void row(byte[] coefficients, long[][] inputs, long[] output, int longs) {
    java.util.Arrays.fill(output, 0, longs, 0);
    for (int bit = 7; bit >= 0; bit--) {
      for (int i = 0; i < longs; i++) {
        output[i] = twice(output[i]);
      }
      for (int in = 0; in < coefficients.length; in++) {
        if ((coefficients[in] >> bit & 1) != 0) {
          add(inputs[in], output, longs);
        }
      }
    }
  }

  private static void add(long[] input, long[] output, int longs) {
    for (int i = 0; i < longs; i++) {
      output[i] ^= input[i];
    }
  }

  /** Eight elements times 2. */
  private static long twice(long a) {
    long high = a & 0x8080808080808080L;
    return (a ^ high) << 1 ^ (high - (high >>> 7) & 0x1D1D1D1D1D1D1D1DL);
  }
}
