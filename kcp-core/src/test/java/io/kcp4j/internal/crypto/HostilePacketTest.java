package io.kcp4j.internal.crypto;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kcp4j.crypto.CipherAlgorithm;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import java.util.Arrays;
import java.util.Random;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.EnumSource.Mode;

/** Every packet either is refused unchanged, or was sealed with the key. */
class HostilePacketTest {

  private static final int HEADER_CRC_BYTES = 20;

  @ParameterizedTest
  @EnumSource(mode = Mode.EXCLUDE, names = "NULL")
  void randomBytesOfAnyLengthAreRefusedUnchanged(CipherAlgorithm algorithm) {
    PacketCipher cipher = TestPackets.cipher(algorithm);
    Random random = new Random(3);
    PacketBatch batch = new PacketBatch();
    for (int round = 0; round < 100; round++) {
      int packets = random.nextInt(12);
      ByteBuf buffer = Unpooled.directBuffer(packets * 2000 + 1);
      buffer.writeBytes(TestPackets.randomBytes(random, buffer.capacity()));
      byte[] before = ByteBufUtil.getBytes(buffer);
      batch.reset(buffer);
      for (int i = 0, at = 0; i < packets; i++) {
        int length = random.nextInt(random.nextBoolean() ? 60 : 2000);
        batch.add(at, at + length);
        at += length;
      }
      cipher.open(batch);
      for (int i = 0; i < packets; i++) {
        assertTrue(batch.isRefused(i));
      }
      assertArrayEquals(before, ByteBufUtil.getBytes(buffer));
      buffer.release();
    }
  }

  @ParameterizedTest
  @EnumSource(
      mode = Mode.EXCLUDE,
      names = {"NONE", "NULL"}) // the CRC-32 of four such bytes is four such bytes
  void bytesOfOneValueAreRefused(CipherAlgorithm algorithm) {
    PacketCipher cipher = TestPackets.cipher(algorithm);
    for (int length = 0; length < 100; length++) {
      byte[] packet = new byte[length];
      Arrays.fill(packet, (byte) 0xff);
      assertNull(TestPackets.opened(cipher, packet), length + " bytes");
    }
  }

  @ParameterizedTest
  @EnumSource(mode = Mode.EXCLUDE, names = "NULL")
  void truncatedAndExtendedPacketsAreRefused(CipherAlgorithm algorithm) {
    PacketCipher cipher = TestPackets.cipher(algorithm);
    byte[] packet = TestPackets.sealed(cipher, TestPackets.randomBytes(new Random(4), 50));
    for (int length = 0; length < packet.length + 20; length++) {
      byte[] opened = TestPackets.opened(cipher, Arrays.copyOf(packet, length));
      assertEquals(length == packet.length, opened != null, length + " of " + packet.length);
    }
  }

  @ParameterizedTest
  @EnumSource(mode = Mode.EXCLUDE, names = "NULL")
  void oversizedPacketsAreRefused(CipherAlgorithm algorithm) {
    PacketCipher cipher = TestPackets.cipher(algorithm);
    assertNull(TestPackets.opened(cipher, new byte[(1 << 16) + 1]));
    assertNull(TestPackets.opened(cipher, new byte[1 << 20]));
  }

  @ParameterizedTest
  @EnumSource(
      mode = Mode.INCLUDE,
      names = {"AES_128_GCM", "AES_192_GCM", "AES_256_GCM", "CHACHA20_POLY1305"})
  void oneFlippedBitNeverOpensUnderAnAead(CipherAlgorithm algorithm) {
    PacketCipher cipher = TestPackets.cipher(algorithm);
    byte[] packet = TestPackets.sealed(cipher, TestPackets.randomBytes(new Random(5), 100));
    for (int bit = 0; bit < 8 * packet.length; bit++) {
      assertNull(TestPackets.opened(cipher, flipped(packet, bit)), "bit " + bit);
    }
    assertNotNull(TestPackets.opened(cipher, packet));
  }

