package io.kcp4j.internal.crypto;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import io.kcp4j.crypto.CipherAlgorithm;
import java.util.Arrays;
import java.util.Random;
import org.bouncycastle.crypto.engines.Salsa20Engine;
import org.bouncycastle.crypto.params.KeyParameter;
import org.bouncycastle.crypto.params.ParametersWithIV;
import org.junit.jupiter.api.Test;

/** The kernel in use: the portable one, or that of an optional artifact. */
class Salsa20KernelTest {

  private static final int NONCE_BYTES = 8;
  private static final int BLOCK_BYTES = 64;

  @Test
  void packetsOfAllLengthsAgreeWithBouncyCastle() {
    Random random = new Random(1);
    byte[] key = bytes(random, CipherAlgorithm.SALSA20.keyBytes());
    Salsa20 salsa20 = new Salsa20(key);
    for (int length = NONCE_BYTES; length < 4_000; length += 1 + random.nextInt(40)) {
      PacketGroup group = new PacketGroup();
      byte[][] packets = new byte[1 + random.nextInt(PacketGroup.MAX_PACKETS)][];
      for (int i = 0; i < packets.length; i++) {
        packets[i] = bytes(random, i == 0 ? length : NONCE_BYTES + random.nextInt(1_500));
        int at = group.start(group.add(packets[i].length));
        System.arraycopy(packets[i], 0, group.data(), at, packets[i].length);
      }
      salsa20.encrypt(group);
      for (int i = 0; i < packets.length; i++) {
        int at = group.start(i);
        assertArrayEquals(
            bouncyCastles(key, packets[i]),
            Arrays.copyOfRange(group.data(), at, at + packets[i].length),
            "packet " + i + " of " + packets.length);
      }
    }
  }

  private static byte[] bytes(Random random, int count) {
    byte[] bytes = new byte[count];
    random.nextBytes(bytes);
    return bytes;
  }

  private static byte[] bouncyCastles(byte[] key, byte[] packet) {
    byte[] nonce = Arrays.copyOf(packet, NONCE_BYTES);
    Salsa20Engine engine = new Salsa20Engine();
    engine.init(true, new ParametersWithIV(new KeyParameter(key), nonce));
    byte[] encrypted = packet.clone();
    engine.processBytes(packet, NONCE_BYTES, packet.length - NONCE_BYTES, encrypted, NONCE_BYTES);
    return encrypted;
  }

  @Test
  void blocksAreThoseOfThePortableKernelForAnyNumberOfThem() {
    byte[] key = bytes(new Random(2), CipherAlgorithm.SALSA20.keyBytes());
    for (int count : new int[] {Salsa20Kernel.FEW, Salsa20Kernel.MANY}) {
      Salsa20Kernel.Lanes lanes = Salsa20Kernel.preferred().prepare(key, count);
      Salsa20Kernel.Lanes expected = Salsa20Kernel.portable().prepare(key, count);
      assertEquals(count, lanes.count());
      for (int used = 1; used <= count; used++) {
        assertArrayEquals(xored(expected, used), xored(lanes, used), used + " of " + count);
      }
    }
  }

  /** Random data XORed with the first {@code used} lanes, in reverse order. */
  private static byte[] xored(Salsa20Kernel.Lanes lanes, int used) {
    byte[] data = bytes(new Random(used), (used + 2) * BLOCK_BYTES);
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
}
