package io.kcp4j.crypto.openssl;

import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.util.Objects;

/**
 * Determines addresses in direct buffers. It caches that of the last buffer, since each query would
 * allocate a segment. It checks bounds, which the library cannot.
 */
@SuppressWarnings("ReferenceEquality") // Equal buffers may be of different memory.
final class Address {

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
