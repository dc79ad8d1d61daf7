package io.kcp4j.internal.fec;

import io.kcp4j.internal.kernel.KernelChoice;
import java.util.Arrays;

/**
 * A systematic Reed-Solomon code over GF(2^8), polynomial 0x11D: from d data shards it computes p
 * parity shards, and any d of the d + p shards determine the data. Byte for byte the code of
 * Backblaze and of klauspost/reedsolomon, which kcp-go uses.
 *
 * <p>Theory. They construct the matrix as a Vandermonde matrix, with the powers of r in row r,
 * times the inverse of its top d rows. This is interpolation: byte k of the data shards is taken as
 * the values at 0 to d - 1 of a polynomial of degree below d, and byte k of shard r is its value at
 * r. So the value at one point follows from those at any d others by Lagrange's formula, for parity
 * and for lost shards alike, without inverting a matrix. To reconstruct n shards, computing the
 * coefficients takes time proportional to n * d, a microsecond for two lost of ten; the {@link
 * ShardKernel} does the rest.
 *
 * <p>Immutable and safe for all threads; shared by all users of a ratio. Shards are rows of {@code
 * long[]}, eight bytes in each long in any byte order, the same for all: JIT compilers vectorise
 * loops over them best.
 */
final class ReedSolomon {

  /** The number of points of the field. */
  static final int MAX_SHARDS = GaloisField.SIZE;

  private static final int CACHE_LINE_LONGS = 8;

  /** The array header in HotSpot with compressed class pointers. */
  private static final int HEADER_LONGS = 2;

  /** Up to 2 KiB each. */
  private static final int REPAIRS_BITS = 5;

  /** Spreads a hash over its upper bits: 2^32 divided by the golden ratio. */
  private static final int HASH_FACTOR = 0x9E3779B9;

  /**
   * A cache of codes. A new code replaces another one in its slot. Races are harmless, since codes
   * of one ratio are equivalent and safely published.
   */
  private static final ReedSolomon[] SHARED = new ReedSolomon[64];

  /** The longs by which kernels are timed: a packet of 1400 bytes. */
  private static final int TIMED_LONGS = 175;

  /** The kernels of all codes, of which the fastest is used. */
  static final KernelChoice<ShardKernel> KERNELS =
      new KernelChoice<>(ShardKernel.portable(), ShardKernel::name, ReedSolomon::timedWork)
          .start(ShardKernel.class, System.getProperty(ShardKernel.PROPERTY));

  private record Parity(ShardKernel kernel, ShardKernel.Product product) {}

  private final int dataShards;
  private final int parityShards;

  /** For each shard the sum of the logarithms of its distances to all other data shards. */
  private final int[] logDistances;

  /**
   * A cache of repairs by the hash of the present shards: frequent patterns, such as single losses,
   * need no preparation. Races are harmless, as with {@link #SHARED}.
   */
  private final Repair[] repairs = new Repair[1 << REPAIRS_BITS];

  /** Created on first use: not needed for decoding. */
  private volatile Parity parity;

  private ReedSolomon(int dataShards, int parityShards) {
    this.dataShards = dataShards;
    this.parityShards = parityShards;
    logDistances = new int[dataShards + parityShards];
    for (int i = 0; i < logDistances.length; i++) {
      logDistances[i] = logDistancesToData(i);
    }
  }

  /** The parity of a group of 10+3 packets. The time does not depend on their content. */
  private static Runnable timedWork(ShardKernel kernel) {
    ShardKernel.Product product = kernel.prepare(of(10, 3).parityCoefficients());
    long[][] data = new long[10][TIMED_LONGS];
    long[][] parity = new long[3][TIMED_LONGS];
    return () -> product.multiply(data, parity, TIMED_LONGS);
  }

