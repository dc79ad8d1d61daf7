package io.kcp4j.internal.crypto;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.abort;

import io.kcp4j.Allocations;
import io.kcp4j.crypto.Aead;
import io.kcp4j.crypto.BlockCipher;
import io.kcp4j.crypto.CipherAlgorithm;
import io.kcp4j.crypto.KeyRing;
import io.kcp4j.crypto.KeyRingTest;
import io.kcp4j.crypto.PacketKey;
import io.kcp4j.crypto.PacketKeyTest;
import io.kcp4j.crypto.openssl.OpenSslLibrary;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.nio.ByteBuffer;
import java.security.Provider;
import java.security.Security;
import java.util.Arrays;
import java.util.Random;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The tests of the core with the ciphers of OpenSSL, where the system has them. */
class OpenSslTest {

  private static final Provider JVM = Security.getProvider("SunJCE");

  /** Empty, less than a block, whole blocks, and more than OpenSSL processes at a time. */
  private static final int[] LENGTHS = {0, 1, 15, 16, 17, 128, 255, 1400, 4097};

  private static final int[] BLOCKS = {1, 2, 7, 8, 9, 32, 200};

  /** The index of the first byte: arrays are used at any offset. */
  private static final int INDEX = 3;

  private static CipherLibrary library;

  @BeforeAll
  static void systemHasOpenSsl() {
    try {
      library = new OpenSslLibrary();
    } catch (LinkageError e) {
      abort("libcrypto does not load: " + e);
    }
  }

  @Test
  void isInUse() {
    assertEquals("openssl", CipherLibrary.preferred().name());
    assertEquals("found", CipherLibrary.reason());
  }

  @ParameterizedTest
  @ValueSource(ints = {16, 24, 32})
  void blocksAreThoseOfTheJvm(int keyBytes) {
    Random random = new Random(1);
    byte[] key = TestPackets.randomBytes(random, keyBytes);
    BlockCipher cipher = library.aes(key);
    BlockCipher expected = new JceLibrary(JVM).aes(key);
    assertEquals(expected.blockBytes(), cipher.blockBytes());
    for (int blocks : BLOCKS) {
      byte[] in = TestPackets.randomBytes(random, INDEX + blocks * cipher.blockBytes() + 1);
      byte[] out = new byte[in.length];
      byte[] expectedOut = new byte[in.length];
      cipher.encryptBlocks(in, INDEX, out, INDEX, blocks);
      expected.encryptBlocks(in, INDEX, expectedOut, INDEX, blocks);
      assertArrayEquals(expectedOut, out, blocks + " blocks");
      cipher.encrypt(in, INDEX, in, INDEX);
      int end = INDEX + cipher.blockBytes();
      assertArrayEquals(
          Arrays.copyOfRange(out, INDEX, end),
          Arrays.copyOfRange(in, INDEX, end),
          blocks + " blocks");
    }
  }

  @ParameterizedTest
  @EnumSource(names = {"AES_128_GCM", "AES_192_GCM", "AES_256_GCM", "CHACHA20_POLY1305"})
  void packetsAreThoseOfTheJvmAndAlteredOnesDoNotOpen(CipherAlgorithm algorithm) {
    byte[] key = TestPackets.randomBytes(new Random(1), algorithm.keyBytes());
    Aead expected = new JceLibrary(JVM).aead(algorithm, key);
    Aead.Direct aead = (Aead.Direct) library.aead(algorithm, key);
    assertAgree(aead, expected);
    assertAgree(new OffHeap(aead), expected);
  }

  private static void assertAgree(Aead aead, Aead expected) {
    assertEquals(expected.nonceBytes(), aead.nonceBytes());
    assertEquals(expected.tagBytes(), aead.tagBytes());
    Random random = new Random(2);
    for (int length : LENGTHS) {
      byte[] nonce = TestPackets.randomBytes(random, aead.nonceBytes());
      byte[] in = TestPackets.randomBytes(random, INDEX + length);
      byte[] out = new byte[INDEX + length + aead.tagBytes() + 1];
      byte[] expectedOut = new byte[out.length];
      aead.seal(nonce, in, INDEX, length, out, INDEX);
      expected.seal(nonce, in, INDEX, length, expectedOut, INDEX);
      assertArrayEquals(expectedOut, out, length + " bytes");
      assertOpens(aead, nonce, out, in, length);
    }
  }

