package io.kcp4j.internal.crypto;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kcp4j.crypto.CipherAlgorithm;
import io.kcp4j.crypto.KeyRing;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.PooledByteBufAllocator;
import io.netty.buffer.Unpooled;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.function.IntFunction;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** The contract of every cipher: each sealed packet opens again, with the same payload. */
class PacketCipherTest {

  private static final int MAX_PACKET_BYTES = 1 << 16;

  @ParameterizedTest
  @EnumSource
  void payloadsOfAllLengthsOpenAgain(CipherAlgorithm algorithm) {
    PacketCipher cipher = TestPackets.cipher(algorithm);
    Random random = new Random(1);
    for (int length = 0; length <= 150; length++) {
      assertOpensAgain(cipher, TestPackets.randomBytes(random, length));
    }
    for (int length : new int[] {1379, 1380, 1381, 1479, 1480, 1481, 1500, 1501, 3000, 65_000}) {
      assertOpensAgain(cipher, TestPackets.randomBytes(random, length));
    }
    int largest = MAX_PACKET_BYTES - cipher.headroom() - cipher.tailroom();
    assertOpensAgain(cipher, TestPackets.randomBytes(random, largest));
  }

  private static void assertOpensAgain(PacketCipher cipher, byte[] payload) {
    byte[] packet = TestPackets.sealed(cipher, payload);
    assertArrayEquals(
        payload, TestPackets.opened(cipher, packet), () -> payload.length + " bytes of payload");
  }

  @ParameterizedTest
  @EnumSource
  void batchesOfAllSizesAndLengthsOpenAgainInEveryKindOfBuffer(CipherAlgorithm algorithm) {
    List<IntFunction<ByteBuf>> kinds =
        List.of(
            Unpooled::buffer,
            Unpooled::directBuffer,
            PooledByteBufAllocator.DEFAULT::directBuffer,
            bytes -> PooledByteBufAllocator.DEFAULT.directBuffer(bytes + 7).slice(7, bytes),
            bytes -> PooledByteBufAllocator.DEFAULT.heapBuffer(bytes + 7).slice(7, bytes),
            bytes ->
                Unpooled.wrappedBuffer(
                    Unpooled.directBuffer(bytes / 2).writeZero(bytes / 2),
                    Unpooled.buffer(bytes).writeZero(bytes)));
    PacketCipher cipher = TestPackets.cipher(algorithm);
    Random random = new Random(2);
    PacketBatch batch = new PacketBatch();
    for (int packets : new int[] {0, 1, 2, 7, 8, 9, 31, 32, 33, 70}) {
      for (IntFunction<ByteBuf> kind : kinds) {
        assertBatchOpensAgain(cipher, batch, kind, payloads(random, packets));
      }
    }
  }

  /** Mostly of one length, as the packets in a batch of a session. */
  private static List<byte[]> payloads(Random random, int packets) {
    List<byte[]> payloads = new ArrayList<>();
    int usual = random.nextInt(1400);
    for (int i = 0; i < packets; i++) {
      int length = random.nextBoolean() ? usual : random.nextInt(1481);
      payloads.add(TestPackets.randomBytes(random, length));
    }
    return payloads;
  }

  private static void assertBatchOpensAgain(
      PacketCipher cipher, PacketBatch batch, IntFunction<ByteBuf> kind, List<byte[]> payloads) {
    int gapBytes = 3; // packets begin anywhere
    ByteBuf buffer = kind.apply((payloads.size() + 1) * (1520 + gapBytes));
    try {
      Arrays.asList(0, buffer.capacity() - 1).forEach(i -> buffer.setByte(i, 0x5a));
      batch.reset(buffer);
      int at = 1;
      for (byte[] payload : payloads) {
        at = TestPackets.add(batch, cipher, at, payload) + gapBytes;
      }
      cipher.seal(batch);
      cipher.open(batch);
      assertEquals(payloads.size(), batch.size());
      for (int i = 0; i < payloads.size(); i++) {
        assertFalse(batch.isRefused(i), "packet " + i + " of " + payloads.size());
        assertArrayEquals(payloads.get(i), TestPackets.payload(batch, i), "packet " + i);
      }
      assertEquals(0x5a, buffer.getByte(0));
      assertEquals(0x5a, buffer.getByte(buffer.capacity() - 1));
    } finally {
      buffer.release();
    }
  }

