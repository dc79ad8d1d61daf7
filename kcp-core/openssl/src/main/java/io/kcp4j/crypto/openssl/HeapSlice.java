package io.kcp4j.crypto.openssl;

import java.lang.foreign.MemorySegment;
import java.util.Objects;

/**
 * The bytes of an array from an index on, as a segment to pass to the library. It checks bounds,
 * which the library cannot. It caches the last segment: most calls use the same scratch array, and
 * the JIT compiler does not eliminate the allocation of segments passed to a function.
 */
final class HeapSlice {

  private byte[] array;
  private int index;
  private MemorySegment segment;

  MemorySegment of(byte[] bytes, int start, int length) {
    Objects.checkFromIndexSize(start, length, bytes.length);
    if (bytes != array || start != index) {
      array = bytes;
      index = start;
      segment = MemorySegment.ofArray(bytes).asSlice(start);
    }
    return segment;
  }
}