  /** It opens sealed packets, also repeatedly, and nothing else. */
  private static void assertOpens(Aead aead, byte[] nonce, byte[] sealed, byte[] in, int length) {
    int bytes = length + aead.tagBytes();
    for (int i = 0; i < 2; i++) {
      byte[] opened = new byte[INDEX + bytes];
      assertTrue(aead.open(nonce, sealed, INDEX, bytes, opened, INDEX), length + " bytes");
      assertTrue(
          Arrays.equals(in, INDEX, INDEX + length, opened, INDEX, INDEX + length),
          length + " bytes");
      byte[] altered = sealed.clone();
      altered[INDEX + i * (bytes - 1)] ^= 1;
      assertFalse(aead.open(nonce, altered, INDEX, bytes, opened, INDEX), length + " bytes");
    }
  }

  /** Puts its packets in direct buffers, at an odd index. */
  private record OffHeap(Aead.Direct aead, ByteBuffer packet, ByteBuffer payload) implements Aead {

    OffHeap(Aead.Direct aead) {
      this(aead, ByteBuffer.allocateDirect(8192), ByteBuffer.allocateDirect(8192));
    }

    @Override
    public int nonceBytes() {
      return aead.nonceBytes();
    }

    @Override
    public int tagBytes() {
      return aead.tagBytes();
    }

    @Override
    public void seal(byte[] nonce, byte[] in, int inIndex, int length, byte[] out, int outIndex) {
      put(nonce, in, inIndex, length);
      aead.seal(packet, INDEX, length);
      packet.get(INDEX + nonceBytes(), out, outIndex, length + tagBytes());
    }

    @Override
    public boolean open(
        byte[] nonce, byte[] in, int inIndex, int length, byte[] out, int outIndex) {
      put(nonce, in, inIndex, length);
      boolean isOpen = aead.open(packet, INDEX, nonceBytes() + length, payload, INDEX);
      payload.get(INDEX, out, outIndex, length - tagBytes());
      return isOpen;
    }

    private void put(byte[] nonce, byte[] in, int inIndex, int length) {
      packet.put(INDEX, nonce, 0, nonceBytes());
      packet.put(INDEX + nonceBytes(), in, inIndex, length);
    }
  }

  @ParameterizedTest
  @EnumSource(
      names = {
        "AES",
        "AES_192",
        "AES_128",
        "AES_128_GCM",
        "AES_192_GCM",
        "AES_256_GCM",
        "CHACHA20_POLY1305"
      })
  void batchesOfOneToFortyPacketsInteroperateWithCiphersOfTheJvm(CipherAlgorithm algorithm) {
    PacketKey key = TestPackets.key(algorithm, 1);
    PacketCipher here = KeyRing.of(key).newCipher();
    PacketCipher there = KeyRing.of(key.withProvider(JVM)).newCipher();
    Random random = new Random(1);
    for (int packets = 1; packets <= 40; packets++) {
      byte[][] payloads = new byte[packets][];
      for (int i = 0; i < packets; i++) {
        payloads[i] = TestPackets.randomBytes(random, random.nextInt(1400));
      }
      assertCross(here, there, payloads);
      assertCross(there, here, payloads);
    }
  }

  private static void assertCross(PacketCipher sealing, PacketCipher opening, byte[][] payloads) {
    ByteBuf buffer = Unpooled.directBuffer(payloads.length * 1500);
    PacketBatch batch = new PacketBatch().reset(buffer);
    int at = 0;
    for (byte[] payload : payloads) {
      at = TestPackets.add(batch, sealing, at, payload);
    }
    sealing.seal(batch);
    opening.open(batch);
    for (int i = 0; i < payloads.length; i++) {
      String name = "packet " + i + " of " + payloads.length;
      assertFalse(batch.isRefused(i), name);
      assertArrayEquals(payloads[i], TestPackets.payload(batch, i), name);
    }
    buffer.release();
  }

