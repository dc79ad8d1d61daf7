package io.kcp4j.crypto;

import java.nio.ByteBuffer;

/**
 * An AEAD that processes whole packets (nonce, payload, tag) in a direct buffer, without copying
 * them. The positions of buffers are ignored.
 */
public interface DirectAead extends Aead {

  /**
   * Encrypts a payload in place, and writes the tag after it.
   *
   * @param index of the nonce, which the payload follows
   */
  void seal(ByteBuffer packet, int index, int payloadBytes);

  /**
   * Decrypts the payload of a packet, which is not changed.
   *
   * @param bytes the length of the packet, at least that of nonce and tag
   * @param out another direct buffer than {@code in}; its content is valid only if this returns
   *     true
   * @return whether the tag is valid. Input from a peer never causes an exception
   */
  boolean open(ByteBuffer in, int index, int bytes, ByteBuffer out, int outIndex);
}