  /** The checksum does not cover the nonce: a flipped bit may open only outside of the payload. */
  @ParameterizedTest
  @EnumSource(
      mode = Mode.EXCLUDE,
      names = {"AES_128_GCM", "AES_192_GCM", "AES_256_GCM", "CHACHA20_POLY1305", "NULL"})
  void oneFlippedBitNeverGivesAnotherPayload(CipherAlgorithm algorithm) {
    PacketCipher cipher = TestPackets.cipher(algorithm);
    byte[] payload = TestPackets.randomBytes(new Random(6), 100);
    byte[] packet = TestPackets.sealed(cipher, payload);
    for (int bit = 0; bit < 8 * packet.length; bit++) {
      byte[] opened = TestPackets.opened(cipher, flipped(packet, bit));
      if (opened != null) {
        assertArrayEquals(payload, opened, "bit " + bit);
        assertTrue(bit < 8 * HEADER_CRC_BYTES, "bit " + bit);
      }
    }
  }

  private static byte[] flipped(byte[] packet, int bit) {
    byte[] flipped = packet.clone();
    flipped[bit / 8] ^= (byte) (1 << (bit % 8));
    return flipped;
  }

  @ParameterizedTest
  @EnumSource(mode = Mode.EXCLUDE, names = "NULL")
  void duplicateOpensAgainWithoutSideEffects(CipherAlgorithm algorithm) {
    PacketCipher cipher = TestPackets.cipher(algorithm);
    byte[] payload = TestPackets.randomBytes(new Random(7), 200);
    byte[] packet = TestPackets.sealed(cipher, payload);
    byte[] altered = flipped(packet, 8 * packet.length - 1);
    for (int i = 0; i < 3; i++) {
      assertArrayEquals(payload, TestPackets.opened(cipher, packet));
      assertNull(TestPackets.opened(cipher, altered));
      assertNull(TestPackets.opened(cipher, altered));
    }
    byte[] next = TestPackets.sealed(cipher, payload);
    assertArrayEquals(payload, TestPackets.opened(cipher, next));
  }

  @ParameterizedTest
  @EnumSource(mode = Mode.EXCLUDE, names = "NULL")
  void validPacketsOpenBetweenInvalidOnes(CipherAlgorithm algorithm) {
    PacketCipher cipher = TestPackets.cipher(algorithm);
    Random random = new Random(8);
    ByteBuf buffer = Unpooled.buffer(100_000).writeZero(100_000);
    PacketBatch batch = new PacketBatch().reset(buffer);
    byte[][] payloads = new byte[40][];
    int at = 0;
    for (int i = 0; i < payloads.length; i++) {
      payloads[i] = TestPackets.randomBytes(random, random.nextInt(1400));
      byte[] packet = TestPackets.sealed(cipher, payloads[i]);
      if (isBad(i)) {
        packet = Arrays.copyOf(flipped(packet, 8 * packet.length - 1), packet.length - i % 4);
      }
      buffer.setBytes(at, packet);
      batch.add(at, at + packet.length);
      at += packet.length;
    }
    batch.add(at, at); // an empty datagram
    cipher.open(batch);
    for (int i = 0; i < payloads.length; i++) {
      assertEquals(isBad(i), batch.isRefused(i), "packet " + i);
      if (!isBad(i)) {
        assertArrayEquals(payloads[i], TestPackets.payload(batch, i));
      }
    }
    assertTrue(batch.isRefused(payloads.length));
  }

  private static boolean isBad(int i) {
    return i % 3 == 0;
  }

  @ParameterizedTest
  @EnumSource(mode = Mode.EXCLUDE, names = "NULL")
  void refusedPacketsAreNotOpened(CipherAlgorithm algorithm) {
    PacketCipher cipher = TestPackets.cipher(algorithm);
    byte[] packet = TestPackets.sealed(cipher, new byte[10]);
    ByteBuf buffer = Unpooled.copiedBuffer(packet);
    PacketBatch batch = new PacketBatch().reset(buffer);
    batch.add(0, packet.length);
    batch.refuse(0);
    cipher.open(batch);
    assertTrue(batch.isRefused(0));
    assertEquals(0, batch.start(0));
    assertArrayEquals(packet, ByteBufUtil.getBytes(buffer));
  }
}
