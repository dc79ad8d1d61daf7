package io.kcp4j.crypto;

/**
 * The inner loop of Salsa20/20: its key stream, many blocks at a time. Kernels have no state of
 * their own and are safe for all threads.
 *
 * <p>There is always the {@linkplain #portable portable} kernel. Others come from the class path or
 * module path as services of this type, such as that of the artifact {@code kcp-core-vector}; they
 * are used once they have shown that they compute the same, and faster. See {@link #preferred}.
 */
public interface Salsa20Kernel {

  /**
   * The system property with the name of the kernel to use. One that is not there, or computes
   * wrongly, gives way to the portable one.
   */
  String PROPERTY = "kcp4j.salsa20.kernel";

  /** As many lanes as the largest packet has blocks. */
  int FEW = 24;

  /** As many lanes as the blocks of several packets keep busy. */
  int MANY = 48;

  /** A short name, for logs and for {@link #PROPERTY}. */
  String name();

  /**
   * Makes lanes for one key.
   *
   * @param key 32 bytes; neither changed nor kept
   * @param count how many: {@link #FEW} or {@link #MANY}
   */
  Lanes prepare(byte[] key, int count);

  /** The kernel that needs no flags: plain loops, which HotSpot's C2 vectorises. */
  static Salsa20Kernel portable() {
    return Salsa20Lanes.Kernel.INSTANCE;
  }

  /**
   * The kernel that ciphers use now: the one named by {@link #PROPERTY}, else the fastest. Where
   * there are several, the first call starts a daemon thread that compares them for a few seconds
   * at most; until it is done, this is the portable one.
   */
  static Salsa20Kernel preferred() {
    return Salsa20KernelTrial.CHOICE.current();
  }

  /** Blocks of the key stream side by side, each with a nonce and a number of its own. */
  interface Lanes {

    /** How many there are. */
    int count();

    /** Chooses a lane's block. No packet has so many that the number's upper word would count. */
    void set(int lane, int nonceLow, int nonceHigh, int block);

    /** Computes the blocks of the first {@code used} lanes, at least. */
    void compute(int used);

    /**
     * XORs the blocks of the lanes [{@code from}, {@code to}) into the data at their {@code
     * starts}, 64 bytes for each.
     */
    void xor(int from, int to, byte[] data, int[] starts);
  }
}
