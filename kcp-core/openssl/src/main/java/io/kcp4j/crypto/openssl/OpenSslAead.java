package io.kcp4j.crypto.openssl;

import io.kcp4j.crypto.Aead;
import java.lang.foreign.MemorySegment;
import java.lang.ref.Reference;
import java.nio.ByteBuffer;
import java.util.Objects;

/** AES-GCM and ChaCha20-Poly1305: the key is set once, the nonce for each packet. */
final class OpenSslAead implements Aead.Direct {

  private static final int NONCE_BYTES = 12;
  private static final int TAG_BYTES = 16;

  private final CipherContext sealing;
  private final CipherContext opening;
  private final Address address = new Address();
  private final Address outAddress = new Address();

  /** A copy of a packet that is on the heap. */
  private ByteBuffer packet = ByteBuffer.allocateDirect(2048);

  /** The decrypted payload of {@link #packet}. */
  private ByteBuffer payload = ByteBuffer.allocateDirect(2048);

  OpenSslAead(String algorithm, byte[] key) {
    sealing = new CipherContext(algorithm, key, true, TAG_BYTES);
    opening = new CipherContext(algorithm, key, false, TAG_BYTES);
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
  public void seal(ByteBuffer packet, int index, int payloadBytes) {
    Objects.checkIndex(payloadBytes, Integer.MAX_VALUE - NONCE_BYTES - TAG_BYTES);
    long nonce = address.of(packet, index, NONCE_BYTES + payloadBytes + TAG_BYTES);
    long payload = nonce + NONCE_BYTES;
    try {
      sealing.seal(nonce, NONCE_BYTES, payload, payloadBytes, payload + payloadBytes);
    } finally {
      Reference.reachabilityFence(packet);
    }
  }

  @Override
  public boolean open(ByteBuffer in, int index, int bytes, ByteBuffer out, int outIndex) {
    int payloadBytes = bytes - NONCE_BYTES - TAG_BYTES;
    long opened = outAddress.of(out, outIndex, payloadBytes);
    long nonce = address.of(in, index, bytes);
    long sealed = nonce + NONCE_BYTES;
    try {
      return opening.open(nonce, NONCE_BYTES, sealed, payloadBytes, sealed + payloadBytes, opened);
    } finally {
      Reference.reachabilityFence(in);
      Reference.reachabilityFence(out);
    }
  }

  @Override
  public void seal(byte[] nonce, byte[] in, int inIndex, int length, byte[] out, int outIndex) {
    Objects.checkFromIndexSize(outIndex, length + TAG_BYTES, out.length);
    reserve(NONCE_BYTES + length + TAG_BYTES);
    packet.put(0, nonce, 0, NONCE_BYTES);
    packet.put(NONCE_BYTES, in, inIndex, length);
    seal(packet, 0, length);
    packet.get(NONCE_BYTES, out, outIndex, length + TAG_BYTES);
  }

  @Override
  public boolean open(byte[] nonce, byte[] in, int inIndex, int length, byte[] out, int outIndex) {
    int payloadBytes = length - TAG_BYTES;
    Objects.checkFromIndexSize(outIndex, payloadBytes, out.length);
    reserve(NONCE_BYTES + length);
    packet.put(0, nonce, 0, NONCE_BYTES);
    packet.put(NONCE_BYTES, in, inIndex, length);
    boolean isOpen = open(packet, 0, NONCE_BYTES + length, payload, 0);
    payload.get(0, out, outIndex, payloadBytes);
    return isOpen;
  }

  private void reserve(int bytes) {
    if (packet.capacity() < bytes) {
      packet = ByteBuffer.allocateDirect(Math.max(bytes, 2 * packet.capacity()));
      payload = ByteBuffer.allocateDirect(packet.capacity());
    }
  }

  /**
   * Determines addresses in direct buffers. It caches that of the last buffer, since each query
   * would allocate a segment. It checks bounds, which the library cannot.
   */
  @SuppressWarnings("ReferenceEquality") // Equal buffers may be of different memory.
  private static final class Address {

    private ByteBuffer buffer;
    private long start;

    /**
     * The address of bytes of a direct buffer; its position is ignored.
     *
     * @param bytes kept reachable by the caller
     */
    long of(ByteBuffer bytes, int index, int length) {
      Objects.checkFromIndexSize(index, length, bytes.limit());
      if (bytes != buffer) {
        start = MemorySegment.ofBuffer(bytes.duplicate().clear()).address();
        buffer = bytes;
      }
      return start + index;
    }
  }
}
