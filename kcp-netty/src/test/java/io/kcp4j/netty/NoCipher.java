package io.kcp4j.netty;

import io.kcp4j.crypto.BlockCipher;

/** Encrypts nothing. */
final class NoCipher implements BlockCipher {

  @Override
  public int blockBytes() {
    return 16;
  }

  @Override
  public void encrypt(byte[] in, int inIndex, byte[] out, int outIndex) {
    System.arraycopy(in, inIndex, out, outIndex, 16);
  }
}
