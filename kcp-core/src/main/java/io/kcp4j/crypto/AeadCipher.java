package io.kcp4j.crypto;

import java.security.SecureRandom;

/**
 * Packets of an AEAD: nonce, ciphertext, tag. It works on copies on the heap, where the JCE is
 * fast, and writes back what has succeeded: protocol.md 10.2.
 */
final class AeadCipher extends KeyCipher {

  private final Aead aead;
  private final NonceSource nonces = new NonceSource(new SecureRandom());
  private final int headroom;
  private final int tailroom;
  private final byte[] nonce;
  private byte[] in = new byte[2048];
  private byte[] out = new byte[2048];

  AeadCipher(Aead aead) {
    this.aead = aead;
    headroom = aead.nonceBytes();
    tailroom = aead.tagBytes();
    nonce = new byte[headroom];
  }

  @Override
  void seal(PacketBurst burst) {
    for (int i = 0; i < burst.size(); i++) {
      int start = burst.start(i);
      int bytes = burst.end(i) - start;
      int payloadBytes = bytes - headroom - tailroom;
      reserve(bytes);
      burst.read(start + headroom, in, 0, payloadBytes);
      nonces.next(nonce, 0, headroom);
      System.arraycopy(nonce, 0, out, 0, headroom);
      aead.seal(nonce, in, 0, payloadBytes, out, headroom);
      burst.write(start, out, 0, bytes);
    }
  }

  @Override
  int open(PacketBurst burst, int[] pending, int count) {
    int refused = 0;
    for (int k = 0; k < count; k++) {
      if (!open(burst, pending[k])) {
        pending[refused++] = pending[k];
      }
    }
    return refused;
  }

  private boolean open(PacketBurst burst, int i) {
    int start = burst.start(i);
    int bytes = burst.end(i) - start;
    int payloadBytes = bytes - headroom - tailroom;
    if (payloadBytes < 0) {
      return false;
    }
    reserve(bytes);
    burst.read(start, in, 0, bytes);
    System.arraycopy(in, 0, nonce, 0, headroom);
    if (!aead.open(nonce, in, headroom, bytes - headroom, out, 0)) {
      return false;
    }
    burst.write(start + headroom, out, 0, payloadBytes);
    burst.narrow(i, headroom, tailroom);
    return true;
  }

  private void reserve(int bytes) {
    if (in.length < bytes) {
      in = new byte[Math.max(bytes, 2 * in.length)];
      out = new byte[in.length];
    }
  }
}
