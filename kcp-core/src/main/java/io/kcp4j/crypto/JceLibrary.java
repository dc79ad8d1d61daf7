package io.kcp4j.crypto;

import java.security.Provider;

/**
 * Ciphers of the JCE.
 *
 * @param provider of the ciphers, or null for the JVM's preferred providers
 */
record JceLibrary(Provider provider) implements CipherLibrary {

  static final String NAME = "jce";
  static final JceLibrary PREFERRED = new JceLibrary(null);

  @Override
  public String name() {
    return NAME;
  }

  @Override
  public Aead aead(CipherAlgorithm algorithm, byte[] key) {
    return algorithm == CipherAlgorithm.CHACHA20_POLY1305
        ? JceAead.chacha20Poly1305(key, provider)
        : JceAead.aesGcm(key, provider);
  }

  @Override
  public BlockCipher aes(byte[] key) {
    return new JceBlockCipher("AES", key, provider);
  }
}
