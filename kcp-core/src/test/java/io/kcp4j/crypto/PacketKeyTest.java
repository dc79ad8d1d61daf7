package io.kcp4j.crypto;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kcp4j.internal.crypto.PacketCipher;
import io.kcp4j.internal.crypto.StreamCipher;
import io.kcp4j.internal.crypto.TestPackets;
import java.security.Provider;
import java.security.Security;
import java.util.Arrays;
import org.bouncycastle.jce.provider.BouncyCastleProvider;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Keys, and custom ciphers. */
public class PacketKeyTest {

  private static final byte[] PAYLOAD = new byte[77];

  @ParameterizedTest
  @EnumSource
  void keyLengthIsThatOfTheAlgorithm(CipherAlgorithm algorithm) {
    int bytes = algorithm.keyBytes();
    assertEquals(algorithm.kcptunName(), PacketKey.of(algorithm, new byte[bytes]).name());
    byte[] longer = new byte[bytes + 1];
    assertThrows(IllegalArgumentException.class, () -> PacketKey.of(algorithm, longer));
    if (bytes > 0) {
      byte[] shorter = new byte[bytes - 1];
      assertThrows(IllegalArgumentException.class, () -> PacketKey.of(algorithm, shorter));
    }
  }

  @ParameterizedTest
  @EnumSource
  void namesAreThoseOfKcptun(CipherAlgorithm algorithm) {
    assertEquals(algorithm, CipherAlgorithm.of(algorithm.kcptunName()));
  }

  @Test
  void unknownNameIsRejected() {
    Exception refusal =
        assertThrows(IllegalArgumentException.class, () -> CipherAlgorithm.of("rot13"));
    assertTrue(
        refusal.getMessage().startsWith("cipher: rot13 (expected: one of aes, aes-192, "),
        refusal.getMessage());
    assertThrows(IllegalArgumentException.class, () -> CipherAlgorithm.of("AES"));
  }

  @Test
  void rawKeyIsCopied() {
    byte[] bytes = new byte[16];
    PacketKey key = PacketKey.of(CipherAlgorithm.AES_128_GCM, bytes);
    byte[] sealed = TestPackets.sealed(KeyRing.of(key).newCipher(), PAYLOAD);
    Arrays.fill(bytes, (byte) 9);
    assertArrayEquals(PAYLOAD, TestPackets.opened(KeyRing.of(key).newCipher(), sealed));
  }

  @Test
  void toStringDoesNotShowTheKey() {
    byte[] bytes = new byte[16];
    Arrays.fill(bytes, (byte) 0x41);
    PacketKey key = PacketKey.of(CipherAlgorithm.AES_128_GCM, bytes);
    assertEquals("PacketKey[aes-128-gcm, seals=0]", key.toString());
    assertEquals("KeyRing[PacketKey[aes-128-gcm, seals=0]]", KeyRing.of(key).toString());
  }

  @Test
  void equalityIsIdentity() {
    PacketKey key = PacketKey.of(CipherAlgorithm.AES_128_GCM, new byte[16]);
    assertNotEquals(key, PacketKey.of(CipherAlgorithm.AES_128_GCM, new byte[16]));
  }

  @ParameterizedTest
  @EnumSource(
      mode = EnumSource.Mode.EXCLUDE,
      names = {"NONE", "NULL"})
  void destroyedKeyMakesNoMoreCiphersAndExistingOnesContinue(CipherAlgorithm algorithm) {
    PacketKey key = TestPackets.key(algorithm, 1);
    PacketKey twin = key.withProvider(new BouncyCastleProvider());
    PacketCipher cipher = KeyRing.of(key).newCipher();
    byte[] sealed = TestPackets.sealed(cipher, PAYLOAD);
    assertFalse(key.isDestroyed());
    key.destroy();
    key.destroy();
    assertTrue(key.isDestroyed());
    assertTrue(twin.isDestroyed());
    assertThrows(IllegalStateException.class, () -> KeyRing.of(key).newCipher());
    assertThrows(IllegalStateException.class, () -> KeyRing.of(twin).newCipher());
    Provider provider = new BouncyCastleProvider();
    assertThrows(IllegalStateException.class, () -> key.withProvider(provider));
    assertArrayEquals(PAYLOAD, TestPackets.opened(cipher, sealed));
    assertArrayEquals(PAYLOAD, TestPackets.opened(cipher, TestPackets.sealed(cipher, PAYLOAD)));
    assertNull(TestPackets.opened(cipher, new byte[sealed.length]));
    assertArrayEquals(
        PAYLOAD, TestPackets.opened(KeyRing.of(TestPackets.key(algorithm, 1)).newCipher(), sealed));
  }

  @Test
  void customCipherOfADestroyedKeyIsNotMade() {
    PacketKey key = PacketKey.ofAead("sum", SumAead::new);
    key.destroy();
    assertTrue(key.isDestroyed());
    assertThrows(IllegalStateException.class, () -> KeyRing.of(key).newCipher());
  }

  @Test
  void customCipherHasNoBytesToDeriveASecretFrom() {
    assertNull(PacketKey.ofAead("sum", SumAead::new).derive("a", 16));
    assertNull(PacketKey.ofBlockCipher("even", () -> new OddBlockCipher(16)).derive("a", 16));
  }

