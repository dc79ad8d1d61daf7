package io.kcp4j.crypto;

import io.kcp4j.kernel.KernelChoice;
import java.util.Arrays;

/**
 * Salsa20/20 of D. J. Bernstein. The first 8 bytes of each packet are its nonce and not encrypted.
 * The preferred {@link Salsa20Kernel} computes many blocks in parallel, of one packet or of
 * several.
 */
final class Salsa20 implements StreamCipher {

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
}
