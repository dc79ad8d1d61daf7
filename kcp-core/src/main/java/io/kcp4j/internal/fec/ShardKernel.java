package io.kcp4j.internal.fec;

/**
 * The inner loop of Reed-Solomon: multiplies a matrix over GF(2^8), polynomial 0x11D, with shards.
 * Kernels are stateless and safe for all threads.
 *
 * <p>The {@linkplain #portable portable} kernel is always available. Others are services of this
 * type on the class path or module path, such as those of the artifact {@code kcp-core-vector}. The
 * fastest kernel is used. See {@link #preferred}.
 */
public interface ShardKernel {

  /**
   * The system property with the name of the kernel to use. If the named kernel is missing, the
   * portable one is used.
   */
  String PROPERTY = "kcp4j.fec.kernel";

  /** A short name, for logs and for {@link #PROPERTY}. */
  String name();

  /**
   * Prepares the multiplication with one matrix.
   *
   * @param coefficients a row for each output with a coefficient for each input, at least one of
   *     both; neither changed nor kept
   * @return a product that is safe for all threads
   */
  Product prepare(byte[][] coefficients);

  /**
   * Multiplies with a matrix that is used once, as {@link #prepare} and {@link Product#multiply}.
   */
  default void multiply(byte[][] coefficients, long[][] inputs, long[][] outputs, int longs) {
    prepare(coefficients).multiply(inputs, outputs, longs);
  }

  /** The kernel that needs no JVM flags: plain loops, which C2 of HotSpot vectorises. */
  static ShardKernel portable() {
    return BitPlaneKernel.INSTANCE;
  }

  /**
   * The kernel that codes use now: the one named by {@link #PROPERTY}, else the fastest. Where
   * there are several, the first call starts a daemon thread that compares them for a few seconds
   * at most; until it is done, this is the portable one.
   */
  static ShardKernel preferred() {
    return ReedSolomon.KERNELS.current();
  }

  /** The multiplication with one matrix. */
  interface Product {

    /**
     * Sets each output to the sum of all inputs times the coefficients of its row.
     *
     * @param inputs as many rows as the matrix has columns, each of at least {@code longs}, eight
     *     bytes of the shard in each long; not changed
     * @param outputs as many rows as the matrix has, each of at least {@code longs}; none of them
     *     is an input
     * @param longs how many of each row to use; longs after them are neither read nor changed
     */
    void multiply(long[][] inputs, long[][] outputs, int longs);
  }
}
