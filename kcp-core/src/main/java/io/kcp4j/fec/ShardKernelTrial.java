package io.kcp4j.fec;

import io.kcp4j.kernel.KernelChoice;
import java.util.Arrays;

/** Verifies kernels of Reed-Solomon with random matrices, and times them with 10+3 packets. */
final class ShardKernelTrial implements KernelChoice.Trial<ShardKernel> {

  /** Every group size, and a second chunk, of the portable kernel. */
  private static final int[][] CHECKED_SIZES = {{1, 1}, {3, 1}, {2, 3}, {10, 3}, {20, 10}, {23, 5}};

  /** Shorter than any vector, whole vectors, and slightly more and less. */
  private static final int[] CHECKED_LONGS = {0, 1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 41};

  private static final int BENCHMARK_INPUTS = 10;
  private static final int BENCHMARK_OUTPUTS = 3;
  private static final int BENCHMARK_LONGS = 175;

  // After the constants that it needs.
  static final KernelChoice<ShardKernel> CHOICE =
      new KernelChoice<>(ShardKernel.portable(), new ShardKernelTrial())
          .start(ShardKernel.class, System.getProperty(ShardKernel.PROPERTY));

  @Override
  public String name(ShardKernel kernel) {
    return kernel.name();
  }

  @Override
  public boolean agrees(ShardKernel kernel) {
    Noise noise = new Noise();
    for (int[] size : CHECKED_SIZES) {
      byte[][] matrix = randomMatrix(size[0], size[1], noise);
      ShardKernel.Product product = kernel.prepare(matrix);
      ShardKernel.Product expected = ShardKernel.portable().prepare(matrix);
      for (int longs : CHECKED_LONGS) {
        long[][] inputs = randomRows(size[0], longs, noise);
        long[][] outputs = randomRows(size[1], longs + 1, noise);
        long[][] expectedOutputs = Arrays.stream(outputs).map(long[]::clone).toArray(long[][]::new);
        product.multiply(inputs, outputs, longs);
        expected.multiply(inputs, expectedOutputs, longs);
        if (!Arrays.deepEquals(outputs, expectedOutputs)) {
          return false;
        }
      }
    }
    return true;
  }

  @Override
  public Runnable work(ShardKernel kernel) {
    Noise noise = new Noise();
    ShardKernel.Product product =
        kernel.prepare(randomMatrix(BENCHMARK_INPUTS, BENCHMARK_OUTPUTS, noise));
    long[][] inputs = randomRows(BENCHMARK_INPUTS, BENCHMARK_LONGS, noise);
    long[][] outputs = new long[BENCHMARK_OUTPUTS][BENCHMARK_LONGS];
    return () -> product.multiply(inputs, outputs, BENCHMARK_LONGS);
  }

  private static byte[][] randomMatrix(int inputs, int outputs, Noise noise) {
    byte[][] matrix = new byte[outputs][inputs];
    for (byte[] row : matrix) {
      for (int i = 0; i < row.length; i++) {
        row[i] = (byte) noise.next();
      }
    }
    return matrix;
  }

  private static long[][] randomRows(int count, int longs, Noise noise) {
    long[][] rows = new long[count][longs];
    for (long[] row : rows) {
      Arrays.setAll(row, i -> noise.next());
    }
    return rows;
  }

  /** Deterministic: the core has no random numbers of its own. */
  private static final class Noise {

    private long state = 1;

    /** Marsaglia's xorshift64. */
    long next() {
      state ^= state << 13;
      state ^= state >>> 7;
      state ^= state << 17;
      return state;
    }
  }
}
