package io.kcp4j.internal.crypto;

import java.security.GeneralSecurityException;
import java.util.Arrays;
import javax.crypto.Mac;
import javax.crypto.SecretKey;
import javax.crypto.spec.SecretKeySpec;

/**
 * The bytes of a key, until {@link #destroy} zeroes them, and the derivation of keys. The JCE
 * copies a key when it initialises a cipher; its own {@link SecretKeySpec} cannot be destroyed
 * afterwards. Safe for all threads.
 */
public final class KeyMaterial implements SecretKey {

  private static final long serialVersionUID = 1;

  private static final String HMAC_SHA1 = "HmacSHA1";
  private static final int SHA1_BLOCK_BYTES = 64;
  private static final String HMAC_SHA256 = "HmacSHA256";
  private static final int SHA256_BYTES = 32;
  private static final int MAX_HKDF_BYTES = 255 * SHA256_BYTES;

  private final String algorithm;
  private final transient byte[] bytes;
  private transient boolean isDestroyed;

  /**
   * Wraps a key.
   *
   * @param bytes kept, not copied
   * @param algorithm its name in the JCE, or another name if the key is not for the JCE
   */
  public KeyMaterial(byte[] bytes, String algorithm) {
    this.bytes = bytes;
    this.algorithm = algorithm;
  }

  @Override
  public String getAlgorithm() {
    return algorithm;
  }

  @Override
  public String getFormat() {
    return "RAW";
  }

  /**
   * A copy of the key, to be zeroed by the caller.
   *
   * @throws IllegalStateException if the key has been destroyed
   */
  @Override
  public byte[] getEncoded() {
    synchronized (this) {
      if (isDestroyed) {
        throw new IllegalStateException("key: destroyed (expected: usable)");
      }
      return bytes.clone();
    }
  }

  @Override
  public void destroy() {
    synchronized (this) {
      isDestroyed = true;
      Arrays.fill(bytes, (byte) 0);
    }
  }

  @Override
  public boolean isDestroyed() {
    synchronized (this) {
      return isDestroyed;
    }
  }

  /**
   * PBKDF2 with HMAC-SHA1 (RFC 8018, section 5.2) over bytes; that of the JDK takes characters.
   *
   * @param bytes the size of the derived key
   */
  public static byte[] pbkdf2(byte[] secret, byte[] salt, int rounds, int bytes) {
    try {
      Mac mac = Mac.getInstance(HMAC_SHA1);
      // HMAC pads short keys with zeros. The JDK refuses an empty key, which is equal to all zeros.
      byte[] filledUp = Arrays.copyOf(secret, Math.max(SHA1_BLOCK_BYTES, secret.length));
      KeyMaterial key = new KeyMaterial(filledUp, HMAC_SHA1);
      try {
        mac.init(key);
      } finally {
        key.destroy();
      }
      byte[] derived = new byte[bytes];
      for (int block = 1, at = 0; at < bytes; block++) {
        byte[] t = pbkdf2Block(mac, salt, rounds, block);
        int n = Math.min(t.length, bytes - at);
        System.arraycopy(t, 0, derived, at, n);
        Arrays.fill(t, (byte) 0);
        at += n;
      }
      return derived;
    } catch (GeneralSecurityException e) {
      throw new IllegalStateException(e); // Every JDK has it.
    }
  }

  private static byte[] pbkdf2Block(Mac mac, byte[] salt, int rounds, int number) {
    mac.update(salt);
    for (int shift = 24; shift >= 0; shift -= 8) {
      mac.update((byte) (number >>> shift));
    }
    byte[] u = mac.doFinal();
    byte[] t = u.clone();
    for (int round = 1; round < rounds; round++) {
      byte[] next = mac.doFinal(u);
      Arrays.fill(u, (byte) 0);
      u = next;
      for (int i = 0; i < t.length; i++) {
        t[i] ^= u[i];
      }
    }
    Arrays.fill(u, (byte) 0);
    return t;
  }

  /**
   * HKDF with HMAC-SHA256 (RFC 5869).
   *
   * @param key the input keying material
   * @param salt may be empty
   * @param info the purpose of the derived key
   * @param bytes the size of the derived key, at most 8160
   */
  public static byte[] hkdf(byte[] key, byte[] salt, byte[] info, int bytes) {
    if (bytes < 0 || bytes > MAX_HKDF_BYTES) {
      throw new IllegalArgumentException(
          "bytes: " + bytes + " (expected: 0 to " + MAX_HKDF_BYTES + ")");
    }
    byte[] secret = hmacSha256(salt.length == 0 ? new byte[SHA256_BYTES] : salt, key);
    byte[] derived = new byte[bytes];
    byte[] block = {};
    for (int at = 0, counter = 1; at < bytes; at += block.length, counter++) {
      block = hmacSha256(secret, block, info, new byte[] {(byte) counter});
      System.arraycopy(block, 0, derived, at, Math.min(block.length, bytes - at));
    }
    Arrays.fill(secret, (byte) 0);
    Arrays.fill(block, (byte) 0);
    return derived;
  }

  private static byte[] hmacSha256(byte[] key, byte[]... parts) {
    try {
      Mac mac = Mac.getInstance(HMAC_SHA256);
      mac.init(new SecretKeySpec(key, HMAC_SHA256));
      for (byte[] part : parts) {
        mac.update(part);
      }
      return mac.doFinal();
    } catch (GeneralSecurityException e) {
      throw new IllegalStateException(e); // Every JDK has it.
    }
  }
}