  @ParameterizedTest
  @EnumSource
  void sealingChangesNothingOutsideOfThePackets(CipherAlgorithm algorithm) {
    PacketCipher cipher = TestPackets.cipher(algorithm);
    ByteBuf buffer = Unpooled.directBuffer(10_000).writeZero(10_000);
    PacketBatch batch = new PacketBatch().reset(buffer);
    int at = 5;
    for (int i = 0; i < 12; i++) {
      at = TestPackets.add(batch, cipher, at, new byte[30 + i]) + 5;
    }
    cipher.seal(batch);
    cipher.open(batch);
    for (int i = 0, free = 0; i < batch.size(); i++) {
      for (; free < batch.start(i) - cipher.headroom(); free++) {
        assertEquals(0, buffer.getByte(free), "byte " + free);
      }
      free = batch.end(i) + cipher.tailroom();
    }
    buffer.release();
  }

  @ParameterizedTest
  @EnumSource(
      mode = EnumSource.Mode.EXCLUDE,
      names = {"XOR", "NONE", "NULL"})
  void equalPayloadsDifferOnTheWire(CipherAlgorithm algorithm) {
    PacketCipher cipher = TestPackets.cipher(algorithm);
    byte[] first = TestPackets.sealed(cipher, new byte[100]);
    byte[] second = TestPackets.sealed(cipher, new byte[100]);
    int equal = 0;
    for (int i = 0; i < first.length; i++) {
      equal += first[i] == second[i] ? 1 : 0;
    }
    assertTrue(equal < 10, equal + " bytes are equal");
  }

  @ParameterizedTest
  @EnumSource
  void headroomAndTailroomAreThoseOfTheAlgorithm(CipherAlgorithm algorithm) {
    PacketCipher cipher = TestPackets.cipher(algorithm);
    assertEquals(algorithm.headroom(), cipher.headroom());
    assertEquals(algorithm.tailroom(), cipher.tailroom());
  }

  @Test
  void invalidPacketRangeThrowsAndNothingIsSealed() {
    PacketCipher cipher = TestPackets.cipher(CipherAlgorithm.AES_128_GCM);
    ByteBuf buffer = Unpooled.buffer(70_000).writeZero(70_000);
    for (int bytes : new int[] {0, 27, MAX_PACKET_BYTES + 1}) {
      PacketBatch batch = new PacketBatch().reset(buffer);
      batch.add(0, 100);
      batch.add(100, 100 + bytes);
      assertThrows(IllegalArgumentException.class, () -> cipher.seal(batch), bytes + " bytes");
    }
    assertEquals(0, buffer.getByte(50));
    PacketBatch smallest = new PacketBatch().reset(buffer);
    smallest.add(0, 28);
    cipher.seal(smallest);
    cipher.open(smallest);
    assertFalse(smallest.isRefused(0));
    assertEquals(smallest.start(0), smallest.end(0));
  }

  @Test
  void noCryptoLayerLeavesPacketsAsTheyAre() {
    PacketCipher cipher = KeyRing.NONE.newCipher();
    assertEquals(0, cipher.headroom());
    assertEquals(0, cipher.tailroom());
    byte[] payload = {1, 2, 3};
    assertArrayEquals(payload, TestPackets.sealed(cipher, payload));
    assertArrayEquals(payload, TestPackets.opened(cipher, payload));
    assertArrayEquals(new byte[0], TestPackets.opened(cipher, new byte[0]));
  }
}
