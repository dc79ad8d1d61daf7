package io.kcp4j.crypto;

/**
 * An authenticated cipher of a user's own, for {@link PacketKey#ofAead}. There is no associated
 * data. An instance has state and is used by one thread; {@link PacketKey} asks its supplier for
 * one whenever a {@link PacketCipher} is made.
 */
public interface Aead {

  /** Length of the nonce in bytes, 8 to 32: the headroom of a packet. */
  int nonceBytes();

  /** Length of the tag in bytes, 1 to 64: the tailroom of a packet. */
  int tagBytes();

  /**
   * Encrypts {@code length} bytes of {@code in} to {@code out}, and writes the tag behind them.
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
   * @param out another array than {@code in}; what is written there counts only if this returns
   *     true
   * @return whether the tag is right. What a peer sent is never a reason for an exception
   */
  boolean open(byte[] nonce, byte[] in, int inIndex, int length, byte[] out, int outIndex);
}
