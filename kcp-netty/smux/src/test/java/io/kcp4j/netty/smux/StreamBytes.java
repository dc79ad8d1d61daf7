package io.kcp4j.netty.smux;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;

/** What the stream of a seed carries: bytes that differ at every place, and for every seed. */
final class StreamBytes {

  private StreamBytes() {}

  /** The bytes from {@code at} on, in a buffer that becomes the caller's. */
  static ByteBuf next(ByteBufAllocator allocator, long seed, long at, int length) {
    ByteBuf bytes = allocator.buffer(length);
    for (int i = 0; i < length; i++) {
      bytes.writeByte(byteAt(seed, at + i));
    }
    return bytes;
  }

  /** Whether the readable bytes are those from {@code at} on. */
  static boolean matches(long seed, long at, ByteBuf bytes) {
    for (int i = 0; i < bytes.readableBytes(); i++) {
      if (bytes.getByte(bytes.readerIndex() + i) != byteAt(seed, at + i)) {
        return false;
      }
    }
    return true;
  }

  /** SplitMix64 at any place. */
  private static byte byteAt(long seed, long at) {
    long z = seed * 0x2545f4914f6cdd1dL + (at / Long.BYTES + 1) * 0x9e3779b97f4a7c15L;
    z = (z ^ (z >>> 30)) * 0xbf58476d1ce4e5b9L;
    z = (z ^ (z >>> 27)) * 0x94d049bb133111ebL;
    return (byte) ((z ^ (z >>> 31)) >>> (Byte.SIZE * (at % Long.BYTES)));
  }
}
