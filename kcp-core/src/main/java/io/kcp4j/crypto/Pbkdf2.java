package io.kcp4j.crypto;

import java.security.GeneralSecurityException;
import java.util.Arrays;
import javax.crypto.Mac;

/** PBKDF2 of RFC 8018 section 5.2 over bytes; that of the JDK takes characters. */
final class Pbkdf2 {

  private static final int SHA1_BLOCK_BYTES = 64;

  private Pbkdf2() {}

  static byte[] hmacSha1(byte[] secret, byte[] salt, int rounds, int bytes) {
    try {
      Mac mac = Mac.getInstance("HmacSHA1");
      // HMAC pads short keys with zeros. The JDK refuses an empty key, which is equal to all zeros.
      byte[] filledUp = Arrays.copyOf(secret, Math.max(SHA1_BLOCK_BYTES, secret.length));
      ShortLivedKey key = new ShortLivedKey(filledUp, "HmacSHA1");
      try {
        mac.init(key);
      } finally {
        key.destroy();
        Arrays.fill(filledUp, (byte) 0);
      }
      byte[] derived = new byte[bytes];
      for (int block = 1, at = 0; at < bytes; block++) {
        byte[] t = block(mac, salt, rounds, block);
        int n = Math.min(t.length, bytes - at);
        System.arraycopy(t, 0, derived, at, n);
        Arrays.fill(t, (byte) 0);
        at += n;
      }
      return derived;
    } catch (GeneralSecurityException e) {
      throw new IllegalStateException("HmacSHA1 is missing", e);
    }
  }

  private static byte[] block(Mac mac, byte[] salt, int rounds, int number) {
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
}
