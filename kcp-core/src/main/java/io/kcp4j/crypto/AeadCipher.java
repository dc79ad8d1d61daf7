package io.kcp4j.crypto;

import java.nio.ByteBuffer;
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
  private ByteBuffer directOut;

  AeadCipher(Aead aead) {
    this.aead = aead;
    direct = aead instanceof DirectAead d ? d : null;
    headroom = aead.nonceBytes();
    tailroom = aead.tagBytes();
    nonce = new byte[headroom];
  }

  @Override
  void seal(PacketBurst burst) {
    nonces.expire();
    for (int i = 0; i < burst.size(); i++) {
      int start = burst.start(i);
      int payloadBytes = burst.end(i) - start - headroom - tailroom;
      nonces.next(nonce, 0, headroom);
      if (direct != null && burst.direct() != null) {
        burst.write(start, nonce, 0, headroom);
        direct.seal(burst.direct(), burst.directIndex(start), payloadBytes);
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
  int open(PacketBurst burst, int[] pending, int count, int minPayloadBytes) {
    int refused = 0;
    for (int k = 0; k < count; k++) {
      if (!open(burst, pending[k], minPayloadBytes)) {
        pending[refused++] = pending[k];
      }
    }
    return refused;
  }

  private boolean open(PacketBurst burst, int i, int minPayloadBytes) {
    int start = burst.start(i);
    int bytes = burst.end(i) - start;
    int payloadBytes = bytes - headroom - tailroom;
    if (payloadBytes < minPayloadBytes) {
      return false;
    }
    boolean isDirect = direct != null && burst.direct() != null;
    boolean isOpen =
        isDirect
            ? openDirect(burst, start, bytes, payloadBytes)
            : openCopy(burst, start, bytes, payloadBytes);
    if (isOpen) {
      burst.narrow(i, headroom, tailroom);
    }
    return isOpen;
  }

  private boolean openDirect(PacketBurst burst, int start, int bytes, int payloadBytes) {
    if (directOut == null || directOut.capacity() < bytes) {
      directOut = ByteBuffer.allocateDirect(Math.max(bytes, out.length));
    }
    int index = burst.directIndex(start);
    boolean isOpen = direct.open(burst.direct(), index, bytes, directOut, 0);
    if (isOpen) {
      burst.direct().put(index + headroom, directOut, 0, payloadBytes);
    }
    return isOpen;
  }

  private boolean openCopy(PacketBurst burst, int start, int bytes, int payloadBytes) {
    reserve(bytes);
    burst.read(start, nonce, 0, headroom);
    burst.read(start + headroom, in, 0, bytes - headroom);
    boolean isOpen = aead.open(nonce, in, 0, bytes - headroom, out, 0);
    if (isOpen) {
      burst.write(start + headroom, out, 0, payloadBytes);
    }
    return isOpen;
  }

  private void reserve(int bytes) {
    if (in.length < bytes) {
      in = new byte[Math.max(bytes, 2 * in.length)];
      out = new byte[in.length];
    }
  }
}
