package io.kcp4j.crypto;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kcp4j.internal.crypto.PacketBatch;
import io.kcp4j.internal.crypto.PacketCipher;
import io.kcp4j.internal.crypto.TestPackets;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.util.Arrays;
import java.util.List;
import org.bouncycastle.jce.provider.BouncyCastleProvider;
import org.junit.jupiter.api.Test;

/** Rings of several keys. */
public class KeyRingTest {

  private static final byte[] PAYLOAD = {1, 2, 3, 4, 5};

  private final PacketKey gcm = TestPackets.key(CipherAlgorithm.AES_128_GCM, 1);
  private final PacketKey chacha = TestPackets.key(CipherAlgorithm.CHACHA20_POLY1305, 2);
  private final PacketKey aes = TestPackets.key(CipherAlgorithm.AES, 3);
  private final PacketKey salsa20 = TestPackets.key(CipherAlgorithm.SALSA20, 4);

  @Test
  void newestKeySealsAndEveryKeyOpens() {
    PacketCipher all = KeyRing.of(gcm, chacha, aes, salsa20).newCipher();
    for (PacketKey key : List.of(gcm, chacha, aes, salsa20)) {
      PacketCipher one = KeyRing.of(key).newCipher();
      assertArrayEquals(PAYLOAD, TestPackets.opened(all, TestPackets.sealed(one, PAYLOAD)));
    }
    byte[] sealed = TestPackets.sealed(all, PAYLOAD);
    assertArrayEquals(PAYLOAD, TestPackets.opened(KeyRing.of(gcm).newCipher(), sealed));
    assertNull(TestPackets.opened(KeyRing.of(chacha, aes, salsa20).newCipher(), sealed));
  }

  @Test
  void batchOfPacketsOfAllKeysOpens() {
    List<PacketKey> keys = List.of(salsa20, gcm, aes, chacha);
    PacketCipher all = KeyRing.of(gcm, chacha, aes, salsa20).newCipher();
    ByteBuf buffer = Unpooled.buffer(10_000).writeZero(10_000);
    PacketBatch batch = new PacketBatch().reset(buffer);
    for (int i = 0, at = 0; i < 100; i++) {
      PacketCipher one = KeyRing.of(keys.get(i % keys.size())).newCipher();
      byte[] packet = TestPackets.sealed(one, new byte[] {(byte) i});
      buffer.setBytes(at, packet);
      batch.add(at, at + packet.length);
      at += packet.length;
    }
    all.open(batch);
    for (int i = 0; i < batch.size(); i++) {
      assertFalse(batch.isRefused(i), "packet " + i);
      assertArrayEquals(new byte[] {(byte) i}, TestPackets.payload(batch, i));
    }
  }

  @Test
  void otherKeyOfTheSameAlgorithmDoesNotOpen() {
    for (CipherAlgorithm algorithm : CipherAlgorithm.values()) {
      PacketCipher mine = KeyRing.of(TestPackets.key(algorithm, 1)).newCipher();
      PacketCipher other = KeyRing.of(TestPackets.key(algorithm, 2)).newCipher();
      byte[] opened = TestPackets.opened(other, TestPackets.sealed(mine, PAYLOAD));
      assertEquals(algorithm.keyBytes() == 0, opened != null, algorithm.kcptunName());
    }
  }

  @Test
  void headroomAndTailroomAreThoseOfTheNewestKey() {
    KeyRing ring = KeyRing.of(aes, gcm);
    assertEquals(20, ring.headroom());
    assertEquals(0, ring.tailroom());
    assertEquals(List.of(aes, gcm), ring.keys());
  }

  @Test
  void ringIsAuthenticatedIfEveryKeyIs() {
    assertTrue(KeyRing.of(gcm, chacha).isAuthenticated());
    assertFalse(KeyRing.of(gcm, aes).isAuthenticated());
    assertFalse(KeyRing.NONE.isAuthenticated());
  }

  @Test
  void ringHasAtMostEightKeys() {
    PacketKey[] older = new PacketKey[KeyRing.MAX_KEYS - 1];
    Arrays.fill(older, aes);
    assertEquals(KeyRing.MAX_KEYS, KeyRing.of(gcm, older).keys().size());
    PacketKey[] tooMany = new PacketKey[KeyRing.MAX_KEYS];
    Arrays.fill(tooMany, aes);
    assertThrows(IllegalArgumentException.class, () -> KeyRing.of(gcm, tooMany));
  }

