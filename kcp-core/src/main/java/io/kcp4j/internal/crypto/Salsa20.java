package io.kcp4j.internal.crypto;

import io.kcp4j.crypto.CipherAlgorithm;
import io.kcp4j.internal.kernel.KernelChoice;
import java.util.Arrays;

/**
 * Salsa20/20 of D. J. Bernstein. The first 8 bytes of each packet are its nonce and not encrypted.
 * The preferred {@link Salsa20Kernel} computes many blocks in parallel, of one packet or of
 * several.
 */
public final class Salsa20 implements StreamCipher {

  private static final int BLOCK_BYTES = 64;
  private static final int NONCE_BYTES = 8;

  /** The blocks by which kernels are timed: a packet of an Ethernet MTU. */
  private static final int TIMED_BLOCKS = 22;

  static final KernelChoice<Salsa20Kernel> KERNELS =
      new KernelChoice<>(Salsa20Kernel.portable(), Salsa20Kernel::name, Salsa20::timedWork)
          .start(Salsa20Kernel.class, System.getProperty(Salsa20Kernel.PROPERTY));

  private final byte[] key;
  private final int[] starts = new int[Salsa20Kernel.MANY];
  private final int[] ends = new int[Salsa20Kernel.MANY];
  private final byte[] edge = new byte[BLOCK_BYTES];
  private Salsa20Kernel kernel;
  private Salsa20Kernel.Lanes few;
  private Salsa20Kernel.Lanes many;

  Salsa20(byte[] key) {
    this.key = key.clone();
  }

  private static Runnable timedWork(Salsa20Kernel kernel) {
    Salsa20Kernel.Lanes lanes =
        kernel.prepare(new byte[CipherAlgorithm.SALSA20.keyBytes()], Salsa20Kernel.FEW);
    byte[] data = new byte[TIMED_BLOCKS * BLOCK_BYTES];
    int[] starts = new int[TIMED_BLOCKS];
    Arrays.setAll(starts, lane -> lane * BLOCK_BYTES);
    return () -> {
      for (int lane = 0; lane < TIMED_BLOCKS; lane++) {
        lanes.set(lane, 1, 2, lane);
      }
      lanes.compute(TIMED_BLOCKS);
      lanes.xor(0, TIMED_BLOCKS, data, starts);
    };
  }

  @Override
  public void encrypt(PacketGroup group) {
    Salsa20Kernel preferred = Salsa20Kernel.preferred();
    if (preferred != kernel) {
      kernel = preferred;
      few = kernel.prepare(key, Salsa20Kernel.FEW);
      many = kernel.prepare(key, Salsa20Kernel.MANY);
    }
    encrypt(group, group.end() <= Salsa20Kernel.FEW * BLOCK_BYTES ? few : many);
  }

  @Override
  public void decrypt(PacketGroup group) {
    encrypt(group);
  }

  private void encrypt(PacketGroup group, Salsa20Kernel.Lanes lanes) {
    byte[] data = group.data();
    int used = 0;
    for (int i = 0; i < group.size(); i++) {
      int start = group.start(i);
      int end = start + group.length(i);
      int nonceLow = (int) PacketGroup.INT.get(data, start);
      int nonceHigh = (int) PacketGroup.INT.get(data, start + Integer.BYTES);
      int block = 0;
      for (int at = start + NONCE_BYTES; at < end; at += BLOCK_BYTES) {
        if (used == lanes.count()) {
          xor(lanes, used, data);
          used = 0;
        }
        lanes.set(used, nonceLow, nonceHigh, block++);
        starts[used] = at;
        ends[used++] = end;
      }
    }
    xor(lanes, used, data);
  }

  private void xor(Salsa20Kernel.Lanes lanes, int used, byte[] data) {
    lanes.compute(used);
    int from = 0;
    for (int lane = 0; lane < used; lane++) {
      if (ends[lane] - starts[lane] < BLOCK_BYTES) {
        lanes.xor(from, lane, data, starts);
        xorLast(lanes, lane, data);
        from = lane + 1;
      }
    }
    lanes.xor(from, used, data, starts);
  }