  /**
   * The code of a ratio. Cheap, since codes are cached.
   *
   * @param dataShards 1 to 255
   * @param parityShards 1 to 255, with the data shards at most {@value #MAX_SHARDS}
   * @throws IllegalArgumentException if one is out of range
   */
  static ReedSolomon of(int dataShards, int parityShards) {
    checkShards(dataShards, parityShards);
    int slot = dataShards * 31 + parityShards & (SHARED.length - 1);
    ReedSolomon shared = SHARED[slot];
    if (shared == null || shared.dataShards != dataShards || shared.parityShards != parityShards) {
      shared = new ReedSolomon(dataShards, parityShards);
      SHARED[slot] = shared;
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

  /** The number of data shards, 1 to 255. */
  int dataShards() {
    return dataShards;
  }

  /** The number of parity shards, 1 to 255. */
  int parityShards() {
    return parityShards;
  }

  /**
   * The recommended length of rows for shards of up to {@code bytes}. Any sufficient length works;
   * with this one the size of the array, its header included, is a multiple of 64, so that rows
   * allocated consecutively have the same alignment to cache lines, which saves up to a quarter of
   * the time.
   */
  static int rowLongs(int bytes) {
    int longs = (bytes + Long.BYTES - 1) / Long.BYTES;
    return (longs + HEADER_LONGS + CACHE_LINE_LONGS - 1) / CACHE_LINE_LONGS * CACHE_LINE_LONGS
        - HEADER_LONGS;
  }

  /**
   * Computes the parity shards.
   *
   * @param data the data shards; not changed
   * @param parity the parity shards, overwritten
   * @param longs how many longs of each row to use, 0 to the length of the shortest
   * @throws IllegalArgumentException if rows are missing or too short
   */
  void encode(long[][] data, long[][] parity, int longs) {
    checkRows("data", data, dataShards, longs);
    checkRows("parity", parity, parityShards, longs);
    parityProduct().multiply(data, parity, longs);
  }

  /** Prepares the parity again when another kernel has become the preferred one. */
  private ShardKernel.Product parityProduct() {
    ShardKernel kernel = ShardKernel.preferred();
    Parity prepared = parity;
    if (prepared == null || prepared.kernel != kernel) {
      prepared = new Parity(kernel, kernel.prepare(parityCoefficients()));
      parity = prepared;
    }
    return prepared.product;
  }

  private static void checkRows(String name, long[][] rows, int count, int longs) {
    if (rows.length != count) {
      throw new IllegalArgumentException(name + " has " + rows.length + " rows, not " + count);
    }
    for (long[] row : rows) {
      checkRow(name, row, longs);
    }
  }

  static void checkRow(String name, long[] row, int longs) {
    if (longs < 0 || longs > row.length) {
      throw new IllegalArgumentException(
          "longs " + longs + " is not in 0.." + row.length + " for a row of " + name);
    }
  }

  /**
   * Reconstructs missing data shards from any {@link #dataShards} others, but no missing parity.
   *
   * @param shards all rows, parity after data; rows of missing data shards are overwritten, others
   *     are not changed, and rows of missing parity shards may be null
   * @param present which shards are present; not changed
   * @param longs how many longs of each row to use, 0 to the length of the shortest
   * @return false, with nothing changed, if fewer than {@link #dataShards} are present
   * @throws IllegalArgumentException if rows are missing or too short
   */
  boolean reconstructData(long[][] shards, boolean[] present, int longs) {
    checkCount("shards", shards.length);
    checkCount("present", present.length);
    Repair repair = repairOf(present);
    if (repair.isPossible()) {
      repair.run(shards, longs);
    }
    return repair.isPossible();
  }

  private void checkCount(String name, int count) {
    if (count != dataShards + parityShards) {
      throw new IllegalArgumentException(
          name + " has " + count + " entries, not " + (dataShards + parityShards));
    }
  }

  private Repair repairOf(boolean[] present) {
    int slot = (Arrays.hashCode(present) * HASH_FACTOR) >>> (Integer.SIZE - REPAIRS_BITS);
    ShardKernel kernel = ShardKernel.preferred();
    Repair repair = repairs[slot];
    if (repair == null || !repair.isOf(present, kernel)) {
      repair = newRepair(present, kernel);
      repairs[slot] = repair.isLarge() ? null : repair;
    }
    return repair;
  }

  private Repair newRepair(boolean[] present, ShardKernel kernel) {
    int[] missing = missingData(present);
    int[] repairing = presentParity(present, missing.length);
    int[] points = new int[dataShards];
    Arrays.setAll(points, i -> i);
    for (int i = 0; i < repairing.length; i++) {
      points[missing[i]] = repairing[i];
    }
    boolean isPossible = repairing.length == missing.length;
    byte[][] coefficients = isPossible ? coefficients(points, missing, repairing) : null;
    return new Repair(present, points, missing, coefficients, kernel);
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
    return count == limit ? found : Arrays.copyOf(found, count);
  }

  private byte[][] parityCoefficients() {
    int[] data = new int[dataShards];
    Arrays.setAll(data, i -> i);
    int[] wanted = new int[parityShards];
    Arrays.setAll(wanted, i -> dataShards + i);
    return coefficients(data, wanted, new int[0]);
  }

  /**
   * Lagrange's formula: the coefficients of the values at {@code known} in the values at {@code
   * wanted}. The known points are those of the data shards, with {@code repairing} in place of
   * {@code wanted} if there are any.
   */
  private byte[][] coefficients(int[] known, int[] wanted, int[] repairing) {
    int[] missing = repairing.length == 0 ? repairing : wanted;
    int[] logDenominators = new int[known.length];
    for (int i = 0; i < known.length; i++) {
      logDenominators[i] = logDistancesToKnown(known[i], missing, repairing);
    }
    byte[][] rows = new byte[wanted.length][known.length];
    for (int row = 0; row < wanted.length; row++) {
      int logNumerator = logDistancesToKnown(wanted[row], missing, repairing);
      for (int i = 0; i < known.length; i++) {
        int logDistance = GaloisField.log(wanted[row] ^ known[i]);
        rows[row][i] = GaloisField.quotient(logNumerator, logDistance, logDenominators[i]);
      }
    }
    return rows;
  }

  /** The sum of the logarithms of the distances between a point and all known others. */
  private int logDistancesToKnown(int point, int[] missing, int[] repairing) {
    return GaloisField.reduceLog(
        logDistances[point] - logDistances(point, missing) + logDistances(point, repairing));
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

  /** How to reconstruct the data shards that are missing in one pattern of loss. Immutable. */
  private static final class Repair {

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
        boolean[] present,
        int[] sources,
        int[] missing,
        byte[][] coefficients,
        ShardKernel kernel) {
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
        checkRow("shards", rows[i], longs);
      }
      return rows;
    }
  }

  /**
   * Arithmetic in GF(2^8) modulo x^8 + x^4 + x^3 + x^2 + 1 (0x11D), for constructing codes; a
   * {@link ShardKernel} processes the bytes of shards. Addition is XOR.
   *
   * <p>2 generates the field: products of many factors are sums of logarithms.
   */
  private static final class GaloisField {

    static final int SIZE = 256;

    private static final int POLYNOMIAL = 0x11D;
    private static final int GROUP_ORDER = SIZE - 1;

    /** Repeated three times, so that sums and differences of logarithms need no division. */
    private static final byte[] EXP = new byte[3 * GROUP_ORDER];

    private static final short[] LOG = new short[SIZE];

    static {
      int power = 1;
      for (int log = 0; log < GROUP_ORDER; log++) {
        for (int round = 0; round < EXP.length; round += GROUP_ORDER) {
          EXP[round + log] = (byte) power;
        }
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

    /**
     * The logarithm, 0 to 254, of a product whose factors' logarithms, some negative, add up to
     * this.
     */
    static int reduceLog(int log) {
      return Math.floorMod(log, GROUP_ORDER);
    }

    /** The element with the logarithm {@code a - b - c}, each of them 0 to 254. */
    static byte quotient(int a, int b, int c) {
      return EXP[a - b - c + 2 * GROUP_ORDER];
    }
  }
}
