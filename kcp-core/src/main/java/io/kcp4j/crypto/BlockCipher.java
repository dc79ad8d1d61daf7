package io.kcp4j.crypto;

import io.kcp4j.internal.crypto.CipherLibrary;
import io.kcp4j.internal.crypto.PacketCipher;

/**
 * A custom block cipher for {@link PacketKey#ofBlockCipher}, which runs it in CFB mode and
 * therefore needs only encryption. An instance may have state and is used by one thread; {@link
 * PacketKey} gets a new one from its supplier for each {@link PacketCipher}.
 */
public interface BlockCipher {

  /** Length of a block in bytes: 8 or 16. */
  int blockBytes();

  /** Encrypts the block at {@code inIndex}; {@code out} may be {@code in}, at the same index. */
  void encrypt(byte[] in, int inIndex, byte[] out, int outIndex);

  /**
   * Encrypts consecutive blocks in ECB mode. Called only on ciphers made by a {@link
   * CipherLibrary}.
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
