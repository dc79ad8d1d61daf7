package io.kcp4j.crypto;

import java.security.GeneralSecurityException;
import java.security.Provider;
import javax.crypto.Cipher;
import javax.crypto.ShortBufferException;

/** A block cipher of a JCE provider, in ECB mode. */
final class JceBlockCipher implements BlockCipher {

  private final Cipher ecb;
  private final int blockBytes;

  JceBlockCipher(String algorithm, byte[] key, Provider provider) {
    ecb = Jce.cipher(algorithm + "/ECB/NoPadding", provider);
    blockBytes = ecb.getBlockSize();
    ShortLivedKey secret = new ShortLivedKey(key, algorithm);
    try {
      ecb.init(Cipher.ENCRYPT_MODE, secret);
    } catch (GeneralSecurityException e) {
      throw new IllegalArgumentException(
          "provider: " + provider + " (expected: one of " + algorithm + ")", e);
    } finally {
      secret.destroy();
    }
  }

  @Override
  public int blockBytes() {
    return blockBytes;
  }

  @Override
  public void encrypt(byte[] in, int inIndex, byte[] out, int outIndex) {
    encryptBlocks(in, inIndex, out, outIndex, 1);
  }

  @Override
  public void encryptBlocks(byte[] in, int inIndex, byte[] out, int outIndex, int blocks) {
    try {
      ecb.update(in, inIndex, blocks * blockBytes, out, outIndex);
    } catch (ShortBufferException e) {
      throw new IllegalStateException("encryption failed", e);
    }
  }
}
