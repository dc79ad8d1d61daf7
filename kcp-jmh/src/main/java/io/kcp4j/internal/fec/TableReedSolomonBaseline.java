package io.kcp4j.internal.fec;

/**
 * Reed-Solomon as usually written in Java: for each output and input a loop over bytes with a table
 * of the products of one coefficient. Coefficients come from the code under test, to keep the
 * results comparable.
 */
final class TableReedSolomonBaseline {

  private static final int POLYNOMIAL = 0x11D;
  private static final byte[][] PRODUCTS = new byte[256][256];

  static {
    for (int a = 0; a < 256; a++) {
      for (int b = 0; b < 256; b++) {
        PRODUCTS[a][b] = (byte) multiply(a, b);
      }
    }
  }

  private final byte[][] coefficients;

  private TableReedSolomonBaseline(byte[][] coefficients) {
    this.coefficients = coefficients;
  }

  /**
   * Encodes as {@code code} does: the parity of a single one in one shard is a column of its
   * matrix.
   */
  static TableReedSolomonBaseline encoder(ReedSolomon code) {
    byte[][] coefficients = new byte[code.parityShards()][code.dataShards()];
    for (int in = 0; in < code.dataShards(); in++) {
      long[][] data = new long[code.dataShards()][1];
      long[][] parity = new long[code.parityShards()][1];
      data[in][0] = 1;
      code.encode(data, parity, 1);
      for (int out = 0; out < parity.length; out++) {
        coefficients[out][in] = (byte) parity[out][0];
      }
    }
    return new TableReedSolomonBaseline(coefficients);
  }

  /**
   * Reconstructs the first {@code missing} data shards from the others and the first parity shards.
   */
  static TableReedSolomonBaseline decoder(ReedSolomon code, int missing) {
    int dataShards = code.dataShards();
    byte[][] coefficients = new byte[missing][dataShards];
    boolean[] present = new boolean[dataShards + code.parityShards()];
    for (int i = missing; i < dataShards + missing; i++) {
      present[i] = true;
    }
    for (int in = 0; in < dataShards; in++) {
      long[][] shards = new long[dataShards + code.parityShards()][1];
      shards[missing + in][0] = 1;
      code.reconstructData(shards, present, 1);
      for (int out = 0; out < missing; out++) {
        coefficients[out][in] = (byte) shards[out][0];
      }
    }
    return new TableReedSolomonBaseline(coefficients);
  }

  /** Computes all outputs. */
  void multiply(byte[][] inputs, byte[][] outputs, int bytes) {
    for (int out = 0; out < coefficients.length; out++) {
      set(inputs[0], outputs[out], PRODUCTS[coefficients[out][0] & 0xFF], bytes);
      for (int in = 1; in < inputs.length; in++) {
        add(inputs[in], outputs[out], PRODUCTS[coefficients[out][in] & 0xFF], bytes);
      }
    }
  }

  private static void set(byte[] input, byte[] output, byte[] products, int bytes) {
    for (int i = 0; i < bytes; i++) {
      output[i] = products[input[i] & 0xFF];
    }
  }

  private static void add(byte[] input, byte[] output, byte[] products, int bytes) {
    for (int i = 0; i < bytes; i++) {
      output[i] ^= products[input[i] & 0xFF];
    }
  }

  private static int multiply(int a, int b) {
    int product = 0;
    for (int bit = 7; bit >= 0; bit--) {
      product <<= 1;
      product ^= product > 0xFF ? POLYNOMIAL : 0;
      product ^= (b >> bit & 1) * a;
    }
    return product;
  }
}
