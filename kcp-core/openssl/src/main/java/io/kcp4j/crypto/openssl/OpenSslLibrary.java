package io.kcp4j.crypto.openssl;

import io.kcp4j.crypto.Aead;
import io.kcp4j.crypto.BlockCipher;
import io.kcp4j.crypto.CipherAlgorithm;
import io.kcp4j.crypto.CipherLibrary;

/**
 * libcrypto of OpenSSL, called by the foreign function API directly on heap arrays: nothing is
 * copied, and a call costs about ten nanoseconds. In return the garbage collector waits until a
 * call returns; the longest ones encrypt a group of packets in ten microseconds.
 */
public final class OpenSslLibrary implements CipherLibrary {

  /** For the service loader. */
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
