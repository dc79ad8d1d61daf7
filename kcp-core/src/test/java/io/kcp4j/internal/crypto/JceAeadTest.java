package io.kcp4j.internal.crypto;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kcp4j.crypto.Aead;
import io.kcp4j.crypto.CipherAlgorithm;
import io.kcp4j.crypto.KeyRing;
import io.kcp4j.crypto.PacketKey;
import java.security.AlgorithmParameters;
import java.security.GeneralSecurityException;
import java.security.InvalidAlgorithmParameterException;
import java.security.Key;
import java.security.Provider;
import java.security.SecureRandom;
import java.security.spec.AlgorithmParameterSpec;
import java.util.Random;
import javax.crypto.BadPaddingException;
import javax.crypto.Cipher;
import javax.crypto.CipherSpi;
import javax.crypto.spec.SecretKeySpec;
import org.bouncycastle.jce.provider.BouncyCastleProvider;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Invalid tags are detected without exceptions of the JCE, and valid tags are always accepted. */
class JceAeadTest {

  private static final int NONCE_BYTES = 12;
  private static final int TAG_BYTES = 16;

  private final Random random = new Random(1);

  @ParameterizedTest
  @ValueSource(ints = {16, 24, 32})
  void tagsOfAllLengthsAreValidUntilABitIsFlipped(int keyBytes) throws GeneralSecurityException {
    assertVerifies(keyBytes);
  }

  @Test
  void anotherProviderGivesTheSameTags() throws GeneralSecurityException {
    byte[] key = TestPackets.randomBytes(random, 16);
    Aead aead = JceAead.aesGcm(key, null);
    JceAead.GcmTagCheck check =
        new JceAead.GcmTagCheck(new SecretKeySpec(key, "AES"), new BouncyCastleProvider());
    for (int length = 0; length < 100; length += 9) {
      assertVerifies(aead, check, length);
    }
  }

  private void assertVerifies(int keyBytes) throws GeneralSecurityException {
    byte[] key = TestPackets.randomBytes(random, keyBytes);
    Aead aead = JceAead.aesGcm(key, null);
    JceAead.GcmTagCheck check = new JceAead.GcmTagCheck(new SecretKeySpec(key, "AES"), null);
    for (int length = 0; length < 300; length += length < 40 ? 1 : 13) {
      assertVerifies(aead, check, length);
    }
    for (int bit = 9; bit < 17; bit++) {
      assertVerifies(aead, check, (1 << bit) - 1);
      assertVerifies(aead, check, 1 << bit);
    }
  }

  private void assertVerifies(Aead aead, JceAead.GcmTagCheck check, int length)
      throws GeneralSecurityException {
    byte[] nonce = TestPackets.randomBytes(random, NONCE_BYTES);
    int index = random.nextInt(5);
    byte[] sealed = new byte[index + length + TAG_BYTES];
    aead.seal(nonce, TestPackets.randomBytes(random, length), 0, length, sealed, index);
    int bytes = length + TAG_BYTES;
    for (int i = 0; i < 2; i++) { // the same nonce in a row, too
      assertTrue(check.isValid(nonce, sealed, index, bytes), length + " bytes");
      int bit = random.nextInt(8 * bytes);
      sealed[index + bit / 8] ^= (byte) (1 << bit % 8);
      assertFalse(check.isValid(nonce, sealed, index, bytes), length + " bytes, bit " + bit);
      sealed[index + bit / 8] ^= (byte) (1 << bit % 8);
    }
    nonce[3]++;
    assertFalse(check.isValid(nonce, sealed, index, bytes), length + " bytes");
    if (length > 0) {
      assertFalse(check.isValid(nonce, sealed, index, bytes - 1), length + " bytes");
    }
  }

  @Test
  void floodOfInvalidPacketsThrowsOneException() {
    ThrowingProvider provider = new ThrowingProvider();
    PacketCipher cipher = cipher(provider);
    for (int i = 0; i < 200; i++) {
      assertNull(TestPackets.opened(cipher, TestPackets.randomBytes(random, 28 + 7 * i)));
    }
    byte[] repeated = TestPackets.randomBytes(random, 1000);
    for (int i = 0; i < 200; i++) {
      assertNull(TestPackets.opened(cipher, repeated));
    }
    assertEquals(1, provider.thrown);
  }

