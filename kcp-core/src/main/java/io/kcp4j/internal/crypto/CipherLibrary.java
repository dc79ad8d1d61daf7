package io.kcp4j.internal.crypto;

import io.kcp4j.crypto.Aead;
import io.kcp4j.crypto.BlockCipher;
import io.kcp4j.crypto.CipherAlgorithm;

/**
 * An implementation of AES and the AEADs. Safe for all threads; the ciphers that it makes have
 * state and are used by one thread each.
 *
 * <p>The one of the JVM, {@code "jce"}, is always available. Others are services of this type on
 * the class path or module path, such as that of the artifact {@code kcp-core-openssl}. Keys
 * without a provider of their own use the first service that loads. The constructor of a service
 * throws an exception where the machine lacks one of the ciphers. See {@link #preferred}.
 */
public interface CipherLibrary {

  /**
   * The system property with the name of the library to use, {@code "jce"} for that of the JVM. If
   * the named library is missing, that of the JVM is used.
   */
  String PROPERTY = "kcp4j.crypto.library";

  /** A short name, for logs and for {@link #PROPERTY}. */
  String name();

  /**
   * An AEAD with nonces of 12 bytes and tags of 16.
   *
   * @param algorithm one of the {@linkplain CipherAlgorithm#isAuthenticated authenticated} ones
   * @param key of {@link CipherAlgorithm#keyBytes} bytes; neither changed nor kept
   */
  Aead aead(CipherAlgorithm algorithm, byte[] key);

  /**
   * AES as a block cipher. Its speed depends on {@link BlockCipher#encryptBlocks}.
   *
   * @param key 16, 24 or 32 bytes; neither changed nor kept
   */
  BlockCipher aes(byte[] key);

  /** The library in use: the one named by {@link #PROPERTY}, else the first that loads. */
  static CipherLibrary preferred() {
    return JceLibrary.Choice.CURRENT.library();
  }

  /** Why {@link #preferred} was selected, for logs. */
  static String reason() {
    return JceLibrary.Choice.CURRENT.reason();
  }
}
