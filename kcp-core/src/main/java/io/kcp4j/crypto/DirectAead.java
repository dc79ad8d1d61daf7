package io.kcp4j.crypto;

import java.nio.ByteBuffer;

/** An AEAD that takes packets from where they stand in a direct buffer, without copying them. */
public interface DirectAead extends Aead {

  /**
   * Encrypts {@code length} bytes of {@code packet} in place, and writes the tag behind them.
   *
   * @param nonce as for {@link Aead#seal}
   * @param packet a direct buffer, whose position means nothing
   */
  void seal(byte[] nonce, ByteBuffer packet, int index, int length);

  /**
   * Decrypts as {@link Aead#open} does, from a direct buffer, which stays as it is.
   *
   * @param in its position means nothing
   */
  boolean open(byte[] nonce, ByteBuffer in, int inIndex, int length, byte[] out, int outIndex);
}