  /** The last block of a packet, which is shorter. */
  private void xorLast(Salsa20Kernel.Lanes lanes, int lane, byte[] data) {
    int start = starts[lane];
    int bytes = ends[lane] - start;
    System.arraycopy(data, start, edge, 0, bytes);
    starts[lane] = 0;
    lanes.xor(lane, lane + 1, edge, starts);
    System.arraycopy(edge, 0, data, start, bytes);
  }

  /**
   * The portable kernel. With the larger number of lanes a block takes less time, on JDK 17 half as
   * much.
   */
  static final class PortableKernel implements Salsa20Kernel {

    static final PortableKernel INSTANCE = new PortableKernel();

    @Override
    public String name() {
      return "portable";
    }

    @Override
    public Lanes prepare(byte[] key, int count) {
      return new PortableLanes(key, count);
    }
  }

  /**
   * Lanes of the portable kernel.
   *
   * <p>A block is a square of words. An array holds its four diagonals one after the other, and in
   * each diagonal word 0 of all lanes, then word 1 of all lanes, and so on. The quarter rounds of
   * all four columns in all lanes are thus one loop, which C2 vectorises. The quarter rounds of the
   * rows need three of the diagonals rotated by one, two and three words. Therefore the column step
   * writes these diagonals a second time, four words further on: together the two copies contain
   * the rotated diagonal. The row step writes its results a second time, four words back, where the
   * column step finds them unrotated. Gaps between the diagonals take the words that neither step
   * needs.
   *
   * <p>C2 uses wide vectors only for loops with constant bounds and offsets, and proves only within
   * a single array that accesses do not overlap; hence the single array, and the two sizes with
   * loops of their own.
   */
  private static final class PortableLanes implements Salsa20Kernel.Lanes {

    private static final int FEW = Salsa20Kernel.FEW;
    private static final int MANY = Salsa20Kernel.MANY;
    private static final int DOUBLE_ROUNDS = 10;
    private static final int[] SIGMA = {0x61707865, 0x3320646e, 0x79622d32, 0x6b206574};

    // The offsets of the diagonals, in words of all lanes. The first has words 0, 5, 10, 15 of the
    // square; B has 4, 9, 14, 3, C has 8, 13, 2, 7 and D has 12, 1, 6, 11. Each of B, C and D is
    // followed by a gap of four words, and preceded by one of at least one, two and three. Even
    // offsets align vectors.
    private static final int B = 6;
    private static final int C = 16;
    private static final int D = 28;
    private static final int END = 36;

    private final int size;
    private final int[] initial;
    private final int[] words;

    PortableLanes(byte[] key, int size) {
      this.size = size;
      initial = new int[END * size];
      words = new int[END * size];
      int[] k = new int[8];
      for (int i = 0; i < k.length; i++) {
        k[i] = (int) PacketGroup.INT.get(key, Integer.BYTES * i);
      }
      fill(0, SIGMA[0], SIGMA[1], SIGMA[2], SIGMA[3]);
      fill(B, k[3], 0, k[7], k[2]);
      fill(C, 0, k[6], k[1], 0);
      fill(D, k[5], k[0], 0, k[4]);
    }

    private void fill(int diagonal, int... square) {
      for (int word : square) {
        Arrays.fill(initial, diagonal * size, ++diagonal * size, word);
      }
    }

    @Override
    public int count() {
      return size;
    }

    @Override
    public void set(int lane, int nonceLow, int nonceHigh, int block) {
      initial[(D + 2) * size + lane] = nonceLow;
      initial[(C + 3) * size + lane] = nonceHigh;
      initial[C * size + lane] = block;
    }

    @Override
    public void compute(int used) {
      System.arraycopy(initial, 0, words, 0, initial.length);
      for (int i = 0; i < DOUBLE_ROUNDS; i++) {
        if (size == FEW) {
          columnsOfFew(words);
          rowsOfFew(words);
        } else {
          columnsOfMany(words);
          rowsOfMany(words);
        }
      }
      add(words, initial);
    }

    private static void columnsOfFew(int[] x) {
      for (int i = 0; i < 4 * FEW; i++) {
        int a = x[i];
        int d = x[i + D * FEW];
        int b = x[i + B * FEW] ^ Integer.rotateLeft(a + d, 7);
        int c = x[i + C * FEW] ^ Integer.rotateLeft(b + a, 9);
        d ^= Integer.rotateLeft(c + b, 13);
        x[i] = a ^ Integer.rotateLeft(d + c, 18);
        x[i + B * FEW] = b;
        x[i + C * FEW] = c;
        x[i + D * FEW] = d;
        x[i + (B + 4) * FEW] = b;
        x[i + (C + 4) * FEW] = c;
        x[i + (D + 4) * FEW] = d;
      }
    }

