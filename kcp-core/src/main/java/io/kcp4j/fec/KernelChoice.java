package io.kcp4j.fec;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.Comparator;
import java.util.Iterator;
import java.util.List;
import java.util.ServiceConfigurationError;
import java.util.ServiceLoader;

/**
 * Which kernel is in use. A kernel that was found as a service must agree with the portable one on
 * random matrices before it is considered, and without a name in {@link ShardKernel#PROPERTY} win a
 * race against it: the Vector API without the intrinsics of the JIT compiler is right, and a
 * thousand times too slow.
 *
 * <p>The race runs on a thread of its own, so that no event loop waits for it; it also makes the
 * JIT compile the kernels.
 */
final class KernelChoice {

  /** More services than that are not looked at, should one fail again and again. */
  private static final int MAX_SERVICES = 16;

  private static final int RACE_ROUNDS = 5_000;
  private static final int CALLS_PER_ROUND = 4;
  private static final long RACE_NANOS = 10_000_000_000L;

  /** Every size of group, and a second chunk, of the portable kernel. */
  private static final int[][] CHECKED_SIZES = {{1, 1}, {3, 1}, {2, 3}, {10, 3}, {20, 10}, {23, 5}};

  /** Shorter than any vector, whole ones, and a little more and less. */
  private static final int[] CHECKED_LONGS = {0, 1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 41};

  private static volatile ShardKernel current = ShardKernel.portable();

  static {
    String name = System.getProperty(ShardKernel.PROPERTY);
    if (name != null) {
      current = named(name, services());
    } else {
      List<ShardKernel> candidates = services();
      if (!candidates.isEmpty()) {
        Thread race = new Thread(() -> current = fastest(candidates), "kcp4j-kernel-race");
        race.setDaemon(true);
        race.start();
      }
    }
  }

  private KernelChoice() {}

  static ShardKernel current() {
    return current;
  }

  /** What can be loaded here. A kernel may need a module that this JVM runs without. */
  private static List<ShardKernel> services() {
    List<ShardKernel> found = new ArrayList<>();
    Iterator<ShardKernel> services =
        ServiceLoader.load(ShardKernel.class, ShardKernel.class.getClassLoader()).iterator();
    boolean isMore = true;
    for (int i = 0; i < MAX_SERVICES && isMore; i++) {
      try {
        isMore = services.hasNext();
        if (isMore) {
          found.add(services.next());
        }
      } catch (ServiceConfigurationError | LinkageError e) {
        // Not for this JVM; perhaps the next one is.
      }
    }
    return found;
  }

  static ShardKernel named(String name, List<ShardKernel> candidates) {
    for (ShardKernel candidate : candidates) {
      if (candidate.name().equals(name) && isRight(candidate)) {
        return candidate;
      }
    }
    return ShardKernel.portable();
  }

  /** The fastest of those that are right. */
  static ShardKernel fastest(List<ShardKernel> candidates) {
    List<Runner> runners = new ArrayList<>();
    runners.add(new Runner(ShardKernel.portable()));
    for (ShardKernel candidate : candidates) {
      if (isRight(candidate)) {
        runners.add(new Runner(candidate));
      }
    }
    // In turn, since machines are not as fast at all times, and first come first compiled.
    long start = System.nanoTime();
    for (int i = 0; i < RACE_ROUNDS && System.nanoTime() - start < RACE_NANOS; i++) {
      for (Runner runner : runners) {
        long before = System.nanoTime();
        runner.run();
        runner.leastNanos = Math.min(runner.leastNanos, System.nanoTime() - before);
      }
    }
    return Collections.min(runners, Comparator.comparingLong(runner -> runner.leastNanos)).kernel;
  }

  /** A kernel that encodes 10+3 packets, and the least time that it took. */
  private static final class Runner {

    private static final int LONGS = 175;

    final ShardKernel kernel;
    long leastNanos = Long.MAX_VALUE;

    private final ShardKernel.Product product;
    private final long[][] inputs;
    private final long[][] outputs = new long[3][LONGS];

    Runner(ShardKernel kernel) {
      this.kernel = kernel;
      Noise noise = new Noise();
      product = kernel.prepare(randomMatrix(10, outputs.length, noise));
      inputs = randomRows(10, LONGS, noise);
    }

    void run() {
      for (int i = 0; i < CALLS_PER_ROUND; i++) {
        product.multiply(inputs, outputs, LONGS);
      }
    }
  }

  /** Whether a kernel agrees with the portable one. */
  static boolean isRight(ShardKernel kernel) {
    Noise noise = new Noise();
    try {
      for (int[] size : CHECKED_SIZES) {
        byte[][] matrix = randomMatrix(size[0], size[1], noise);
        ShardKernel.Product product = kernel.prepare(matrix);
        ShardKernel.Product expected = ShardKernel.portable().prepare(matrix);
        for (int longs : CHECKED_LONGS) {
          long[][] inputs = randomRows(size[0], longs, noise);
          long[][] outputs = randomRows(size[1], longs + 1, noise);
          long[][] expectedOutputs =
              Arrays.stream(outputs).map(long[]::clone).toArray(long[][]::new);
          product.multiply(inputs, outputs, longs);
          expected.multiply(inputs, expectedOutputs, longs);
          if (!Arrays.deepEquals(outputs, expectedOutputs)) {
            return false;
          }
        }
      }
      return true;
    } catch (RuntimeException | LinkageError e) {
      return false;
    }
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

  /** The same at each run: the check is part of the core, which has no randomness of its own. */
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
