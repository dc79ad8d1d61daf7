package io.kcp4j.crypto;

import java.security.SecureRandom;

/**
 * Packets of an AEAD: nonce, ciphertext, tag. It works on copies on the heap, where the JCE is
 * fast, unless the AEAD needs none, and writes back what has succeeded: protocol.md 10.2.
 */
final class AeadCipher extends KeyCipher {

  private final Aead aead;

  /** The same, or null. */
  private final DirectAead direct;

  private final NonceSource nonces = new NonceSource(new SecureRandom());
  private final int headroom;
  private final int tailroom;
  private final byte[] nonce;
  private byte[] in = new byte[2048];
  private byte[] out = new byte[2048];

  AeadCipher(Aead aead) {
    this.aead = aead;
    direct = aead instanceof DirectAead d ? d : null;
    headroom = aead.nonceBytes();
    tailroom = aead.tagBytes();
    nonce = new byte[headroom];
  }

  @Override
  void seal(PacketBurst burst) {
    for (int i = 0; i < burst.size(); i++) {
      int start = burst.start(i);
      int payloadBytes = burst.end(i) - start - headroom - tailroom;
      nonces.next(nonce, 0, headroom);
      if (direct != null && burst.direct() != null) {
        burst.write(start, nonce, 0, headroom);
        direct.seal(nonce, burst.direct(), burst.directIndex(start + headroom), payloadBytes);
      } else {
        sealCopy(burst, start, payloadBytes);
      }
    }
  }

  private void sealCopy(PacketBurst burst, int start, int payloadBytes) {
    int bytes = headroom + payloadBytes + tailroom;
    reserve(bytes);
    burst.read(start + headroom, in, 0, payloadBytes);
    System.arraycopy(nonce, 0, out, 0, headroom);
    aead.seal(nonce, in, 0, payloadBytes, out, headroom);
    burst.write(start, out, 0, bytes);
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
    burst.read(start, nonce, 0, headroom);
    if (!openTo(out, burst, start + headroom, bytes - headroom)) {
      return false;
    }
    burst.write(start + headroom, out, 0, payloadBytes);
    burst.narrow(i, headroom, tailroom);
    return true;
  }

  private boolean openTo(byte[] out, PacketBurst burst, int index, int bytes) {
    if (direct != null && burst.direct() != null) {
      return direct.open(nonce, burst.direct(), burst.directIndex(index), bytes, out, 0);
    }
    burst.read(index, in, 0, bytes);
    return aead.open(nonce, in, 0, bytes, out, 0);
  }

  private void reserve(int bytes) {
    if (in.length < bytes) {
      in = new byte[Math.max(bytes, 2 * in.length)];
      out = new byte[in.length];
    }
  }
}
