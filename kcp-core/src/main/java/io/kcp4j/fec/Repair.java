package io.kcp4j.fec;

import java.util.Arrays;

/** How to reconstruct the data shards that are missing in one pattern of loss. Immutable. */
final class Repair {

  /** The maximum number of coefficients that are prepared and cached. */
  private static final int MAX_KEPT = 256;

  private final boolean[] present;
  private final ShardKernel kernel;

  /** The shards to compute from; {@link #missing} are those to compute. */
  private final int[] sources;

  private final int[] missing;

  /** Null if too many are missing. */
  private final byte[][] coefficients;

  /** Null if there is nothing to compute, or if it is too large to cache. */
  private final ShardKernel.Product product;

  Repair(
      boolean[] present, int[] sources, int[] missing, byte[][] coefficients, ShardKernel kernel) {
    this.present = present.clone();
    this.sources = sources;
    this.missing = missing;
    this.coefficients = coefficients;
    this.kernel = kernel;
    boolean isPrepared = coefficients != null && missing.length > 0 && !isLarge();
    product = isPrepared ? kernel.prepare(coefficients) : null;
  }

  boolean isOf(boolean[] otherPresent, ShardKernel otherKernel) {
    return kernel.equals(otherKernel) && Arrays.equals(present, otherPresent);
  }

  boolean isLarge() {
    return sources.length * missing.length > MAX_KEPT;
  }

  boolean isPossible() {
    return coefficients != null;
  }

  void run(long[][] shards, int longs) {
    if (missing.length == 0) {
      return;
    }
    long[][] inputs = rows(shards, sources, longs);
    long[][] outputs = rows(shards, missing, longs);
    if (product == null) {
      kernel.multiply(coefficients, inputs, outputs, longs);
    } else {
      product.multiply(inputs, outputs, longs);
    }
  }

  private static long[][] rows(long[][] shards, int[] places, int longs) {
    long[][] rows = new long[places.length][];
    for (int i = 0; i < rows.length; i++) {
      rows[i] = shards[places[i]];
      ReedSolomon.checkRow("shards", rows[i], longs);
    }
    return rows;
  }
}
