package io.kcp4j.fec;

/**
 * The inner loop of Reed-Solomon: multiplies a matrix over GF(2^8), polynomial 0x11D, with shards.
 * Kernels have no state of their own and are safe for all threads.
 */
public interface ShardKernel {

  /** A short name, for logs and benchmarks. */
  String name();

  /**
   * Prepares the multiplication with one matrix.
   *
   * @param coefficients a row for each output with a coefficient for each input; not changed, and
   *     not kept
   * @return a product that is safe for all threads
   */
  Product prepare(byte[][] coefficients);

  /** The multiplication with one matrix. */
  interface Product {

    /**
     * Sets each output to the sum of all inputs times the coefficients of its row.
     *
     * @param inputs as many rows as the matrix has columns, each of at least {@code longs}, eight
     *     bytes of the shard in each
     * @param outputs as many rows as the matrix has, each of at least {@code longs}; none of them
     *     is an input
     * @param longs how many of each row to use
     */
    void multiply(long[][] inputs, long[][] outputs, int longs);
  }
}
