package io.kcp4j.crypto;

import java.util.Arrays;
import javax.crypto.SecretKey;

/**
 * A key to initialise a JCE cipher with, which copies it, and to destroy afterwards: a {@link
 * javax.crypto.spec.SecretKeySpec} cannot be destroyed.
 */
final class ShortLivedKey implements SecretKey {

  private static final long serialVersionUID = 1;

  private final String algorithm;
  private final transient byte[] bytes;
  private transient boolean isDestroyed;

  /**
   * Makes a key.
   *
   * @param bytes copied
   */
  ShortLivedKey(byte[] bytes, int index, int length, String algorithm) {
    this.algorithm = algorithm;
    this.bytes = Arrays.copyOfRange(bytes, index, index + length);
  }

  ShortLivedKey(byte[] bytes, String algorithm) {
    this(bytes, 0, bytes.length, algorithm);
  }

  @Override
  public String getAlgorithm() {
    return algorithm;
  }

  @Override
  public String getFormat() {
    return "RAW";
  }

  @Override
  public byte[] getEncoded() {
    if (isDestroyed) {
      throw new IllegalStateException("key: destroyed (expected: usable)");
    }
    return bytes.clone();
  }

  @Override
  public void destroy() {
    isDestroyed = true;
    Arrays.fill(bytes, (byte) 0);
  }

  @Override
  public boolean isDestroyed() {
    return isDestroyed;
  }
}
