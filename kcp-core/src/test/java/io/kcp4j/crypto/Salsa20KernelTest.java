package io.kcp4j.crypto;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kcp4j.kernel.KernelChoice;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import org.bouncycastle.crypto.engines.Salsa20Engine;
import org.bouncycastle.crypto.params.KeyParameter;
import org.bouncycastle.crypto.params.ParametersWithIV;
import org.junit.jupiter.api.Test;

class Salsa20KernelTest {

  private static final int NONCE_BYTES = 8;

  private final Salsa20Kernel portable = Salsa20Kernel.portable();
  private final KernelChoice<Salsa20Kernel> choice =
      new KernelChoice<>(portable, new Salsa20KernelTrial());

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
  void correctKernelIsAccepted() {
    assertTrue(choice.isCorrect(portable));
    assertSame(portable, choice.named("portable", List.of()));
    assertEquals("portable", portable.name());
  }

  @Test
  void kernelWithoutTheLastLaneIsIncorrect() {
    assertFalse(
        choice.isCorrect(
            new Altered() {
              @Override
              void compute(Lanes lanes, int used) {
                lanes.set(used - 1, 0, 0, 0);
                lanes.compute(used);
              }
            }));
  }

  @Test
  void kernelWithAnotherNumberOfLanesIsIncorrect() {
    assertFalse(
        choice.isCorrect(
            new Altered() {
              @Override
              public Lanes prepare(byte[] key, int count) {
                return super.prepare(key, FEW);
              }
            }));
  }

  @Test
  void failingKernelIsNotUsed() {
    Salsa20Kernel failing =
        new Altered() {
          @Override
          void compute(Lanes lanes, int used) {
            throw new NoClassDefFoundError("of a missing module");
          }
        };
    assertSame(portable, choice.named("altered", List.of(failing)));
    assertSame(portable, choice.fastest(List.of(failing)));
  }

  @Test
  void slowerKernelIsNotSelected() {
    Salsa20Kernel slow =
        new Altered() {
          @Override
          void compute(Lanes lanes, int used) {
            for (int i = 0; i < 5; i++) {
              lanes.compute(used);
            }
          }
        };
    assertTrue(choice.isCorrect(slow));
    assertSame(portable, choice.fastest(List.of(slow)));
    assertSame(slow, choice.named("altered", List.of(slow)));
  }

  /** The portable kernel under another name. */
  private static class Altered implements Salsa20Kernel {

    @Override
    public String name() {
      return "altered";
    }

    @Override
    public Lanes prepare(byte[] key, int count) {
      Lanes lanes = Salsa20Kernel.portable().prepare(key, count);
      return new Lanes() {
        @Override
        public int count() {
          return lanes.count();
        }

        @Override
        public void set(int lane, int nonceLow, int nonceHigh, int block) {
          lanes.set(lane, nonceLow, nonceHigh, block);
        }

        @Override
        public void compute(int used) {
          Altered.this.compute(lanes, used);
        }

        @Override
        public void xor(int from, int to, byte[] data, int[] starts) {
          lanes.xor(from, to, data, starts);
        }
      };
    }

    void compute(Lanes lanes, int used) {
      lanes.compute(used);
    }
  }
}
