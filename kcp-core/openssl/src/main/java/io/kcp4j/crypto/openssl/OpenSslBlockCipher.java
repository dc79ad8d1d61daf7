package io.kcp4j.crypto.openssl;

import io.kcp4j.crypto.BlockCipher;

/** AES in ECB mode; OpenSSL pipelines the blocks of a call. */
final class OpenSslBlockCipher implements BlockCipher {

  private static final int BLOCK_BYTES = 16;

  private final CipherContext encrypting;
  private final HeapSlice inSlice = new HeapSlice();
  private final HeapSlice outSlice = new HeapSlice();

  OpenSslBlockCipher(String algorithm, byte[] key) {
    encrypting = new CipherContext(algorithm, key, true, 0);
  }

  @Override
  public int blockBytes() {
    return BLOCK_BYTES;
  }

  @Override
  public void encrypt(byte[] in, int inIndex, byte[] out, int outIndex) {
    encryptBlocks(in, inIndex, out, outIndex, 1);
  }

  @Override
  public void encryptBlocks(byte[] in, int inIndex, byte[] out, int outIndex, int blocks) {
    int bytes = blocks * BLOCK_BYTES;
    encrypting.encryptBlocks(
        inSlice.of(in, inIndex, bytes), bytes, outSlice.of(out, outIndex, bytes));
  }
}