  @Test
  void keyWithoutBytesIsNotDestroyed() {
    KeyRing.NONE.keys().forEach(PacketKey::destroy);
    assertFalse(KeyRing.NONE.keys().get(0).isDestroyed());
    assertTrue(KeyRing.NONE.newCipher().isUnencrypted());
  }

  @Test
  void emptyPassphraseAndSaltAreAccepted() {
    PacketKey key = PacketKey.ofPassphrase(CipherAlgorithm.AES, "", new byte[0], 1);
    byte[] sealed = TestPackets.sealed(KeyRing.of(key).newCipher(), PAYLOAD);
    assertArrayEquals(PAYLOAD, TestPackets.opened(KeyRing.of(key).newCipher(), sealed));
    assertThrows(
        IllegalArgumentException.class,
        () -> PacketKey.ofPassphrase(CipherAlgorithm.AES, "", new byte[0], 0));
  }

  @ParameterizedTest
  @EnumSource
  void anotherProviderInteroperates(CipherAlgorithm algorithm) {
    PacketKey key = TestPackets.key(algorithm, 1);
    PacketKey other = key.withProvider(new BouncyCastleProvider());
    for (int length : new int[] {0, 1, 100, 1400}) {
      byte[] payload = new byte[length];
      byte[] sealed = TestPackets.sealed(KeyRing.of(key).newCipher(), payload);
      assertArrayEquals(payload, TestPackets.opened(KeyRing.of(other).newCipher(), sealed));
      sealed = TestPackets.sealed(KeyRing.of(other).newCipher(), payload);
      assertArrayEquals(payload, TestPackets.opened(KeyRing.of(key).newCipher(), sealed));
    }
    int seals = algorithm == CipherAlgorithm.NULL ? 0 : 8;
    assertEquals(seals, key.seals());
    assertEquals(seals, other.seals());
  }

  @Test
  void providerWithoutTheAlgorithmIsRejected() {
    Provider provider = Security.getProvider("SUN");
    PacketKey gcm = TestPackets.key(CipherAlgorithm.AES_128_GCM, 1);
    assertThrows(IllegalArgumentException.class, () -> gcm.withProvider(provider));
    PacketKey aes = TestPackets.key(CipherAlgorithm.AES, 1);
    assertThrows(IllegalArgumentException.class, () -> aes.withProvider(provider));
  }

  @Test
  void customAeadSealsAndOpens() {
    PacketKey key = PacketKey.ofAead("sum", SumAead::new);
    KeyRing ring = KeyRing.of(key);
    assertTrue(ring.isAuthenticated());
    assertEquals(8, ring.headroom());
    assertEquals(1, ring.tailroom());
    byte[] sealed = TestPackets.sealed(ring.newCipher(), PAYLOAD);
    assertArrayEquals(PAYLOAD, TestPackets.opened(ring.newCipher(), sealed));
    sealed[20]++;
    assertNull(TestPackets.opened(ring.newCipher(), sealed));
    assertEquals("sum", key.name());
  }

  @Test
  void customBlockCipherSealsAndOpensInCfbMode() {
    byte[] bytes = new byte[16];
    PacketKey key = PacketKey.ofBlockCipher("my tea", () -> new StreamCipher.Tea(bytes));
    assertFalse(key.isAuthenticated());
    byte[] sealed = TestPackets.sealed(KeyRing.of(key).newCipher(), PAYLOAD);
    PacketKey tea = PacketKey.of(CipherAlgorithm.TEA, bytes);
    assertArrayEquals(PAYLOAD, TestPackets.opened(KeyRing.of(tea).newCipher(), sealed));
  }

  @Test
  void customCipherWithInvalidSizesIsRejected() {
    assertThrows(
        IllegalArgumentException.class,
        () -> PacketKey.ofBlockCipher("odd", () -> new OddBlockCipher(12)));
    assertEquals(20, PacketKey.ofBlockCipher("even", () -> new OddBlockCipher(16)).headroom());
  }

  /** A tag of one byte: the sum of nonce and payload. */
  private static final class SumAead implements Aead {

    @Override
    public int nonceBytes() {
      return 8;
    }

    @Override
    public int tagBytes() {
      return 1;
    }

    @Override
    public void seal(byte[] nonce, byte[] in, int inIndex, int length, byte[] out, int outIndex) {
      System.arraycopy(in, inIndex, out, outIndex, length);
      out[outIndex + length] = sum(nonce, in, inIndex, length);
    }

    @Override
    public boolean open(
        byte[] nonce, byte[] in, int inIndex, int length, byte[] out, int outIndex) {
      System.arraycopy(in, inIndex, out, outIndex, length - 1);
      return in[inIndex + length - 1] == sum(nonce, in, inIndex, length - 1);
    }

    private static byte sum(byte[] nonce, byte[] in, int index, int length) {
      int sum = 0;
      for (byte b : nonce) {
        sum += b;
      }
      for (int i = index; i < index + length; i++) {
        sum += in[i];
      }
      return (byte) sum;
    }
  }

  /** Encrypts nothing. */
  private record OddBlockCipher(int blockBytes) implements BlockCipher {

    @Override
    public void encrypt(byte[] in, int inIndex, byte[] out, int outIndex) {
      System.arraycopy(in, inIndex, out, outIndex, blockBytes);
    }
  }
}
