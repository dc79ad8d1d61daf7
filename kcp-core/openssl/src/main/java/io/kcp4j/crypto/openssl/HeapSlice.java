package io.kcp4j.crypto.openssl;

import java.lang.foreign.MemorySegment;
import java.util.Objects;

/**
 * Bytes of an array from an index on, as a segment to hand to the library. Checks their bounds,
 * which the library cannot. A segment is kept as long as it can be: most calls have the scratch of
 * the one before, and the JIT compiler does not get rid of segments that are handed to a function.
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
