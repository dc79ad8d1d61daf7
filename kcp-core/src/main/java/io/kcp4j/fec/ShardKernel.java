package io.kcp4j.fec;

/**
 * The inner loop of Reed-Solomon: multiplies a matrix over GF(2^8), polynomial 0x11D, with shards.
 * Kernels have no state of their own and are safe for all threads.
 *
 * <p>There is always the {@linkplain #portable portable} kernel. Others come from the class path or
 * module path as services of this type, such as those of the artifact {@code kcp-core-vector}; they
 * are used once they have shown that they compute the same, and faster. See {@link #preferred}.
 */
public interface ShardKernel {

  /**
   * The system property with the name of the kernel to use. One that is not there, or computes
   * wrongly, gives way to the portable one.
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
   * Multiplies with a matrix that is used once. As {@link #prepare} and {@link Product#multiply}.
   */
  default void multiply(byte[][] coefficients, long[][] inputs, long[][] outputs, int longs) {
    prepare(coefficients).multiply(inputs, outputs, longs);
  }

  /** The kernel that needs no flags: plain loops, which HotSpot's C2 vectorises. */
  static ShardKernel portable() {
    return BitPlaneKernel.INSTANCE;
  }

  /**
   * The kernel that codes use now: the one named by {@link #PROPERTY}, else the fastest. Where
   * there are several, the first call starts a daemon thread that compares them for a few seconds
   * at most; until it is done, this is the portable one.
   */
  static ShardKernel preferred() {
    return ShardKernelTrial.CHOICE.current();
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
     * @param longs how many of each row to use; nothing behind them is read or changed
     */
    void multiply(long[][] inputs, long[][] outputs, int longs);
  }
}
