package io.kcp4j.crypto;

/**
 * AES and the AEADs, as computed by one body of code. Safe for all threads; what it makes has state
 * and is used by one.
 *
 * <p>There is always the JVM's own, {@code "jce"}. Others come from the class path or module path
 * as services of this type, such as that of the artifact {@code kcp-core-openssl}; the first that
 * has shown that it computes the same is used, with every key that names no provider. See {@link
 * #preferred}.
 */
public interface CipherLibrary {

  /**
   * The system property with the name of the library to use, {@code "jce"} for the JVM's own. One
   * that is not there, or computes wrongly, gives way to that.
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
   * AES as a block cipher, whose {@link BlockCipher#encryptBlocks} is what counts.
   *
   * @param key 16, 24 or 32 bytes; neither changed nor kept
   */
  BlockCipher aes(byte[] key);

  /** The library in use: the one named by {@link #PROPERTY}, else the first that is right. */
  static CipherLibrary preferred() {
    return LibraryChoice.CURRENT.library();
  }

  /** Why {@link #preferred} is the one it is, in words for a log. */
  static String reason() {
    return LibraryChoice.CURRENT.reason();
  }
}
