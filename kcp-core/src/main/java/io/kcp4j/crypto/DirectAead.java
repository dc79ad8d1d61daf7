package io.kcp4j.crypto;

import java.nio.ByteBuffer;

/**
 * An AEAD that takes whole packets (nonce, payload, tag) from where they stand in a direct buffer,
 * without copying them. Buffers' positions mean nothing.
 */
public interface DirectAead extends Aead {

  /**
   * Encrypts a payload in place, and writes the tag behind it.
   *
   * @param index where the nonce stands, and behind it the payload
   */
  void seal(ByteBuffer packet, int index, int payloadBytes);

  /**
   * Decrypts the payload of a packet, which stays as it is.
   *
   * @param bytes of the packet, at least those of nonce and tag
   * @param out another direct buffer than {@code in}; what is written there counts only if this
   *     returns true
   * @return whether the tag is right. What a peer sent is never a reason for an exception
   */
  boolean open(ByteBuffer in, int index, int bytes, ByteBuffer out, int outIndex);
}
