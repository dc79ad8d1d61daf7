package io.kcp4j.fec;

import java.util.concurrent.atomic.AtomicReferenceArray;

/**
 * A systematic Reed-Solomon code over GF(2^8), polynomial 0x11D: from d data shards it makes p
 * parity shards, and any d of the d + p give the data back. Byte for byte the code of Backblaze and
 * of klauspost/reedsolomon, and with it kcp-go's.
 *
 * <p>Theory. Those build their matrix as a Vandermonde matrix, row r being the powers of r, times
 * the inverse of its top d rows. What that computes is interpolation: byte k of the data shards is
 * taken as the values at 0 to d - 1 of a polynomial of degree below d, and byte k of shard r is its
 * value at r. So the value at one point follows from those at any d others by Lagrange's formula,
 * for parity as for what was lost, and no matrix is ever inverted: to rebuild n shards takes time
 * proportional to n * d for the coefficients, a microsecond or so, and the {@link ShardKernel} does
 * the rest.
 *
 * <p>Immutable and safe for all threads; shared by all users of a ratio. Shards are rows of {@code
 * long[]}, eight bytes in each long in any byte order, the same for all: the arrays are what the
 * JIT compilers vectorise best.
 */
public final class ReedSolomon {

  /** The field has no more points. */
  public static final int MAX_SHARDS = GaloisField.SIZE;

  /** Ratios kept for sharing. A code that finds its slot taken replaces the other. */
  private static final AtomicReferenceArray<ReedSolomon> SHARED = new AtomicReferenceArray<>(64);

  private final int dataShards;
  private final int parityShards;
  private final ShardKernel kernel;

  /** For data shard i the sum of the logarithms of its distances to the other data shards. */
  private final int[] logDistances;

  /** Made when first needed: who only decodes never does. */
  private volatile ShardKernel.Product parityProduct;

  private ReedSolomon(int dataShards, int parityShards, ShardKernel kernel) {
    this.dataShards = dataShards;
    this.parityShards = parityShards;
    this.kernel = kernel;
    logDistances = new int[dataShards];
    for (int i = 0; i < dataShards; i++) {
      logDistances[i] = logDistancesToData(i);
    }
  }

  /**
   * The code of a ratio. Cheap; codes are shared.
   *
   * @param dataShards 1 to 255
   * @param parityShards 1 to 255, with the data shards at most {@value #MAX_SHARDS}
   * @throws IllegalArgumentException if one is out of range
   */
  public static ReedSolomon of(int dataShards, int parityShards) {
    checkShards(dataShards, parityShards);
    int slot = dataShards * 31 + parityShards & SHARED.length() - 1;
    ReedSolomon shared = SHARED.get(slot);
    if (shared == null || shared.dataShards != dataShards || shared.parityShards != parityShards) {
      shared = new ReedSolomon(dataShards, parityShards, BitPlaneKernel.INSTANCE);
      SHARED.set(slot, shared);
    }
    return shared;
  }

  private static void checkShards(int dataShards, int parityShards) {
    if (dataShards < 1 || dataShards >= MAX_SHARDS) {
      throw new IllegalArgumentException(
          "dataShards " + dataShards + " is not in 1.." + (MAX_SHARDS - 1));
    }
    if (parityShards < 1 || parityShards > MAX_SHARDS - dataShards) {
      throw new IllegalArgumentException(
          "parityShards "
              + parityShards
              + " is not in 1.."
              + (MAX_SHARDS - dataShards)
              + " for dataShards "
              + dataShards);
    }
  }

  /** How many shards carry data, 1 to 255. */
  public int dataShards() {
    return dataShards;
  }

  /** How many shards of parity protect them, 1 to 255. */
  public int parityShards() {
    return parityShards;
  }

  /**
   * Computes the parity shards.
   *
   * @param data the data shards; not changed
   * @param parity the parity shards, overwritten
   * @param longs how much of each row to use, 0 to the length of the shortest
   */
  public void encode(long[][] data, long[][] parity, int longs) {
    ShardKernel.Product product = parityProduct;
    if (product == null) {
      product = kernel.prepare(parityCoefficients());
      parityProduct = product;
    }
    product.multiply(data, parity, longs);
  }

