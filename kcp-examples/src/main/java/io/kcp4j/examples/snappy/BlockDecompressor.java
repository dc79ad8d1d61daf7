package io.kcp4j.examples.snappy;

import static io.kcp4j.examples.snappy.ArrayView.longAt;
import static io.kcp4j.examples.snappy.ArrayView.putLong;

import io.netty.handler.codec.CorruptedFrameException;

/**
 * Decompresses blocks in Snappy's block format of at most {@value BlockCompressor#MAX_BLOCK_BYTES}
 * bytes. Whatever the input, nothing is written beyond {@link #OUTPUT_BYTES}. One thread at a time.
 */
final class BlockDecompressor {

  /** Short literals and copies are written in steps of eight bytes, and so beyond their end. */
  private static final int SLACK_BYTES = 16;

  /** The capacity that the output of {@link #decompress} has to have. */
  static final int OUTPUT_BYTES = BlockCompressor.MAX_BLOCK_BYTES + SLACK_BYTES;

  private static final int MAX_LENGTH_BYTES = 5;

  private byte[] in;
  private int position;
  private int end;

  /**
   * Decompresses a block.
   *
   * @param out has at least {@link #OUTPUT_BYTES}; what is behind the block is undefined afterwards
   * @return the number of bytes
   * @throws CorruptedFrameException if the input is no such block
   */
  int decompress(byte[] in, int start, int end, byte[] out) {
    this.in = in;
    position = start;
    this.end = end;
    int length = length();
    int produced = 0;
    while (position < this.end) {
      int tag = in[position++] & 0xff;
      produced +=
          (tag & 3) == 0 ? literal(tag, out, produced, length) : copy(tag, out, produced, length);
    }
    this.in = null;
    if (produced != length) {
      throw corrupt("a block of " + produced + " bytes (expected: " + length + ")");
    }
    return length;
  }

  private int length() {
    long length = 0;
    for (int i = 0; i < MAX_LENGTH_BYTES; i++) {
      int b = next();
      length |= (b & 0x7fL) << (7 * i);
      if (b < 0x80) {
        if (length > BlockCompressor.MAX_BLOCK_BYTES) {
          break;
        }
        return (int) length;
      }
    }
    throw corrupt(
        "a block that is too long (expected: <= " + BlockCompressor.MAX_BLOCK_BYTES + " bytes)");
  }

  private int next() {
    if (position == end) {
      throw corrupt("a block that ends within an element");
    }
    return in[position++] & 0xff;
  }

  private int literal(int tag, byte[] out, int at, int limit) {
    long length = (tag >>> 2) + 1L;
    if (length > 60) {
      int bytes = (int) length - 60;
      length = 0;
      for (int i = 0; i < bytes; i++) {
        length |= (long) next() << (8 * i);
      }
      length++;
    }
    if (length > end - position || length > limit - at) {
      throw corrupt("a literal of " + length + " bytes, beyond the end of its block");
    }
    int bytes = (int) length;
    if (bytes <= 16 && position + 16 <= in.length) {
      putLong(out, at, longAt(in, position));
      putLong(out, at + 8, longAt(in, position + 8));
    } else {
      System.arraycopy(in, position, out, at, bytes);
    }
    position += bytes;
    return bytes;
  }

  private int copy(int tag, byte[] out, int at, int limit) {
    int length;
    int offset;
    switch (tag & 3) {
      case 1 -> {
        length = (tag >>> 2 & 7) + 4;
        offset = (tag & 0xe0) << 3 | next();
      }
      case 2 -> {
        length = (tag >>> 2) + 1;
        offset = next() | next() << 8;
      }
      default -> {
        length = (tag >>> 2) + 1;
        offset = next() | next() << 8 | next() << 16 | next() << 24;
      }
    }
    if (offset <= 0 || offset > at || length > limit - at) {
      throw corrupt("a copy of " + length + " bytes at offset " + offset + " of " + at);
    }
    if (offset >= Long.BYTES) {
      for (int to = at; to < at + length; to += Long.BYTES) {
        putLong(out, to, longAt(out, to - offset));
      }
    } else { // The bytes written are those read next.
      for (int to = at; to < at + length; to++) {
        out[to] = out[to - offset];
      }
    }
    return length;
  }

  private static CorruptedFrameException corrupt(String what) {
    return new CorruptedFrameException("Snappy: " + what);
  }
}
