package io.kcp4j.crypto;

/**
 * A block cipher of a user's own, for {@link PacketKey#ofBlockCipher}, which runs it in CFB mode:
 * that needs only the direction of encryption. An instance may have state and is used by one
 * thread; {@link PacketKey} asks its supplier for one whenever a {@link PacketCipher} is made.
 */
public interface BlockCipher {

  /** Length of a block in bytes: 8 or 16. */
  int blockBytes();

  /** Encrypts the block at {@code inIndex}; {@code out} may be {@code in}, at the same index. */
  void encrypt(byte[] in, int inIndex, byte[] out, int outIndex);

  /**
   * Encrypts blocks that stand back to back, each by itself: ECB mode. Only ciphers that a {@link
   * CipherLibrary} has made are asked for it.
   *
   * @param out another array than {@code in}
   */
  default void encryptBlocks(byte[] in, int inIndex, byte[] out, int outIndex, int blocks) {
    int blockBytes = blockBytes();
    for (int i = 0; i < blocks; i++) {
      encrypt(in, inIndex + i * blockBytes, out, outIndex + i * blockBytes);
    }
  }
}
