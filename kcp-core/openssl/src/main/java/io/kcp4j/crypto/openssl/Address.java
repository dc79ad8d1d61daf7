package io.kcp4j.crypto.openssl;

import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.util.Objects;

/**
 * Where direct buffers begin, the last of which is remembered: a segment to ask would be an object.
 * Checks bounds, which the library cannot.
 */
@SuppressWarnings("ReferenceEquality") // Equal buffers may be of different memory.
final class Address {

  private ByteBuffer buffer;
  private long start;

  /**
   * The address of bytes of a direct buffer, counted from its first, wherever its position is.
   *
   * @param bytes to be kept alive by the caller
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
