package io.kcp4j.crypto;

import org.bouncycastle.crypto.params.KeyParameter;

/** A block cipher of Bouncy Castle, called without its JCE provider. */
final class BouncyCastleBlockCipher implements BlockCipher {

  private final org.bouncycastle.crypto.BlockCipher engine;

  BouncyCastleBlockCipher(org.bouncycastle.crypto.BlockCipher engine, byte[] key) {
    this.engine = engine;
    engine.init(true, new KeyParameter(key));
  }

  @Override
  public int blockBytes() {
    return engine.getBlockSize();
  }

  @Override
  public void encrypt(byte[] in, int inIndex, byte[] out, int outIndex) {
    engine.processBlock(in, inIndex, out, outIndex);
  }
}
