package io.kcp4j.crypto;

import java.security.GeneralSecurityException;
import java.security.Provider;
import javax.crypto.Cipher;

/** Ciphers of the JCE. */
final class Jce {

  private Jce() {}

  /**
   * A cipher of {@code provider}, or of the JVM's preferred provider if that is null.
   *
   * @throws IllegalArgumentException if there is none
   */
  static Cipher cipher(String transformation, Provider provider) {
    try {
      return provider == null
          ? Cipher.getInstance(transformation)
          : Cipher.getInstance(transformation, provider);
    } catch (GeneralSecurityException e) {
      throw new IllegalArgumentException(
          "provider: " + provider + " (expected: one of " + transformation + ")", e);
    }
  }
}
