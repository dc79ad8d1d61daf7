package io.kcp4j.internal.fec;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.Arrays;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Random matrices, compared with the reference implementation. */
class ShardKernelTest {

  private static final int GUARD = 42;

  private final Random random = new Random(2);
  private final ShardKernel kernel = ShardKernel.preferred();

  @ParameterizedTest
  @ValueSource(ints = {1, 2, 3, 4, 5, 6, 7, 9, 10, 11, 19, 20, 21, 22, 25, 39, 40, 41, 64, 255})
  void anyMatrixIsMultiplied(int inputs) {
    for (int outputs : new int[] {1, 2, 3, 8, 10}) {
      assertMultiplies(randomMatrix(outputs, inputs), 8 * 3 + 1);
    }
  }

  @Test
  void matricesOfManyRowsAreMultiplied() {
    assertMultiplies(randomMatrix(255, 1), 5);
    assertMultiplies(randomMatrix(128, 128), 5);
    assertMultiplies(randomMatrix(300, 21), 5);
  }

  @Test
  void everyCoefficientIsMultipliedWithEveryByte() {
    byte[][] matrix = new byte[256][1];
    for (int i = 0; i < 256; i++) {
      matrix[i][0] = (byte) i;
    }
    byte[][] input = new byte[1][256];
    System.arraycopy(column(matrix), 0, input[0], 0, 256);
    assertMultiplies(matrix, input);
  }

  @Test
  void sparseMatricesAreMultiplied() {
    for (int inputs : new int[] {1, 3, 20, 45}) {
      assertMultiplies(new byte[3][inputs], 20);
      byte[][] matrix = new byte[8][inputs];
      for (int bit = 0; bit < 8; bit++) {
        matrix[bit][random.nextInt(inputs)] = (byte) (1 << bit);
      }
      assertMultiplies(matrix, 20);
    }
  }

  @Test
  void everyLengthIsMultiplied() {
    for (int longs = 0; longs < 70; longs++) {
      assertMultiplies(randomMatrix(3, 7), longs * Long.BYTES);
    }
    for (int longs : new int[] {174, 175, 189, 190, 191, 192, 1000}) {
      assertMultiplies(randomMatrix(2, 22), longs * Long.BYTES);
      assertMultiplies(randomMatrix(2, 3), longs * Long.BYTES);
    }
  }

  @Test
  void matrixMayChangeAfterPrepare() {
    byte[][] matrix = randomMatrix(2, 3);
    byte[][] input = Shards.random(3, 16, random);
    byte[][] expected = ReferenceReedSolomon.product(matrix, input);
    ShardKernel.Product product = kernel.prepare(matrix);
    Arrays.fill(matrix[0], (byte) 0);
    long[][] outputs = new long[2][2];
    product.multiply(Shards.toLongs(input), outputs, 2);
    assertArrayEquals(expected, Shards.toBytes(outputs, 16));
  }

  private void assertMultiplies(byte[][] matrix, int bytes) {
    assertMultiplies(matrix, Shards.random(matrix[0].length, bytes, random));
  }

  private void assertMultiplies(byte[][] matrix, byte[][] input) {
    int longs = Shards.longs(input[0].length);
    long[][] inputs = Shards.toLongs(input);
    long[][] before = Arrays.stream(inputs).map(long[]::clone).toArray(long[][]::new);
    long[][] outputs = new long[matrix.length][longs + 1];
    for (long[] row : outputs) {
      Arrays.fill(row, GUARD);
    }
    kernel.prepare(matrix).multiply(inputs, outputs, longs);
    assertArrayEquals(
        ReferenceReedSolomon.product(matrix, input), Shards.toBytes(outputs, input[0].length));
    assertArrayEquals(before, inputs);
    for (long[] row : outputs) {
      assertEquals(GUARD, row[longs]);
    }
  }

  private byte[][] randomMatrix(int outputs, int inputs) {
    return Shards.random(outputs, inputs, random);
  }

  private static byte[] column(byte[][] matrix) {
    byte[] column = new byte[matrix.length];
    for (int i = 0; i < column.length; i++) {
      column[i] = matrix[i][0];
    }
    return column;
  }
}
