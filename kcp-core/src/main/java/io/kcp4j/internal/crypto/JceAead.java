package io.kcp4j.internal.crypto;

import io.kcp4j.crypto.Aead;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;
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

  private static final String AES_GCM = "AES/GCM/NoPadding";
  private static final int NONCE_BYTES = 12;
  private static final int TAG_BYTES = 16;

  /** How many packets after a wrong one are checked: as many as cost one exception. */
  private static final int CHECKED_PACKETS = 4;

  private static final VarHandle LONG =
      MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.BIG_ENDIAN);

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
    sealing = JceLibrary.cipher(transformation, provider);
    opening = JceLibrary.cipher(transformation, provider);
    try {
      opening.init(Cipher.DECRYPT_MODE, key, parameters.apply(lastOpened));
    } catch (GeneralSecurityException e) { // not every provider has keys of 24 bytes
      throw new IllegalArgumentException(
          "provider: " + provider + " (expected: one of " + transformation + " with this key)", e);
    }
  }

  static JceAead aesGcm(byte[] key, Provider provider) {
    return new JceAead(
        AES_GCM,
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
        check = new GcmTagCheck(key, provider);
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

  /**
   * Verifies the AES-GCM tag of a packet. The JCE reports a wrong tag by an exception, which costs
   * as much as opening three packets or more; this check costs as much as opening one.
   *
   * <p>GCM's tag is E(nonce) ^ GHASH(associated data | ciphertext | both lengths). Here the JCE
   * computes a tag with the ciphertext as associated data. This changes only the last hashed block:
   * it has the length in its first half instead of its second. The hash is linear, so the valid tag
   * is the computed one ^ D * H, where D has the length in both halves and H, the key of the hash,
   * is E(0). The products of H and each bit of D are precomputed.
   *
   * <p>Used by one thread.
   */
  static final class GcmTagCheck {

    private final SecretKey key;
    private final Cipher tagging;
    private final byte[] lastNonce = new byte[NONCE_BYTES];
    private final byte[] tag = new byte[TAG_BYTES];

    // What each bit of the length in bytes adds to the first and second eight bytes of the tag.
    private final long[] first = new long[Integer.SIZE];
    private final long[] second = new long[Integer.SIZE];

    GcmTagCheck(SecretKey key, Provider provider) throws GeneralSecurityException {
      this.key = key;
      tagging = JceLibrary.cipher(AES_GCM, provider);
      init(lastNonce);
      Cipher ecb = JceLibrary.cipher("AES/ECB/NoPadding", null);
      ecb.init(Cipher.ENCRYPT_MODE, key);
      byte[] hashKey = ecb.doFinal(new byte[TAG_BYTES]);
      multiply(word(hashKey, 0), word(hashKey, Long.BYTES));
      Arrays.fill(hashKey, (byte) 0);
    }

    /**
     * Multiplies H by each power of x in turn. In GCM's field the first bit of a block is that of
     * x<sup>0</sup>; bit {@code i} of a length in bytes, three more in bits, is that of x<sup>60 -
     * i</sup> in one half and of x<sup>124 - i</sup> in the other.
     */
    private void multiply(long hashKeyFirst, long hashKeySecond) {
      long a = hashKeyFirst;
      long b = hashKeySecond;
      for (int power = 0; power <= 124; power++) {
        int i = (power <= 60 ? 60 : 124) - power;
        if (i < Integer.SIZE) {
          first[i] ^= a;
          second[i] ^= b;
        }
        long reduced = -(b & 1) & 0xe1L << 56;
        b = b >>> 1 | a << 63;
        a = a >>> 1 ^ reduced;
      }
    }

    /**
     * Whether the tag is valid.
     *
     * @param length of ciphertext and tag
     */
    boolean isValid(byte[] nonce, byte[] in, int inIndex, int length)
        throws GeneralSecurityException {
      if (Arrays.equals(nonce, lastNonce)) { // The JCE refuses to encrypt with it again.
        lastNonce[0]++;
        init(lastNonce);
      }
      System.arraycopy(nonce, 0, lastNonce, 0, NONCE_BYTES);
      init(nonce);
      int bytes = length - TAG_BYTES;
      tagging.updateAAD(in, inIndex, bytes);
      tagging.doFinal(tag, 0);
      long a = word(tag, 0) ^ word(in, inIndex + bytes);
      long b = word(tag, Long.BYTES) ^ word(in, inIndex + bytes + Long.BYTES);
      for (int i = 0, left = bytes; left != 0; i++, left >>>= 1) {
        if ((left & 1) != 0) {
          a ^= first[i];
          b ^= second[i];
        }
      }
      return (a | b) == 0;
    }

    private void init(byte[] nonce) throws GeneralSecurityException {
      tagging.init(Cipher.ENCRYPT_MODE, key, new GCMParameterSpec(8 * TAG_BYTES, nonce));
    }

    private static long word(byte[] bytes, int index) {
      return (long) LONG.get(bytes, index);
    }
  }
}