  @Test
  void nullIsOnlyAllowedAsTheSingleKey() {
    PacketKey none = TestPackets.key(CipherAlgorithm.NULL, 0);
    assertEquals(0, KeyRing.of(none).headroom());
    assertThrows(IllegalArgumentException.class, () -> KeyRing.of(gcm, none));
    assertThrows(IllegalArgumentException.class, () -> KeyRing.of(none, gcm));
  }

  @Test
  void onlyNullIsUnencrypted() {
    for (CipherAlgorithm algorithm : CipherAlgorithm.values()) {
      PacketKey key = TestPackets.key(algorithm, 1);
      assertEquals(
          algorithm == CipherAlgorithm.NULL,
          KeyRing.of(key).newCipher().isUnencrypted(),
          algorithm.kcptunName());
    }
  }

  @Test
  void nullSealsNothing() {
    TestPackets.sealed(KeyRing.NONE.newCipher(), PAYLOAD);
    assertEquals(0, KeyRing.NONE.keys().get(0).seals());
  }

  @Test
  void cipherThatThrowsOnSealKeepsNoBufferAndCountsItsNonces() {
    PacketKey key = PacketKey.ofAead("throws", ThrowingAead::new);
    PacketCipher cipher = KeyRing.of(key).newCipher();
    ByteBuf buffer = Unpooled.directBuffer(300).writeZero(300);
    PacketBatch batch = new PacketBatch().reset(buffer);
    for (int i = 0; i < 3; i++) {
      batch.add(i * 100, i * 100 + 100);
    }
    assertThrows(IllegalStateException.class, () -> cipher.seal(batch));
    assertNull(batch.direct(), "the view is kept");
    assertThrows(IllegalStateException.class, () -> cipher.open(batch));
    assertNull(batch.direct(), "the view is kept");
    assertEquals(3, key.seals());
    buffer.release();
  }

  /** Fails at the second packet. */
  private static final class ThrowingAead implements Aead {

    private int calls;

    @Override
    public int nonceBytes() {
      return 12;
    }

    @Override
    public int tagBytes() {
      return 16;
    }

    @Override
    public void seal(byte[] nonce, byte[] in, int inIndex, int length, byte[] out, int outIndex) {
      if (++calls > 1) {
        throw new IllegalStateException("broken");
      }
    }

    @Override
    public boolean open(
        byte[] nonce, byte[] in, int inIndex, int length, byte[] out, int outIndex) {
      throw new IllegalStateException("broken");
    }
  }

  @Test
  void packetsOpenedAreCountedForTheKeyThatTheyWereSealedWith() {
    KeyRing ring = KeyRing.of(gcm, aes, salsa20);
    PacketCipher cipher = ring.newCipher();
    byte[] packet = TestPackets.sealed(KeyRing.of(aes).newCipher(), PAYLOAD);
    for (int i = 0; i < 700; i++) {
      TestPackets.opened(cipher, packet);
    }
    TestPackets.opened(cipher, new byte[packet.length]);
    assertEquals(512, aes.opens());
    TestPackets.sealed(cipher, PAYLOAD);
    assertEquals(700, aes.opens());
    assertEquals(701, aes.uses());
    assertEquals(0, gcm.opens());
    assertEquals(1, gcm.uses());
    assertEquals(0, salsa20.uses());
  }

  @Test
  void eachKeyBeyondItsUsageLimitWarnsOnce() {
    PacketKey twin = gcm.withProvider(new BouncyCastleProvider());
    for (PacketKey key : List.of(gcm, aes)) {
      key.addSeals(1 << 30);
      key.addOpens((1 << 30) - 1);
      assertFalse(key.claimUsageWarning());
      key.addOpens(1);
    }
    int warnings = 0;
    for (int i = 0; i < 3; i++) {
      for (PacketKey key : List.of(gcm, aes, twin, salsa20)) {
        warnings += key.claimUsageWarning() ? 1 : 0;
      }
    }
    assertEquals(2, warnings);
  }

  @Test
  void sealsAreCountedPerKey() {
    KeyRing ring = KeyRing.of(gcm, aes);
    PacketCipher cipher = ring.newCipher();
    TestPackets.opened(cipher, TestPackets.sealed(cipher, PAYLOAD));
    ByteBuf buffer = Unpooled.buffer(1000).writeZero(1000);
    PacketBatch batch = new PacketBatch().reset(buffer);
    for (int i = 0; i < 10; i++) {
      batch.add(i * 100, i * 100 + 100);
    }
    ring.newCipher().seal(batch);
    assertEquals(11, gcm.seals());
    assertEquals(0, aes.seals());
  }
}
