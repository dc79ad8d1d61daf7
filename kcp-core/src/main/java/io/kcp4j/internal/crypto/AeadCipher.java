package io.kcp4j.internal.crypto;

import io.kcp4j.crypto.Aead;
import java.nio.ByteBuffer;
import java.security.SecureRandom;

/**
 * Packets of an AEAD: nonce, ciphertext, tag; protocol.md 10.2. It works on heap copies, where the
 * JCE is fast, unless the AEAD is a {@link Aead.Direct}, and writes back what has succeeded.
 */
public final class AeadCipher extends PacketCipher.KeyCipher {

  private final Aead aead;

  /** The same cipher if it is a {@link Aead.Direct}, or null. */
  private final Aead.Direct direct;

  private final NonceSource nonces = new NonceSource(new SecureRandom());
  private final int headroom;
  private final int tailroom;
  private final byte[] nonce;
  private byte[] in = new byte[2048];
  private byte[] out = new byte[2048];
  private ByteBuffer directOut;

  public AeadCipher(Aead aead) {
    this.aead = aead;
    direct = aead instanceof Aead.Direct d ? d : null;
    headroom = aead.nonceBytes();
    tailroom = aead.tagBytes();
    nonce = new byte[headroom];
  }

  @Override
  void seal(PacketBatch batch) {
    nonces.expire();
    for (int i = 0; i < batch.size(); i++) {
      int start = batch.start(i);
      int payloadBytes = batch.end(i) - start - headroom - tailroom;
      nonces.next(nonce, 0, headroom);
      if (direct != null && batch.direct() != null) {
        batch.write(start, nonce, 0, headroom);
        direct.seal(batch.direct(), batch.directIndex(start), payloadBytes);
      } else {
        sealCopy(batch, start, payloadBytes);
      }
    }
  }

  private void sealCopy(PacketBatch batch, int start, int payloadBytes) {
    int bytes = headroom + payloadBytes + tailroom;
    reserve(bytes);
    batch.read(start + headroom, in, 0, payloadBytes);
    System.arraycopy(nonce, 0, out, 0, headroom);
    aead.seal(nonce, in, 0, payloadBytes, out, headroom);
    batch.write(start, out, 0, bytes);
  }

  @Override
  int open(PacketBatch batch, int[] pending, int count, int minPayloadBytes) {
    int refused = 0;
    for (int k = 0; k < count; k++) {
      if (!open(batch, pending[k], minPayloadBytes)) {
        pending[refused++] = pending[k];
      }
    }
    return refused;
  }

  private boolean open(PacketBatch batch, int i, int minPayloadBytes) {
    int start = batch.start(i);
    int bytes = batch.end(i) - start;
    int payloadBytes = bytes - headroom - tailroom;
    if (payloadBytes < minPayloadBytes) {
      return false;
    }
    boolean isDirect = direct != null && batch.direct() != null;
    boolean isOpen =
        isDirect
            ? openDirect(batch, start, bytes, payloadBytes)
            : openCopy(batch, start, bytes, payloadBytes);
    if (isOpen) {
      batch.narrow(i, headroom, tailroom);
      batch.authenticated(i, headroom);
    }
    return isOpen;
  }

  private boolean openDirect(PacketBatch batch, int start, int bytes, int payloadBytes) {
    if (directOut == null || directOut.capacity() < bytes) {
      directOut = ByteBuffer.allocateDirect(Math.max(bytes, out.length));
    }
    int index = batch.directIndex(start);
    boolean isOpen = direct.open(batch.direct(), index, bytes, directOut, 0);
    if (isOpen) {
      batch.direct().put(index + headroom, directOut, 0, payloadBytes);
    }
    return isOpen;
  }

  private boolean openCopy(PacketBatch batch, int start, int bytes, int payloadBytes) {
    reserve(bytes);
    batch.read(start, nonce, 0, headroom);
    batch.read(start + headroom, in, 0, bytes - headroom);
    boolean isOpen = aead.open(nonce, in, 0, bytes - headroom, out, 0);
    if (isOpen) {
      batch.write(start + headroom, out, 0, payloadBytes);
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
