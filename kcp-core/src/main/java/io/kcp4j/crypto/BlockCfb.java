package io.kcp4j.crypto;

/** Any block cipher in CFB mode, block by block. */
final class BlockCfb implements StreamCipher {

  private final BlockCipher cipher;
  private final int blockBytes;
  private final byte[] first = Cfb.initialVector();
  private final byte[] mask = new byte[PacketGroup.ALIGNMENT];

  BlockCfb(BlockCipher cipher) {
    this.cipher = cipher;
    blockBytes = cipher.blockBytes();
    cipher.encrypt(first, 0, first, 0);
  }

  @Override
  public void encrypt(PacketGroup group) {
    for (int i = 0; i < group.size(); i++) {
      encrypt(group.data(), group.start(i), group.start(i) + group.length(i));
    }
  }

  private void encrypt(byte[] data, int start, int end) {
    xorBlock(data, start, first);
    for (int at = start + blockBytes; at < end; at += blockBytes) {
      cipher.encrypt(data, at - blockBytes, mask, 0);
      xorBlock(data, at, mask);
    }
  }

  @Override
  public void decrypt(PacketGroup group) {
    for (int i = 0; i < group.size(); i++) {
      decrypt(group.data(), group.start(i), group.start(i) + group.length(i));
    }
  }

  /** From the end to the front: each block needs the ciphertext of the one before it. */
  private void decrypt(byte[] data, int start, int end) {
    int last = start + (end - 1 - start) / blockBytes * blockBytes;
    for (int at = last; at > start; at -= blockBytes) {
      cipher.encrypt(data, at - blockBytes, mask, 0);
      xorBlock(data, at, mask);
    }
    xorBlock(data, start, first);
  }

  private void xorBlock(byte[] data, int at, byte[] block) {
    xorLong(data, at, block, 0);
    if (blockBytes == PacketGroup.ALIGNMENT) {
      xorLong(data, at + Long.BYTES, block, Long.BYTES);
    }
  }

  private static void xorLong(byte[] data, int at, byte[] block, int index) {
    PacketGroup.LONG.set(
        data,
        at,
        (long) PacketGroup.LONG.get(data, at) ^ (long) PacketGroup.LONG.get(block, index));
  }
}