  /**
   * Rebuilds missing data shards from any {@link #dataShards} others. Missing parity stays missing.
   *
   * @param shards all rows, parity behind data; those of missing data shards are overwritten, the
   *     others are not changed, and those of missing parity shards may be null
   * @param present which shards are there; not changed
   * @param longs how much of each row to use, 0 to the length of the shortest
   * @return false, with nothing changed, if fewer than {@link #dataShards} are present
   */
  public boolean reconstructData(long[][] shards, boolean[] present, int longs) {
    int[] missing = missingData(present);
    if (missing.length == 0) {
      return true;
    }
    int[] parity = presentParity(present, missing.length);
    if (parity.length < missing.length) {
      return false;
    }
    long[][] inputs = new long[dataShards][];
    long[][] outputs = new long[missing.length][];
    int[] points = new int[dataShards];
    int repaired = 0;
    for (int i = 0; i < dataShards; i++) {
      points[i] = i;
      if (!present[i]) {
        points[i] = parity[repaired];
        outputs[repaired++] = shards[i];
      }
      inputs[i] = shards[points[i]];
    }
    kernel.prepare(coefficients(points, missing, parity)).multiply(inputs, outputs, longs);
    return true;
  }

  private int[] missingData(boolean[] present) {
    int count = 0;
    for (int i = 0; i < dataShards; i++) {
      count += present[i] ? 0 : 1;
    }
    int[] missing = new int[count];
    for (int i = dataShards - 1; count > 0; i--) {
      if (!present[i]) {
        missing[--count] = i;
      }
    }
    return missing;
  }

  /** The first parity shards that are present, at most {@code limit}. */
  private int[] presentParity(boolean[] present, int limit) {
    int[] found = new int[limit];
    int count = 0;
    for (int i = dataShards; i < dataShards + parityShards && count < limit; i++) {
      if (present[i]) {
        found[count++] = i;
      }
    }
    return count == limit ? found : java.util.Arrays.copyOf(found, count);
  }

  private byte[][] parityCoefficients() {
    int[] data = new int[dataShards];
    for (int i = 0; i < dataShards; i++) {
      data[i] = i;
    }
    int[] parity = new int[parityShards];
    for (int i = 0; i < parityShards; i++) {
      parity[i] = dataShards + i;
    }
    return coefficients(data, parity, new int[0]);
  }

  /**
   * Lagrange's formula: what the value at each of {@code known} counts in the value at each of
   * {@code wanted}. The known points are the data shards but those in {@code wanted}, and {@code
   * parity}.
   */
  private byte[][] coefficients(int[] known, int[] wanted, int[] parity) {
    int[] missing = parity.length == 0 ? parity : wanted;
    int[] logDenominators = new int[known.length];
    for (int i = 0; i < known.length; i++) {
      int point = known[i];
      int log = point < dataShards ? logDistances[point] : logDistancesToData(point);
      logDenominators[i] = log + logDistances(point, parity) - logDistances(point, missing);
    }
    byte[][] rows = new byte[wanted.length][known.length];
    for (int r = 0; r < wanted.length; r++) {
      int point = wanted[r];
      int log = point < dataShards ? logDistances[point] : logDistancesToData(point);
      log += logDistances(point, parity) - logDistances(point, missing);
      for (int i = 0; i < known.length; i++) {
        int factor = log - GaloisField.log(point ^ known[i]) - logDenominators[i];
        rows[r][i] = (byte) GaloisField.exp(factor);
      }
    }
    return rows;
  }

  private int logDistancesToData(int point) {
    int log = 0;
    for (int i = 0; i < dataShards; i++) {
      log += i == point ? 0 : GaloisField.log(i ^ point);
    }
    return log;
  }

  /** The sum of the logarithms of the distances between a point and others than itself. */
  private static int logDistances(int point, int[] others) {
    int log = 0;
    for (int other : others) {
      log += other == point ? 0 : GaloisField.log(other ^ point);
    }
    return log;
  }
}
