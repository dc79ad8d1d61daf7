package io.kcp4j.crypto;

import java.util.Arrays;

/** The bytes of a key, until {@link #destroy}. Safe for all threads. */
final class KeyMaterial {

  private final byte[] bytes;
  private boolean isDestroyed;

  /**
   * Wraps a key.
   *
   * @param bytes kept, not copied
   */
  KeyMaterial(byte[] bytes) {
    this.bytes = bytes;
  }

  /**
   * A copy, to be zeroed by the caller.
   *
   * @throws IllegalStateException if the key has been destroyed
   */
  byte[] copy() {
    synchronized (this) {
      if (isDestroyed) {
        throw new IllegalStateException("key: destroyed (expected: usable)");
      }
      return bytes.clone();
    }
  }

  void destroy() {
    synchronized (this) {
      isDestroyed = true;
      Arrays.fill(bytes, (byte) 0);
    }
  }

  boolean isDestroyed() {
    synchronized (this) {
      return isDestroyed;
    }
  }
}
