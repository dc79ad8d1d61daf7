package io.kcp4j.fec;

import io.kcp4j.kernel.KernelChoice;
import java.util.Arrays;

/** Times kernels of Reed-Solomon with the parity of 10+3 packets. */
final class ShardKernelTrial {

  private static final int BENCHMARK_INPUTS = 10;
  private static final int BENCHMARK_OUTPUTS = 3;
  private static final int BENCHMARK_LONGS = 175;

  // After the constants that it needs.
  static final KernelChoice<ShardKernel> CHOICE =
      new KernelChoice<>(ShardKernel.portable(), ShardKernel::name, ShardKernelTrial::work)
          .start(ShardKernel.class, System.getProperty(ShardKernel.PROPERTY));

  private ShardKernelTrial() {}

  private static Runnable work(ShardKernel kernel) {
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
