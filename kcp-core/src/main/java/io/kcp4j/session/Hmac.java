package io.kcp4j.session;

import java.security.GeneralSecurityException;
import java.security.InvalidKeyException;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;

/** HMAC-SHA256 under one secret. Used by one thread. */
final class Hmac {

  private static final String ALGORITHM = "HmacSHA256";

  private final Mac mac;

  Hmac(byte[] secret) {
    try {
      mac = Mac.getInstance(ALGORITHM);
      mac.init(new SecretKeySpec(secret, ALGORITHM));
    } catch (InvalidKeyException e) {
      throw new AssertionError(e); // HMAC takes keys of any length.
    } catch (GeneralSecurityException e) {
      throw new IllegalStateException(e); // Every JDK has it.
    }
  }

  /** The 32 bytes of a message. */
  byte[] of(byte[] message) {
    return mac.doFinal(message);
  }
}
