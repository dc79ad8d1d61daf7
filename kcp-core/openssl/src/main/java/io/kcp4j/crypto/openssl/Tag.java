package io.kcp4j.crypto.openssl;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;

/** An AEAD's tag where a context can read and write it: the parameter "tag" of its own. */
final class Tag {

  static final int BYTES = 16;

  private static final int OCTET_STRING = 5;

  /** Of a parameter: its name, type, data, their size, and how many bytes were written. */
  private static final int PARAMETER_BYTES = 40;

  private final MemorySegment parameters;
  private final MemorySegment tag;
  private final ByteBuffer bytes;

  Tag(Arena arena) {
    tag = arena.allocate(BYTES);
    bytes = tag.asByteBuffer();
    // One parameter, and zeros behind the last one.
    parameters = arena.allocate(2 * PARAMETER_BYTES, Long.BYTES);
    parameters.set(ADDRESS, 0, arena.allocateFrom("tag"));
    parameters.set(JAVA_INT, 8, OCTET_STRING);
    parameters.set(ADDRESS, 16, tag);
    parameters.set(JAVA_LONG, 24, BYTES);
  }

  MemorySegment parameters() {
    return parameters;
  }

  void copyFrom(byte[] from, int index) {
    MemorySegment.copy(from, index, tag, JAVA_BYTE, 0, BYTES);
  }

  void copyFrom(ByteBuffer from, int index) {
    bytes.put(0, from, index, BYTES);
  }

  void copyTo(byte[] to, int index) {
    MemorySegment.copy(tag, JAVA_BYTE, 0, to, index, BYTES);
  }

  void copyTo(ByteBuffer to, int index) {
    to.put(index, bytes, 0, BYTES);
  }
}