  @Test
  void validPacketsInAFloodOpenWithoutMoreExceptions() {
    ThrowingProvider provider = new ThrowingProvider();
    PacketCipher cipher = cipher(provider);
    byte[] payload = TestPackets.randomBytes(random, 500);
    byte[] honest = TestPackets.sealed(cipher, payload);
    for (int i = 0; i < 100; i++) {
      byte[] wrong = honest.clone();
      wrong[random.nextInt(wrong.length)] ^= 4;
      assertNull(TestPackets.opened(cipher, wrong));
      for (int k = 0; k < 3; k++) {
        assertArrayEquals(payload, TestPackets.opened(cipher, honest));
      }
    }
    assertEquals(1, provider.thrown);
  }

  @Test
  void providerWithoutSupportForTheCheckUsesExceptions() {
    ThrowingProvider provider = new ThrowingProvider();
    PacketCipher cipher = cipher(provider);
    provider.takesAssociatedData = false;
    byte[] honest = TestPackets.sealed(cipher, new byte[50]);
    for (int i = 1; i < 10; i++) {
      assertNull(TestPackets.opened(cipher, TestPackets.randomBytes(random, 100)));
      assertArrayEquals(new byte[50], TestPackets.opened(cipher, honest));
      assertEquals(i, provider.thrown);
    }
  }

  private static PacketCipher cipher(Provider provider) {
    PacketKey key = TestPackets.key(CipherAlgorithm.AES_128_GCM, 1);
    return KeyRing.of(key.withProvider(provider)).newCipher();
  }

  /** AES-GCM of the JVM; counts its exceptions for invalid tags. */
  private static final class ThrowingProvider extends Provider {

    private static final long serialVersionUID = 1;

    private int thrown;
    private boolean takesAssociatedData = true;

    ThrowingProvider() {
      super("Throwing", "1", "");
      putService(
          new Service(this, "Cipher", "AES/GCM/NoPadding", Gcm.class.getName(), null, null) {
            @Override
            public Object newInstance(Object parameter) {
              return new Gcm(ThrowingProvider.this);
            }
          });
    }
  }

  /** The methods of a cipher that {@link JceAead} calls. */
  private static final class Gcm extends CipherSpi {

    private final ThrowingProvider provider;
    private final Cipher cipher = JceLibrary.cipher("AES/GCM/NoPadding", null);

    Gcm(ThrowingProvider provider) {
      this.provider = provider;
    }

    @Override
    protected void engineInit(
        int mode, Key key, AlgorithmParameterSpec parameters, SecureRandom random)
        throws InvalidAlgorithmParameterException {
      try {
        cipher.init(mode, key, parameters);
      } catch (InvalidAlgorithmParameterException e) {
        throw e;
      } catch (GeneralSecurityException e) {
        throw new AssertionError(e);
      }
    }

    @Override
    protected void engineUpdateAAD(byte[] from, int index, int bytes) {
      if (!provider.takesAssociatedData) {
        throw new UnsupportedOperationException();
      }
      cipher.updateAAD(from, index, bytes);
    }

    @Override
    protected int engineDoFinal(byte[] in, int inIndex, int bytes, byte[] out, int outIndex)
        throws BadPaddingException {
      try {
        return cipher.doFinal(in == null ? new byte[0] : in, inIndex, bytes, out, outIndex);
      } catch (BadPaddingException e) {
        provider.thrown++;
        throw e;
      } catch (GeneralSecurityException e) {
        throw new AssertionError(e);
      }
    }

    @Override
    protected void engineSetMode(String mode) {}

    @Override
    protected void engineSetPadding(String padding) {}

    @Override
    protected int engineGetBlockSize() {
      return 16;
    }

    @Override
    protected int engineGetOutputSize(int bytes) {
      return bytes + TAG_BYTES;
    }

    @Override
    protected byte[] engineGetIV() {
      throw new UnsupportedOperationException();
    }

    @Override
    protected AlgorithmParameters engineGetParameters() {
      throw new UnsupportedOperationException();
    }

    @Override
    protected void engineInit(int mode, Key key, SecureRandom random) {
      throw new UnsupportedOperationException();
    }

    @Override
    protected void engineInit(
        int mode, Key key, AlgorithmParameters parameters, SecureRandom random) {
      throw new UnsupportedOperationException();
    }

    @Override
    protected byte[] engineUpdate(byte[] in, int index, int bytes) {
      throw new UnsupportedOperationException();
    }

    @Override
    protected int engineUpdate(byte[] in, int inIndex, int bytes, byte[] out, int outIndex) {
      throw new UnsupportedOperationException();
    }

    @Override
    protected byte[] engineDoFinal(byte[] in, int index, int bytes) {
      throw new UnsupportedOperationException();
    }
  }
}
