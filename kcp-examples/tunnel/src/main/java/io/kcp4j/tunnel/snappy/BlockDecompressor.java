package io.kcp4j.tunnel.snappy;

import static io.kcp4j.tunnel.snappy.ArrayView.intAt;
import static io.kcp4j.tunnel.snappy.ArrayView.longAt;
import static io.kcp4j.tunnel.snappy.ArrayView.putLong;

import io.netty.handler.codec.CorruptedFrameException;

/**
 * Decompresses blocks in Snappy's block format of at most {@value BlockCompressor#MAX_BLOCK_BYTES}
 * bytes. Whatever the input, nothing is written beyond {@link #OUTPUT_BYTES}.
 *
 * <p>A block is its length and then elements: literals, which follow their tag, and copies of what
 * was decompressed before. A tag says how many bytes follow it with a length or an offset.
 */
final class BlockDecompressor {

  /** Short literals and copies are written in steps of eight bytes, and so beyond their end. */
  private static final int SLACK_BYTES = 16;

  /** The capacity that the output of {@link #decompress} has to have. */
  static final int OUTPUT_BYTES = BlockCompressor.MAX_BLOCK_BYTES + SLACK_BYTES;

  /** The block's length takes no more than these for 64 KiB. */
  private static final int MAX_LENGTH_BYTES = 5;

  // Kinds of elements: the lowest two bits of a tag.
  private static final int LITERAL = 0;
  private static final int COPY_11_BITS = 1;
  private static final int COPY_32_BITS = 3;

  /** A literal that is longer has its length behind the tag. */
  private static final int MAX_SHORT_LITERAL_BYTES = 60;

  private BlockDecompressor() {}

  /**
   * Decompresses a block.
   *
   * @param out has at least {@link #OUTPUT_BYTES}; what is behind the block is undefined afterwards
   * @return the number of bytes
   * @throws CorruptedFrameException if the input is no such block
   */
  static int decompress(byte[] in, int start, int end, byte[] out) {
    int lengthBytes = lengthBytes(in, start, end);
    int limit = length(in, start, lengthBytes);
    int position = start + lengthBytes;
    int at = 0;
    while (position < end) {
      int tag = in[position++] & 0xff;
      int kind = tag & 3;
      int numberBytes = numberBytes(kind, tag >>> 2);
      if (numberBytes > end - position) {
        throw corrupt("a block that ends within an element");
      }
      int number = number(in, position, numberBytes);
      position += numberBytes;
      int length = length(kind, tag >>> 2, number);
      if (length <= 0 || length > limit - at) {
        throw corrupt("an element beyond the end of its block");
      }
      if (kind == LITERAL) {
        if (length > end - position) {
          throw corrupt("a block that ends within a literal");
        }
        literal(in, position, out, at, length);
        position += length;
      } else {
        int offset = kind == COPY_11_BITS ? (tag & 0xe0) << 3 | number : number;
        if (offset <= 0 || offset > at) {
          throw corrupt("a copy from offset " + offset + " of " + at);
        }
        copy(out, at, offset, length);
      }
      at += length;
    }
    if (at != limit) {
      throw corrupt("a block of " + at + " bytes (expected: " + limit + ")");
    }
    return limit;
  }

  private static int lengthBytes(byte[] in, int start, int end) {
    for (int i = start; i < end && i < start + MAX_LENGTH_BYTES; i++) {
      if (in[i] >= 0) {
        return i + 1 - start;
      }
    }
    throw corrupt("a block without a length");
  }

  private static int length(byte[] in, int start, int lengthBytes) {
    long length = 0;
    for (int i = lengthBytes - 1; i >= 0; i--) {
      length = length << 7 | (in[start + i] & 0x7f);
    }
    if (length > BlockCompressor.MAX_BLOCK_BYTES) {
      throw corrupt(
          "a block of " + length + " bytes (expected: <= " + BlockCompressor.MAX_BLOCK_BYTES + ")");
    }
    return (int) length;
  }

  /** How many bytes follow the tag with a length or an offset. */
  private static int numberBytes(int kind, int upperBits) {
    if (kind == LITERAL) {
      return Math.max(upperBits - (MAX_SHORT_LITERAL_BYTES - 1), 0);
    }
    return kind == COPY_32_BITS ? Integer.BYTES : kind;
  }

  private static int number(byte[] in, int position, int numberBytes) {
    if (position + Integer.BYTES <= in.length) {
      return (int) (intAt(in, position) & ((1L << (Byte.SIZE * numberBytes)) - 1));
    }
    int number = 0;
    for (int i = numberBytes - 1; i >= 0; i--) {
      number = number << Byte.SIZE | (in[position + i] & 0xff);
    }
    return number;
  }

  /** The length of an element, or less than 1 if it is 2 GiB or more. */
  private static int length(int kind, int upperBits, int number) {
    if (kind == COPY_11_BITS) {
      return (upperBits & 7) + BlockCompressor.MIN_MATCH_BYTES;
    }
    boolean isInTag = kind != LITERAL || upperBits < MAX_SHORT_LITERAL_BYTES;
    return 1 + (isInTag ? upperBits : number);
  }

  private static void literal(byte[] in, int position, byte[] out, int at, int length) {
    if (length <= SLACK_BYTES && position + SLACK_BYTES <= in.length) {
      putLong(out, at, longAt(in, position));
      putLong(out, at + Long.BYTES, longAt(in, position + Long.BYTES));
    } else {
      System.arraycopy(in, position, out, at, length);
    }
  }

  private static void copy(byte[] out, int at, int offset, int length) {
    if (offset >= Long.BYTES) {
      for (int to = at; to < at + length; to += Long.BYTES) {
        putLong(out, to, longAt(out, to - offset));
      }
    } else { // The bytes written are those read next.
      for (int to = at; to < at + length; to++) {
        out[to] = out[to - offset];
      }
    }
  }

  private static CorruptedFrameException corrupt(String what) {
    return new CorruptedFrameException("Snappy: " + what);
  }
}
