package io.kcp4j.crypto.openssl;

import io.kcp4j.crypto.Aead;
import io.kcp4j.crypto.BlockCipher;
import io.kcp4j.crypto.CipherAlgorithm;
import io.kcp4j.internal.crypto.CipherLibrary;

/**
 * libcrypto of OpenSSL, called by the foreign function API directly on heap arrays: nothing is
 * copied, and a call costs about ten nanoseconds. In return the garbage collector waits until a
 * call returns; the longest ones encrypt a group of packets in ten microseconds.
 */
public final class OpenSslLibrary implements CipherLibrary {

  /** The key lengths of AES in bits. */
  private static final int[] AES_BITS = {128, 192, 256};

  private static final String CHACHA20_POLY1305 = "ChaCha20-Poly1305";

  /**
   * For the service loader.
   *
   * @throws LinkageError if the library does not load
   * @throws IllegalArgumentException if it was built without one of the ciphers
   */
  public OpenSslLibrary() {
    for (int bits : AES_BITS) {
      new CipherFunctions(aes(bits, "ECB"));
      new CipherFunctions(aes(bits, "GCM"));
    }
    new CipherFunctions(CHACHA20_POLY1305);
  }

  private static String aes(int bits, String mode) {
    return "AES-" + bits + "-" + mode;
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
          case AES_128_GCM, AES_192_GCM, AES_256_GCM -> aes(key.length * Byte.SIZE, "GCM");
          case CHACHA20_POLY1305 -> CHACHA20_POLY1305;
          default ->
              throw new IllegalArgumentException(
                  "algorithm: " + algorithm + " (expected: an AEAD)");
        };
    return new OpenSslAead(name, key);
  }

  @Override
  public BlockCipher aes(byte[] key) {
    return new OpenSslBlockCipher(aes(key.length * Byte.SIZE, "ECB"), key);
  }
}
