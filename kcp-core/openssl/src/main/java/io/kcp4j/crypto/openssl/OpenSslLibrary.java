package io.kcp4j.crypto.openssl;

import io.kcp4j.crypto.Aead;
import io.kcp4j.crypto.BlockCipher;
import io.kcp4j.crypto.CipherAlgorithm;
import io.kcp4j.crypto.CipherLibrary;

/**
 * OpenSSL's libcrypto, called by the foreign function API on heap arrays as they are: nothing is
 * copied, and a call costs some ten nanoseconds. In return the garbage collector waits for a call
 * to end, the longest of which has a group of packets to encrypt: ten microseconds.
 */
public final class OpenSslLibrary implements CipherLibrary {

  /** Made by services only. */
  public OpenSslLibrary() {
    DefaultProvider.load();
  }

  @Override
  public String name() {
    return "openssl";
  }

  @Override
  public Aead aead(CipherAlgorithm algorithm, byte[] key) {
    if (key.length != algorithm.keyBytes()) {
      throw new IllegalArgumentException(
          "key: " + key.length + " bytes (expected: " + algorithm.keyBytes() + ")");
    }
    String name =
        switch (algorithm) {
          case AES_128_GCM -> "AES-128-GCM";
          case AES_192_GCM -> "AES-192-GCM";
          case AES_256_GCM -> "AES-256-GCM";
          case CHACHA20_POLY1305 -> "ChaCha20-Poly1305";
          default ->
              throw new IllegalArgumentException(
                  "algorithm: " + algorithm + " (expected: an AEAD)");
        };
    return new OpenSslAead(name, key);
  }

  @Override
  public BlockCipher aes(byte[] key) {
    return new OpenSslBlockCipher("AES-" + key.length * Byte.SIZE + "-ECB", key);
  }
}
