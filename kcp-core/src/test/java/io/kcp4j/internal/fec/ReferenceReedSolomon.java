package io.kcp4j.internal.fec;

/**
 * A reference implementation by definition: a Vandermonde matrix times the inverse of its top,
 * Gauss-Jordan elimination, multiplication bit by bit. Shares no code with the implementation under
 * test.
 */
final class ReferenceReedSolomon {

  private static final int[][] PRODUCTS = new int[256][256];

  static {
    for (int a = 0; a < 256; a++) {
      for (int b = 0; b < 256; b++) {
        PRODUCTS[a][b] = multiplyBitByBit(a, b);
      }
    }
  }

  /** A row for each shard; the first d make the unit matrix. */
  private final int[][] matrix;

  private final int dataShards;

  ReferenceReedSolomon(int dataShards, int parityShards) {
    this.dataShards = dataShards;
    int[][] vandermonde = new int[dataShards + parityShards][dataShards];
    int[][] top = new int[dataShards][dataShards];
    for (int row = 0; row < vandermonde.length; row++) {
      int power = 1;
      for (int column = 0; column < dataShards; column++) {
        vandermonde[row][column] = power;
        if (row < dataShards) {
          top[row][column] = power;
        }
        power = multiply(power, row);
      }
    }
    matrix = multiply(vandermonde, invert(top));
  }

  byte[][] parity(byte[][] data) {
    byte[][] coefficients = new byte[matrix.length - dataShards][dataShards];
    for (int p = 0; p < coefficients.length; p++) {
      for (int d = 0; d < dataShards; d++) {
        coefficients[p][d] = (byte) matrix[dataShards + p][d];
      }
    }
    return product(coefficients, data);
  }

  /** The sums of all shards times the coefficients of each row. */
  static byte[][] product(byte[][] coefficients, byte[][] shards) {
    byte[][] sums = new byte[coefficients.length][shards[0].length];
    for (int row = 0; row < sums.length; row++) {
      for (int i = 0; i < shards.length; i++) {
        for (int k = 0; k < shards[i].length; k++) {
          sums[row][k] ^= (byte) multiply(coefficients[row][i] & 0xFF, shards[i][k] & 0xFF);
        }
      }
    }
    return sums;
  }

  private static int multiply(int a, int b) {
    return PRODUCTS[a][b];
  }

  private static int multiplyBitByBit(int a, int b) {
    int product = 0;
    for (int bit = 7; bit >= 0; bit--) {
      product <<= 1;
      if (product > 0xFF) {
        product ^= 0x11D;
      }
      if ((b >> bit & 1) != 0) {
        product ^= a;
      }
    }
    return product;
  }

  private static int inverse(int a) {
    int inverse = 1;
    while (multiply(a, inverse) != 1) {
      inverse++;
    }
    return inverse;
  }

  private static int[][] multiply(int[][] a, int[][] b) {
    int[][] product = new int[a.length][b[0].length];
    for (int row = 0; row < a.length; row++) {
      for (int k = 0; k < b.length; k++) {
        addMultiple(product[row], b[k], a[row][k]);
      }
    }
    return product;
  }

  private static void addMultiple(int[] sum, int[] row, int factor) {
    for (int i = 0; factor != 0 && i < sum.length; i++) {
      if (row[i] != 0) {
        sum[i] ^= multiply(row[i], factor);
      }
    }
  }

  /** Changes its argument. */
  private static int[][] invert(int[][] a) {
    int size = a.length;
    int[][] inverse = new int[size][size];
    for (int i = 0; i < size; i++) {
      inverse[i][i] = 1;
    }
    for (int i = 0; i < size; i++) {
      int pivot = i;
      while (a[pivot][i] == 0) {
        pivot++;
      }
      swap(a, i, pivot);
      swap(inverse, i, pivot);
      int factor = inverse(a[i][i]);
      scale(a[i], factor);
      scale(inverse[i], factor);
      for (int row = 0; row < size; row++) {
        int multiple = row == i ? 0 : a[row][i];
        addMultiple(a[row], a[i], multiple);
        addMultiple(inverse[row], inverse[i], multiple);
      }
    }
    return inverse;
  }

  private static void swap(int[][] rows, int i, int j) {
    int[] row = rows[i];
    rows[i] = rows[j];
    rows[j] = row;
  }

  private static void scale(int[] row, int factor) {
    for (int i = 0; i < row.length; i++) {
      row[i] = multiply(row[i], factor);
    }
  }
}
