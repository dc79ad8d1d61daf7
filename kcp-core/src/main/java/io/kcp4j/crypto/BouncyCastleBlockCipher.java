package io.kcp4j.crypto;

import org.bouncycastle.crypto.engines.BlowfishEngine;
import org.bouncycastle.crypto.engines.CAST5Engine;
import org.bouncycastle.crypto.engines.SM4Engine;
import org.bouncycastle.crypto.engines.TwofishEngine;
import org.bouncycastle.crypto.engines.XTEAEngine;
import org.bouncycastle.crypto.params.KeyParameter;

/**
 * A block cipher of Bouncy Castle, called without its JCE provider. No other class needs that
 * artifact, so it may be missing where these ciphers are not used.
 */
final class BouncyCastleBlockCipher implements BlockCipher {

  private final org.bouncycastle.crypto.BlockCipher engine;

  private BouncyCastleBlockCipher(org.bouncycastle.crypto.BlockCipher engine, byte[] key) {
    this.engine = engine;
    engine.init(true, new KeyParameter(key));
  }

  /**
   * The block cipher of an algorithm.
   *
   * @throws NoClassDefFoundError if Bouncy Castle is missing
   */
  static BlockCipher of(CipherAlgorithm algorithm, byte[] key) {
    org.bouncycastle.crypto.BlockCipher engine =
        switch (algorithm) {
          case XTEA -> new XTEAEngine();
          case BLOWFISH -> new BlowfishEngine();
          case TWOFISH -> new TwofishEngine();
          case CAST5 -> new CAST5Engine();
          case SM4 -> new SM4Engine();
          default -> throw new AssertionError(algorithm);
        };
    return new BouncyCastleBlockCipher(engine, key);
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
