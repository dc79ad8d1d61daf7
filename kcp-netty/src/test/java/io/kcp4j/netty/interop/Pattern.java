package io.kcp4j.netty.interop;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.ByteBufUtil;
import java.util.Arrays;

/**
 * An endless stream of pseudo-random bytes, the same for the same seed: what a test sends, and what
 * it must get back. No part of it looks like another, so that a byte in the wrong place shows.
 */
final class Pattern {

  private long word;
  private int used = Long.BYTES;
  private long state;

  Pattern(long seed) {
    state = seed;
  }

  /** The next {@code length} bytes, in a buffer that becomes the caller's. */
  ByteBuf next(ByteBufAllocator allocator, int length) {
    return allocator.buffer(length).writeBytes(nextBytes(length));
  }

  /** Whether the readable bytes are the next ones of the stream. */
  boolean continuesWith(ByteBuf buffer) {
    byte[] bytes = ByteBufUtil.getBytes(buffer);
    return Arrays.equals(bytes, nextBytes(bytes.length));
  }

  private byte[] nextBytes(int length) {
    byte[] bytes = new byte[length];
    for (int i = 0; i < length; i++) {
      bytes[i] = nextByte();
    }
    return bytes;
  }

  private byte nextByte() {
    if (used == Long.BYTES) {
      word = nextWord();
      used = 0;
    }
    used++;
    byte next = (byte) word;
    word >>>= Byte.SIZE;
    return next;
  }

  /** SplitMix64. */
  private long nextWord() {
    state += 0x9e3779b97f4a7c15L;
    long z = state;
    z = (z ^ (z >>> 30)) * 0xbf58476d1ce4e5b9L;
    z = (z ^ (z >>> 27)) * 0x94d049bb133111ebL;
    return z ^ (z >>> 31);
  }
}
