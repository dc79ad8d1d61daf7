package io.kcp4j.crypto;

import java.security.GeneralSecurityException;
import java.security.Provider;
import java.util.Arrays;
import javax.crypto.Cipher;
import javax.crypto.SecretKey;
import javax.crypto.spec.GCMParameterSpec;

/**
 * Verifies the AES-GCM tag of a packet. The JCE reports a wrong tag by an exception, which costs as
 * much as opening three packets or more; this check costs as much as opening one.
 *
 * <p>GCM's tag is E(nonce) ^ GHASH(associated data | ciphertext | both lengths). Here the JCE
 * computes a tag with the ciphertext as associated data. This changes only the last hashed block:
 * it has the length in its first half instead of its second. The hash is linear, so the valid tag
 * is the computed one ^ D * H, where D has the length in both halves and H, the key of the hash, is
 * E(0). The products of H and each bit of D are precomputed.
 *
 * <p>Used by one thread.
 */
final class GcmTagCheck {

  private static final int TAG_BYTES = 16;

  private final SecretKey key;
  private final Cipher tagging;
  private final byte[] lastNonce;
  private final byte[] tag = new byte[TAG_BYTES];

  // What each bit of the length in bytes adds to the first and second eight bytes of the tag.
  private final long[] first = new long[Integer.SIZE];
  private final long[] second = new long[Integer.SIZE];

  GcmTagCheck(SecretKey key, int nonceBytes, Provider provider) throws GeneralSecurityException {
    this.key = key;
    tagging = Jce.cipher("AES/GCM/NoPadding", provider);
    lastNonce = new byte[nonceBytes];
    init(lastNonce);
    Cipher ecb = Jce.cipher("AES/ECB/NoPadding", null);
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
    if (Arrays.equals(nonce, lastNonce)) { // The JCE refuses to encrypt with the same nonce again.
      lastNonce[0]++;
      init(lastNonce);
    }
    System.arraycopy(nonce, 0, lastNonce, 0, nonce.length);
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
    return Long.reverseBytes((long) ByteArrayView.LONG.get(bytes, index));
  }
}
