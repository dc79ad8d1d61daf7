package io.kcp4j.crypto.openssl;

import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.util.Objects;

/**
 * Bytes from an index on, as a segment to hand to the library. Checks their bounds, which the
 * library cannot. A segment is kept as long as it can be: most calls have the scratch of the one
 * before, and the JIT compiler does not get rid of segments that are handed to a function.
 */
@SuppressWarnings("ReferenceEquality") // Equal buffers may be of different memory.
final class Slice {

  private byte[] array;
  private int index;
  private MemorySegment segment;

  private ByteBuffer buffer;
  private long address;

  MemorySegment of(byte[] bytes, int start, int length) {
    Objects.checkFromIndexSize(start, length, bytes.length);
    if (bytes != array || start != index) {
      array = bytes;
      index = start;
      segment = MemorySegment.ofArray(bytes).asSlice(start);
    }
    return segment;
  }

  /**
   * Of a direct buffer, counted from its first byte, wherever its position is.
   *
   * @param bytes to be kept alive by the caller
   */
  MemorySegment of(ByteBuffer bytes, int start, int length) {
    Objects.checkFromIndexSize(start, length, bytes.limit());
    if (bytes != buffer) {
      buffer = bytes;
      address = MemorySegment.ofBuffer(bytes.duplicate().clear()).address();
    }
    return MemorySegment.ofAddress(address + start);
  }
}
