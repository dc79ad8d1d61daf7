package io.kcp4j.crypto;

import java.security.GeneralSecurityException;
import java.security.Provider;
import java.security.spec.AlgorithmParameterSpec;
import java.util.Arrays;
import java.util.function.Function;
import javax.crypto.Cipher;
import javax.crypto.SecretKey;
import javax.crypto.spec.GCMParameterSpec;
import javax.crypto.spec.IvParameterSpec;
import javax.crypto.spec.SecretKeySpec;

/**
 * AES-GCM and ChaCha20-Poly1305 of a JCE provider. The JCE throws an exception for a wrong tag.
 * With GCM it does so once: a {@link GcmTagCheck} verifies the next packets first, as many as
 * amortise the exception, and continues while wrong ones are among them. ChaCha20-Poly1305 has no
 * such check: it would have to decrypt and encrypt each packet, which at 1400 bytes costs more than
 * the exception.
 */
final class JceAead implements Aead {

  private static final int NONCE_BYTES = 12;
  private static final int TAG_BYTES = 16;

  /** How many packets after a wrong one are checked: as many as cost one exception. */
  private static final int CHECKED_PACKETS = 4;

  private final SecretKey key;
  private final Function<byte[], AlgorithmParameterSpec> parameters;
  private final Cipher sealing;
  private final Cipher opening;
  private final byte[] lastOpened = new byte[NONCE_BYTES];
  private final Provider provider;

  /** Whether {@link #check} is available; it is created on first use. */
  private boolean isCheckable;

  private GcmTagCheck check;
  private int packetsToCheck;

  private JceAead(
      String transformation,
      SecretKey key,
      Function<byte[], AlgorithmParameterSpec> parameters,
      boolean isCheckable,
      Provider provider) {
    this.key = key;
    this.isCheckable = isCheckable;
    this.provider = provider;
    this.parameters = parameters;
    sealing = Jce.cipher(transformation, provider);
    opening = Jce.cipher(transformation, provider);
    try {
      opening.init(Cipher.DECRYPT_MODE, key, parameters.apply(lastOpened));
    } catch (GeneralSecurityException e) { // not every provider has keys of 24 bytes
      throw new IllegalArgumentException(
          "provider: " + provider + " (expected: one of " + transformation + " with this key)", e);
    }
  }

  static JceAead aesGcm(byte[] key, Provider provider) {
    return new JceAead(
        "AES/GCM/NoPadding",
        new SecretKeySpec(key, "AES"),
        nonce -> new GCMParameterSpec(8 * TAG_BYTES, nonce),
        true,
        provider);
  }

  static JceAead chacha20Poly1305(byte[] key, Provider provider) {
    return new JceAead(
        "ChaCha20-Poly1305",
        new SecretKeySpec(key, "ChaCha20"),
        IvParameterSpec::new,
        false,
        provider);
  }

  @Override
  public int nonceBytes() {
    return NONCE_BYTES;
  }

  @Override
  public int tagBytes() {
    return TAG_BYTES;
  }

  @Override
  public void seal(byte[] nonce, byte[] in, int inIndex, int length, byte[] out, int outIndex) {
    try {
      sealing.init(Cipher.ENCRYPT_MODE, key, parameters.apply(nonce));
      sealing.doFinal(in, inIndex, length, out, outIndex);
    } catch (GeneralSecurityException e) {
      throw new IllegalStateException("sealing failed", e);
    }
  }

  @Override
  public boolean open(byte[] nonce, byte[] in, int inIndex, int length, byte[] out, int outIndex) {
    if (packetsToCheck > 0) {
      packetsToCheck--;
      if (hasWrongTag(nonce, in, inIndex, length)) {
        packetsToCheck = CHECKED_PACKETS;
        return false;
      }
    }
    try {
      if (Arrays.equals(nonce, lastOpened)) {
        resetNonce(nonce);
      }
      System.arraycopy(nonce, 0, lastOpened, 0, NONCE_BYTES);
      opening.init(Cipher.DECRYPT_MODE, key, parameters.apply(nonce));
      opening.doFinal(in, inIndex, length, out, outIndex);
      return true;
    } catch (GeneralSecurityException e) {
      packetsToCheck = isCheckable ? CHECKED_PACKETS : 0;
      return false; // the tag is wrong
    }
  }

  private boolean hasWrongTag(byte[] nonce, byte[] in, int inIndex, int length) {
    try {
      if (check == null) {
        check = new GcmTagCheck(key, NONCE_BYTES, provider);
      }
      return !check.isValid(nonce, in, inIndex, length);
    } catch (GeneralSecurityException | RuntimeException e) { // The provider does not support it.
      isCheckable = false;
      packetsToCheck = 0;
      return false;
    }
  }

  /**
   * ChaCha20 of JDK 17 rejects the previous nonce, for decryption, too, so that the second of two
   * equal datagrams would not open. It accepts it after another nonce.
   */
  private void resetNonce(byte[] nonce) throws GeneralSecurityException {
    byte[] another = nonce.clone();
    another[0]++;
    opening.init(Cipher.DECRYPT_MODE, key, parameters.apply(another));
  }
}
