package io.kcp4j.internal.crypto;

/**
 * The inner loop of Salsa20/20: its key stream, many blocks at a time. Kernels are stateless and
 * safe for all threads.
 *
 * <p>The {@linkplain #portable portable} kernel is always available. Others are services of this
 * type on the class path or module path, such as that of the artifact {@code kcp-core-vector}. The
 * fastest kernel is used. See {@link #preferred}.
 */
public interface Salsa20Kernel {

  /**
   * The system property with the name of the kernel to use. If the named kernel is missing, the
   * portable one is used.
   */
  String PROPERTY = "kcp4j.salsa20.kernel";

  /** The number of lanes for the blocks of one packet of the largest size. */
  int FEW = 24;

  /** The number of lanes for the blocks of several packets. */
  int MANY = 48;

  /** A short name, for logs and for {@link #PROPERTY}. */
  String name();

  /**
   * Makes lanes for one key.
   *
   * @param key 32 bytes; neither changed nor kept
   * @param count the number of lanes: {@link #FEW} or {@link #MANY}
   */
  Lanes prepare(byte[] key, int count);

  /** The kernel that needs no JVM flags: plain loops, which C2 of HotSpot vectorises. */
  static Salsa20Kernel portable() {
    return Salsa20.PortableKernel.INSTANCE;
  }

  /**
   * The kernel that ciphers use now: the one named by {@link #PROPERTY}, else the fastest. Where
   * there are several, the first call starts a daemon thread that compares them for a few seconds
   * at most; until it is done, this is the portable one.
   */
  static Salsa20Kernel preferred() {
    return Salsa20.KERNELS.current();
  }

  /** Blocks of the key stream computed in parallel, each with its own nonce and number. */
  interface Lanes {

    /** The number of lanes. */
    int count();

    /** Sets the block of a lane. Its number has 32 bits, which exceeds the blocks of any packet. */
    void set(int lane, int nonceLow, int nonceHigh, int block);

    /** Computes the blocks of at least the first {@code used} lanes. */
    void compute(int used);

    /**
     * XORs the blocks of the lanes [{@code from}, {@code to}) into the data at their {@code
     * starts}, 64 bytes for each.
     */
    void xor(int from, int to, byte[] data, int[] starts);
  }
}
