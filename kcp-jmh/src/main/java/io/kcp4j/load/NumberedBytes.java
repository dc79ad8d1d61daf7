package io.kcp4j.load;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;

/**
 * The bytes that the clients of some modes send: big-endian words of 64 bits that count from 0.
 * Bytes that are missing, repeated or exchanged therefore show.
 */
final class NumberedBytes {

  private NumberedBytes() {}

  /** Returns a new buffer with those from a position on. */
  static ByteBuf from(long position, int count, ByteBufAllocator allocator) {
    ByteBuf bytes = allocator.directBuffer(count, count);
    long end = position + count;
    for (long at = position; at < end; ) {
      if ((at & 7) == 0 && end - at >= Long.BYTES) {
        bytes.writeLong(at >> 3);
        at += Long.BYTES;
      } else {
        bytes.writeByte(at(at++));
      }
    }
    return bytes;
  }

  /** Describes the first readable byte that differs from those at a position; "" without one. */
  static String firstWrong(ByteBuf bytes, long position) {
    for (int i = 0; i < bytes.readableBytes(); i++) {
      int actual = bytes.getUnsignedByte(bytes.readerIndex() + i);
      int expected = at(position + i);
      if (actual != expected) {
        return "byte " + (position + i) + " is " + actual + " in place of " + expected;
      }
    }
    return "";
  }

  private static int at(long position) {
    return (int) (position >> 3 >> (56 - 8 * (position & 7))) & 0xff;
  }
}
