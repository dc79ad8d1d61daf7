package io.kcp4j.crypto.openssl;

import io.kcp4j.crypto.DirectAead;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;

/** AES-GCM and ChaCha20-Poly1305: the key is set once, the nonce for each packet. */
final class OpenSslAead implements DirectAead {

  private static final int NONCE_BYTES = 12;

  private final CipherContext sealing;
  private final CipherContext opening;
  private final Slice inSlice = new Slice();
  private final Slice outSlice = new Slice();
  private final Slice nonceSlice = new Slice();

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
    return Tag.BYTES;
  }

  @Override
  public void seal(byte[] nonce, byte[] in, int inIndex, int length, byte[] out, int outIndex) {
    MemorySegment payload = inSlice.of(in, inIndex, length);
    MemorySegment sealed = outSlice.of(out, outIndex, length + Tag.BYTES);
    seal(nonce, payload, length, sealed).copyTo(out, outIndex + length);
  }

  @Override
  public void seal(byte[] nonce, ByteBuffer packet, int index, int length) {
    MemorySegment payload = inSlice.of(packet, index, length + Tag.BYTES);
    seal(nonce, payload, length, payload).copyTo(packet, index + length);
  }

  private Tag seal(byte[] nonce, MemorySegment in, int length, MemorySegment out) {
    sealing.restart(nonceSlice.of(nonce, 0, NONCE_BYTES));
    sealing.update(in, length, out);
    sealing.finish();
    return sealing.computedTag();
  }

  @Override
  public boolean open(byte[] nonce, byte[] in, int inIndex, int length, byte[] out, int outIndex) {
    int payloadBytes = length - Tag.BYTES;
    MemorySegment sealed = inSlice.of(in, inIndex, length);
    MemorySegment opened = outSlice.of(out, outIndex, payloadBytes);
    opening.tag().copyFrom(in, inIndex + payloadBytes);
    return open(nonce, sealed, payloadBytes, opened);
  }

  @Override
  public boolean open(
      byte[] nonce, ByteBuffer in, int inIndex, int length, byte[] out, int outIndex) {
    int payloadBytes = length - Tag.BYTES;
    MemorySegment sealed = inSlice.of(in, inIndex, length);
    MemorySegment opened = outSlice.of(out, outIndex, payloadBytes);
    opening.tag().copyFrom(in, inIndex + payloadBytes);
    return open(nonce, sealed, payloadBytes, opened);
  }

  private boolean open(byte[] nonce, MemorySegment in, int length, MemorySegment out) {
    opening.restart(nonceSlice.of(nonce, 0, NONCE_BYTES));
    opening.expectTag();
    opening.update(in, length, out);
    return opening.finish();
  }
}