    private static void rowsOfFew(int[] x) {
      for (int i = 0; i < 4 * FEW; i++) {
        x[i + (D + 1) * FEW] ^= Integer.rotateLeft(x[i] + x[i + (B + 3) * FEW], 7);
        x[i + (C + 2) * FEW] ^= Integer.rotateLeft(x[i + (D + 1) * FEW] + x[i], 9);
        x[i + (B + 3) * FEW] ^= Integer.rotateLeft(x[i + (C + 2) * FEW] + x[i + (D + 1) * FEW], 13);
        x[i] ^= Integer.rotateLeft(x[i + (B + 3) * FEW] + x[i + (C + 2) * FEW], 18);
        x[i + (B - 1) * FEW] = x[i + (B + 3) * FEW];
        x[i + (C - 2) * FEW] = x[i + (C + 2) * FEW];
        x[i + (D - 3) * FEW] = x[i + (D + 1) * FEW];
      }
    }

    private static void columnsOfMany(int[] x) {
      for (int i = 0; i < 4 * MANY; i++) {
        int a = x[i];
        int d = x[i + D * MANY];
        int b = x[i + B * MANY] ^ Integer.rotateLeft(a + d, 7);
        int c = x[i + C * MANY] ^ Integer.rotateLeft(b + a, 9);
        d ^= Integer.rotateLeft(c + b, 13);
        x[i] = a ^ Integer.rotateLeft(d + c, 18);
        x[i + B * MANY] = b;
        x[i + C * MANY] = c;
        x[i + D * MANY] = d;
        x[i + (B + 4) * MANY] = b;
        x[i + (C + 4) * MANY] = c;
        x[i + (D + 4) * MANY] = d;
      }
    }

    private static void rowsOfMany(int[] x) {
      for (int i = 0; i < 4 * MANY; i++) {
        x[i + (D + 1) * MANY] ^= Integer.rotateLeft(x[i] + x[i + (B + 3) * MANY], 7);
        x[i + (C + 2) * MANY] ^= Integer.rotateLeft(x[i + (D + 1) * MANY] + x[i], 9);
        x[i + (B + 3) * MANY] ^=
            Integer.rotateLeft(x[i + (C + 2) * MANY] + x[i + (D + 1) * MANY], 13);
        x[i] ^= Integer.rotateLeft(x[i + (B + 3) * MANY] + x[i + (C + 2) * MANY], 18);
        x[i + (B - 1) * MANY] = x[i + (B + 3) * MANY];
        x[i + (C - 2) * MANY] = x[i + (C + 2) * MANY];
        x[i + (D - 3) * MANY] = x[i + (D + 1) * MANY];
      }
    }

    private static void add(int[] x, int[] y) {
      for (int i = 0; i < y.length; i++) {
        x[i] += y[i];
      }
    }

    @Override
    public void xor(int from, int to, byte[] data, int[] starts) {
      int[] x = words;
      for (int lane = from; lane < to; lane++) {
        int at = starts[lane];
        int b = B * size + lane;
        int c = C * size + lane;
        int d = D * size + lane;
        xor(data, at, x[lane], x[d + size]);
        xor(data, at + 8, x[c + 2 * size], x[b + 3 * size]);
        xor(data, at + 16, x[b], x[lane + size]);
        xor(data, at + 24, x[d + 2 * size], x[c + 3 * size]);
        xor(data, at + 32, x[c], x[b + size]);
        xor(data, at + 40, x[lane + 2 * size], x[d + 3 * size]);
        xor(data, at + 48, x[d], x[c + size]);
        xor(data, at + 56, x[b + 2 * size], x[lane + 3 * size]);
      }
    }

    private static void xor(byte[] data, int at, int low, int high) {
      long mask = (long) high << 32 | (low & 0xffffffffL);
      PacketGroup.LONG.set(data, at, (long) PacketGroup.LONG.get(data, at) ^ mask);
    }
  }
}