  @ParameterizedTest
  @EnumSource(names = {"AES", "AES_128_GCM", "CHACHA20_POLY1305"})
  void packetsAllocateNothing(CipherAlgorithm algorithm) {
    PacketCipher cipher = KeyRing.of(TestPackets.key(algorithm, 1)).newCipher();
    ByteBuf buffer = Unpooled.directBuffer(1_500);
    PacketBatch batch = new PacketBatch();
    Allocations.awaitNone(
        () -> {
          batch.reset(buffer).add(0, 1_400);
          cipher.seal(batch);
          cipher.open(batch);
        });
    assertFalse(batch.isRefused(0));
    buffer.release();
  }

  /** An exception would be an allocation. */
  @ParameterizedTest
  @EnumSource(names = {"AES", "AES_128_GCM", "CHACHA20_POLY1305"})
  void refusedPacketsAllocateNothing(CipherAlgorithm algorithm) {
    PacketCipher cipher =
        KeyRing.of(TestPackets.key(algorithm, 1), TestPackets.key(algorithm, 2)).newCipher();
    ByteBuf buffer = Unpooled.directBuffer(1_500).writeZero(1_500);
    PacketBatch batch = new PacketBatch();
    Allocations.awaitNone(
        () -> {
          batch.reset(buffer).add(0, 1_400);
          cipher.open(batch, 12, this);
        });
    assertTrue(batch.isRefused(0));
    buffer.release();
  }

  @Test
  void invalidBoundsNeverReachTheLibrary() {
    byte[] bytes = new byte[100];
    byte[] nonce = new byte[12];
    ByteBuffer direct = ByteBuffer.allocateDirect(100);
    ByteBuffer opened = ByteBuffer.allocateDirect(100);
    Aead.Direct aead = (Aead.Direct) library.aead(CipherAlgorithm.AES_128_GCM, new byte[16]);
    BlockCipher aes = library.aes(new byte[16]);
    assertOutOfBounds(() -> aead.seal(nonce, bytes, 1, 100, new byte[200], 0));
    assertOutOfBounds(() -> aead.seal(nonce, bytes, 0, 100, new byte[115], 0));
    assertOutOfBounds(() -> aead.seal(new byte[11], bytes, 0, 1, new byte[100], 0));
    assertOutOfBounds(() -> aead.open(nonce, bytes, 0, 15, new byte[100], 0));
    assertOutOfBounds(() -> aead.open(nonce, bytes, 0, 100, new byte[83], 0));
    assertOutOfBounds(() -> aead.seal(direct, 1, 72));
    assertOutOfBounds(() -> aead.seal(direct, -1, 1));
    assertOutOfBounds(() -> aead.seal(direct, 0, -1));
    assertOutOfBounds(() -> aead.seal(direct, 0, Integer.MAX_VALUE));
    assertOutOfBounds(() -> aead.open(direct, 0, 27, opened, 0));
    assertOutOfBounds(() -> aead.open(direct, 1, 100, opened, 0));
    assertOutOfBounds(() -> aead.open(direct, 0, 100, opened, 29));
    assertOutOfBounds(() -> aes.encryptBlocks(bytes, 5, new byte[96], 0, 6));
    assertOutOfBounds(() -> aes.encryptBlocks(bytes, 0, new byte[96], 1, 6));
    assertOutOfBounds(() -> aes.encryptBlocks(bytes, 0, new byte[96], 0, -1));
    aead.seal(nonce, bytes, 0, 100, new byte[116], 0);
    aead.seal(direct, 0, 72);
    aead.open(direct.position(99), 0, 100, opened, 28);
    aes.encryptBlocks(bytes, 4, new byte[97], 1, 6);
  }

  private static void assertOutOfBounds(Executable call) {
    assertThrows(IndexOutOfBoundsException.class, call);
  }

  @Test
  void keyOfWrongLengthIsRejected() {
    byte[] key = new byte[17];
    assertThrows(IllegalArgumentException.class, () -> library.aes(key));
    assertThrows(
        IllegalArgumentException.class, () -> library.aead(CipherAlgorithm.AES_128_GCM, key));
    assertThrows(IllegalArgumentException.class, () -> library.aead(CipherAlgorithm.SM4, key));
  }

  @Nested
  class Vectors extends VectorsTest {}

  @Nested
  class Packets extends PacketCipherTest {}

  @Nested
  class HostilePackets extends HostilePacketTest {}

  @Nested
  class Keys extends PacketKeyTest {}

  @Nested
  class Rings extends KeyRingTest {}
}
