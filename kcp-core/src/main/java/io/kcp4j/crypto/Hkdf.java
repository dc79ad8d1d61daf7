package io.kcp4j.crypto;

import java.security.GeneralSecurityException;
import java.util.Arrays;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;

/** HKDF with HMAC-SHA256 (RFC 5869). */
final class Hkdf {

  private static final String ALGORITHM = "HmacSHA256";
  private static final int HASH_BYTES = 32;
  private static final int MAX_BYTES = 255 * HASH_BYTES;

  private Hkdf() {}

  /**
   * Derives a key.
   *
   * @param key the input keying material
   * @param salt may be empty
   * @param info what the derived key is for
   * @param bytes the size of the derived key, at most 8160
   */
  static byte[] derive(byte[] key, byte[] salt, byte[] info, int bytes) {
    if (bytes < 0 || bytes > MAX_BYTES) {
      throw new IllegalArgumentException("bytes: " + bytes + " (expected: 0 to " + MAX_BYTES + ")");
    }
    byte[] secret = hmac(salt.length == 0 ? new byte[HASH_BYTES] : salt, key);
    byte[] derived = new byte[bytes];
    byte[] block = {};
    for (int at = 0, counter = 1; at < bytes; at += block.length, counter++) {
      block = hmac(secret, block, info, new byte[] {(byte) counter});
      System.arraycopy(block, 0, derived, at, Math.min(block.length, bytes - at));
    }
    Arrays.fill(secret, (byte) 0);
    Arrays.fill(block, (byte) 0);
    return derived;
  }

  private static byte[] hmac(byte[] key, byte[]... parts) {
    try {
      Mac mac = Mac.getInstance(ALGORITHM);
      mac.init(new SecretKeySpec(key, ALGORITHM));
      for (byte[] part : parts) {
        mac.update(part);
      }
      return mac.doFinal();
    } catch (GeneralSecurityException e) {
      throw new IllegalStateException(e); // Every JDK has it.
    }
  }
}
