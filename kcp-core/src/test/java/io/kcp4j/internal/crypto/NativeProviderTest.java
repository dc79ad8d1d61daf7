package io.kcp4j.internal.crypto;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.abort;

import io.kcp4j.crypto.Aead;
import io.kcp4j.crypto.CipherAlgorithm;
import io.kcp4j.crypto.KeyRing;
import io.kcp4j.crypto.PacketKey;
import io.kcp4j.internal.crypto.CryptoVectors.Sealed;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import java.security.Provider;
import java.util.Arrays;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** The AEADs of JCE providers with native code, where their libraries load. */
class NativeProviderTest {

  private static final CryptoVectors VECTORS = CryptoVectors.INSTANCE;

  /** An algorithm and its provider. */
  enum Computed {
    AES_128_GCM_BY_CONSCRYPT(CipherAlgorithm.AES_128_GCM, Library.CONSCRYPT),
    AES_256_GCM_BY_CONSCRYPT(CipherAlgorithm.AES_256_GCM, Library.CONSCRYPT),
    CHACHA20_POLY1305_BY_CONSCRYPT(CipherAlgorithm.CHACHA20_POLY1305, Library.CONSCRYPT),
    AES_128_GCM_BY_CORRETTO(CipherAlgorithm.AES_128_GCM, Library.CORRETTO),
    AES_192_GCM_BY_CORRETTO(CipherAlgorithm.AES_192_GCM, Library.CORRETTO),
    AES_256_GCM_BY_CORRETTO(CipherAlgorithm.AES_256_GCM, Library.CORRETTO);

    private final CipherAlgorithm algorithm;
    private final Library library;

    Computed(CipherAlgorithm algorithm, Library library) {
      this.algorithm = algorithm;
      this.library = library;
    }

    PacketCipher cipher() {
      PacketKey key = PacketKey.ofPassphrase(algorithm, VECTORS.passphrase());
      return KeyRing.of(key.withProvider(library.provider())).newCipher();
    }
  }

  /** A provider by its class, whose initializer loads a library made for some platforms only. */
  enum Library {
    CONSCRYPT("org.conscrypt.OpenSSLProvider"),
    CORRETTO("com.amazon.corretto.crypto.provider.AmazonCorrettoCryptoProvider");

    private final String className;

    Library(String className) {
      this.className = className;
    }

    Provider provider() {
      try {
        return Class.forName(className).asSubclass(Provider.class).getConstructor().newInstance();
      } catch (ReflectiveOperationException | LinkageError e) {
        return abort(this + " does not load: " + e);
      }
    }
  }

  @ParameterizedTest
  @EnumSource
  void vectorsOpenAndSealAsInTheJvm(Computed computed) {
    Provider provider = computed.library.provider();
    byte[] key = VECTORS.key(computed.algorithm);
    Aead aead = new JceLibrary(provider).aead(computed.algorithm, key);
    PacketCipher cipher = computed.cipher();
    for (Sealed vector : VECTORS.aeads()) {
      if (vector.algorithm() != computed.algorithm) {
        continue;
      }
      byte[] payload = vector.payload();
      byte[] out = Arrays.copyOf(vector.nonce(), vector.sealed().length);
      aead.seal(vector.nonce(), payload, 0, payload.length, out, aead.nonceBytes());
      assertArrayEquals(vector.sealed(), out);
      assertArrayEquals(payload, TestPackets.opened(cipher, vector.sealed()));
    }
  }

  @ParameterizedTest
  @EnumSource
  void batchesOpenAgain(Computed computed) {
    PacketCipher cipher = computed.cipher();
    Random random = new Random(1);
    ByteBuf buffer = Unpooled.directBuffer(40 * 1500);
    PacketBatch batch = new PacketBatch().reset(buffer);
    byte[][] payloads = new byte[40][];
    int at = 0;
    for (int i = 0; i < payloads.length; i++) {
      payloads[i] = TestPackets.randomBytes(random, random.nextInt(1400));
      at = TestPackets.add(batch, cipher, at, payloads[i]);
    }
    cipher.seal(batch);
    cipher.open(batch);
    for (int i = 0; i < payloads.length; i++) {
      assertFalse(batch.isRefused(i), "packet " + i);
      assertArrayEquals(payloads[i], TestPackets.payload(batch, i));
    }
    buffer.release();
  }

  @ParameterizedTest
  @EnumSource
  void alteredAndShortenedPacketsAreRefusedUnchanged(Computed computed) {
    PacketCipher cipher = computed.cipher();
    byte[] good = TestPackets.sealed(cipher, new byte[100]);
    for (int i = 0; i < good.length; i++) {
      byte[] altered = good.clone();
      altered[i] ^= 1;
      assertRefusedUnchanged(cipher, altered);
      assertRefusedUnchanged(cipher, Arrays.copyOf(good, i));
    }
    assertArrayEquals(new byte[100], TestPackets.opened(cipher, good));
  }

  @Test
  void keyLengthThatTheProviderLacksIsRejected() {
    Provider provider = Library.CONSCRYPT.provider();
    PacketKey key = TestPackets.key(CipherAlgorithm.AES_192_GCM, 1);
    assertThrows(IllegalArgumentException.class, () -> key.withProvider(provider));
  }

  private static void assertRefusedUnchanged(PacketCipher cipher, byte[] packet) {
    ByteBuf buffer = Unpooled.copiedBuffer(packet);
    PacketBatch batch = new PacketBatch().reset(buffer);
    batch.add(0, packet.length);
    cipher.open(batch);
    assertTrue(batch.isRefused(0), packet.length + " bytes");
    assertArrayEquals(packet, ByteBufUtil.getBytes(buffer));
  }

  @ParameterizedTest
  @EnumSource
  void duplicatesOpenAsOftenAsTheyArrive(Computed computed) {
    PacketCipher cipher = computed.cipher();
    byte[] packet = TestPackets.sealed(cipher, new byte[10]);
    for (int i = 0; i < 3; i++) {
      assertArrayEquals(new byte[10], TestPackets.opened(cipher, packet));
    }
  }
}
