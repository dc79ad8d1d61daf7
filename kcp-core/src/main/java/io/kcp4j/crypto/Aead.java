package io.kcp4j.crypto;

import io.kcp4j.internal.crypto.PacketCipher;
import java.nio.ByteBuffer;

/**
 * A custom authenticated cipher for {@link PacketKey#ofAead}, without associated data. An instance
 * has state and is used by one thread; {@link PacketKey} gets a new one from its supplier for each
 * {@link PacketCipher}.
 */
public interface Aead {

  /** Length of the nonce in bytes, 8 to 32: the headroom of a packet. */
  int nonceBytes();

  /** Length of the tag in bytes, 1 to 64: the tailroom of a packet. */
  int tagBytes();

  /**
   * Encrypts {@code length} bytes of {@code in} to {@code out}, and appends the tag.
   *
   * @param nonce of {@link #nonceBytes} random bytes, valid during the call
   * @param out another array than {@code in}
   */
  void seal(byte[] nonce, byte[] in, int inIndex, int length, byte[] out, int outIndex);

  /**
   * Decrypts {@code length} bytes of {@code in}, tag included, to {@code out}.
   *
   * @param nonce valid during the call
   * @param length at least {@link #tagBytes}
   * @param out another array than {@code in}; its content is valid only if this returns true
   * @return whether the tag is valid. Input from a peer never causes an exception
   */
  boolean open(byte[] nonce, byte[] in, int inIndex, int length, byte[] out, int outIndex);

  /**
   * An AEAD that processes whole packets (nonce, payload, tag) in a direct buffer, without copying
   * them. The positions of buffers are ignored.
   */
  interface Direct extends Aead {

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
}
