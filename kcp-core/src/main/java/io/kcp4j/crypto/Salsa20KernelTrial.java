package io.kcp4j.crypto;

import io.kcp4j.kernel.KernelChoice;
import java.util.Arrays;

/**
 * Verifies kernels of Salsa20 with the blocks of several packets, and times them with one packet.
 */
final class Salsa20KernelTrial implements KernelChoice.Trial<Salsa20Kernel> {

  private static final int BLOCK_BYTES = 64;
  private static final int[] COUNTS = {Salsa20Kernel.FEW, Salsa20Kernel.MANY};
  private static final int PACKET_BLOCKS = 22;

  // After the constants that it needs.
  static final KernelChoice<Salsa20Kernel> CHOICE =
      new KernelChoice<>(Salsa20Kernel.portable(), new Salsa20KernelTrial())
          .start(Salsa20Kernel.class, System.getProperty(Salsa20Kernel.PROPERTY));

  @Override
  public String name(Salsa20Kernel kernel) {
    return kernel.name();
  }

  @Override
  public boolean agrees(Salsa20Kernel kernel) {
    byte[] key = pattern(CipherAlgorithm.SALSA20.keyBytes());
    for (int count : COUNTS) {
      Salsa20Kernel.Lanes lanes = kernel.prepare(key, count);
      Salsa20Kernel.Lanes expected = Salsa20Kernel.portable().prepare(key, count);
      if (lanes.count() != count) {
        return false;
      }
      for (int used = 1; used <= count; used++) {
        if (!Arrays.equals(xored(lanes, used), xored(expected, used))) {
          return false;
        }
      }
    }
    return true;
  }

  /** Data XORed with the first {@code used} lanes, in reverse order. */
  private static byte[] xored(Salsa20Kernel.Lanes lanes, int used) {
    byte[] data = pattern((used + 2) * BLOCK_BYTES);
    int[] starts = new int[lanes.count()];
    for (int lane = 0; lane < used; lane++) {
      lanes.set(lane, used * 0x9e3779b9, ~lane, lane * lane);
      starts[lane] = (used - lane) * BLOCK_BYTES - 1;
    }
    lanes.compute(used);
    lanes.xor(0, used / 2, data, starts);
    lanes.xor(used / 2, used, data, starts);
    return data;
  }

  private static byte[] pattern(int bytes) {
    byte[] pattern = new byte[bytes];
    for (int i = 0; i < bytes; i++) {
      pattern[i] = (byte) (i * i + 7 * i);
    }
    return pattern;
  }

  @Override
  public Runnable work(Salsa20Kernel kernel) {
    Salsa20Kernel.Lanes lanes =
        kernel.prepare(new byte[CipherAlgorithm.SALSA20.keyBytes()], Salsa20Kernel.FEW);
    byte[] data = new byte[PACKET_BLOCKS * BLOCK_BYTES];
    int[] starts = new int[PACKET_BLOCKS];
    Arrays.setAll(starts, lane -> lane * BLOCK_BYTES);
    return () -> {
      for (int lane = 0; lane < PACKET_BLOCKS; lane++) {
        lanes.set(lane, 1, 2, lane);
      }
      lanes.compute(PACKET_BLOCKS);
      lanes.xor(0, PACKET_BLOCKS, data, starts);
    };
  }
}
