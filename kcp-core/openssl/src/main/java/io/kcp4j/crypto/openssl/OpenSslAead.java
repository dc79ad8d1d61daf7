package io.kcp4j.crypto.openssl;

import io.kcp4j.crypto.Aead;

/** AES-GCM and ChaCha20-Poly1305: the key is set once, the nonce for each packet. */
final class OpenSslAead implements Aead {

  private static final int NONCE_BYTES = 12;
  private static final int TAG_BYTES = 16;

  private final CipherContext sealing;
  private final CipherContext opening;

  OpenSslAead(String algorithm, byte[] key) {
    sealing = new CipherContext(algorithm, key, CipherContext.ENCRYPT);
    opening = new CipherContext(algorithm, key, CipherContext.DECRYPT);
  }

  @Override
  public int nonceBytes() {
    return NONCE_BYTES;
  }

  @Override
  public int tagBytes() {
    return TAG_BYTES;
  }

  @Override
  public void seal(byte[] nonce, byte[] in, int inIndex, int length, byte[] out, int outIndex) {
    sealing.restart(nonce, NONCE_BYTES);
    sealing.update(in, inIndex, length, out, outIndex);
    sealing.finish();
    sealing.readTag(out, outIndex + length, TAG_BYTES);
  }

  @Override
  public boolean open(byte[] nonce, byte[] in, int inIndex, int length, byte[] out, int outIndex) {
    int payloadBytes = length - TAG_BYTES;
    opening.restart(nonce, NONCE_BYTES);
    opening.expectTag(in, inIndex + payloadBytes, TAG_BYTES);
    opening.update(in, inIndex, payloadBytes, out, outIndex);
    return opening.finish();
  }
}
