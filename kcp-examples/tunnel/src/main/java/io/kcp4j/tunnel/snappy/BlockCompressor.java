package io.kcp4j.tunnel.snappy;

import static io.kcp4j.tunnel.snappy.ArrayView.intAt;
import static io.kcp4j.tunnel.snappy.ArrayView.longAt;
import static io.kcp4j.tunnel.snappy.ArrayView.putLong;

import java.util.Arrays;

/**
 * Compresses blocks of at most {@value #MAX_BLOCK_BYTES} bytes into Snappy's block format. A hash
 * table has the position where four bytes occurred last. The longer no match is found, the more
 * bytes are skipped between two probes, so that incompressible bytes cost little. One thread at a
 * time.
 */
final class BlockCompressor {

  /** The largest block of the framing format. Positions in the table have 16 bits. */
  static final int MAX_BLOCK_BYTES = 65536;

  /**
   * The largest compressed block: six bytes of input become seven at worst, plus the length. The
   * format's own bound, which peers use as well.
   */
  static final int MAX_COMPRESSED_BYTES = 32 + MAX_BLOCK_BYTES + MAX_BLOCK_BYTES / 6;

  /** The shortest match, and the shortest copy of the format. */
  static final int MIN_MATCH_BYTES = 4;

  /** Short literals are copied whole, and so written beyond their end. */
  private static final int SLACK_BYTES = 16;

  /** The capacity that the output of {@link #compress} has to have behind its start. */
  static final int OUTPUT_BYTES = MAX_COMPRESSED_BYTES + SLACK_BYTES;

  /** The end of a block is not searched for matches: probes read eight bytes. */
  private static final int MARGIN_BYTES = 15;

  private static final int MIN_TABLE_BITS = 8;
  private static final int MAX_TABLE_BITS = 14;

  /** Probes go on byte by byte for so many misses; then the step grows by one with each so many. */
  private static final int SKIP_SHIFT = 5;

  private static final int MAX_COPY_BYTES = 64;

  /** Limits of a copy element of two bytes. */
  private static final int MAX_SHORT_COPY_BYTES = 11;

  private static final int MAX_SHORT_OFFSET = 2047;

  private final short[] table = new short[1 << MAX_TABLE_BITS];

  /**
   * Compresses a block.
   *
   * @param length 1 to {@value #MAX_BLOCK_BYTES}
   * @param out has room for {@link #OUTPUT_BYTES} behind {@code outStart}
   * @return the index behind the last byte written
   */
  int compress(byte[] in, int start, int length, byte[] out, int outStart) {
    int at = outStart;
    int rest = length;
    while (rest >= 0x80) {
      out[at++] = (byte) (rest | 0x80);
      rest >>>= 7;
    }
    out[at++] = (byte) rest;
    int end = start + length;
    return length > MARGIN_BYTES
        ? elements(in, start, end, out, at)
        : literal(in, start, end, out, at);
  }

  private int elements(byte[] in, int start, int end, byte[] out, int outStart) {
    int shift = Integer.SIZE - clearTable(end - start);
    int limit = end - MARGIN_BYTES;
    int written = start;
    int position = start + 1;
    int at = outStart;
    while (true) {
      int candidate = 0;
      for (int probes = 1 << SKIP_SHIFT; position <= limit; position += probes++ >>> SKIP_SHIFT) {
        int bytes = intAt(in, position);
        candidate = start + replace(hash(bytes, shift), position - start);
        if (bytes == intAt(in, candidate)) {
          break;
        }
      }
      if (position > limit) {
        return literal(in, written, end, out, at);
      }
      at = literal(in, written, position, out, at);
      long next;
      do {
        int length = MIN_MATCH_BYTES + matching(in, candidate + 4, position + 4, end);
        at = copy(position - candidate, length, out, at);
        position += length;
        written = position;
        if (position > limit) {
          return position < end ? literal(in, position, end, out, at) : at;
        }
        // A match often follows another at once. The last position of this one is worth an entry.
        long around = longAt(in, position - 1);
        replace(hash((int) around, shift), position - 1 - start);
        next = around >>> Byte.SIZE;
        candidate = start + replace(hash((int) next, shift), position - start);
      } while ((int) next == intAt(in, candidate));
      position++;
    }
  }

  /** Clears as much of the table as a block needs, and returns the number of bits of a hash. */
  private int clearTable(int length) {
    int bits = Integer.SIZE - Integer.numberOfLeadingZeros(length - 1);
    bits = Math.min(Math.max(bits, MIN_TABLE_BITS), MAX_TABLE_BITS);
    Arrays.fill(table, 0, 1 << bits, (short) 0);
    return bits;
  }

  /** Sets the last position of a hash, and returns the one before. */
  private int replace(int hash, int position) {
    int before = table[hash] & 0xffff;
    table[hash] = (short) position;
    return before;
  }

  /** Multiplication by an odd constant near 2^32 divided by the golden ratio. */
  private static int hash(int bytes, int shift) {
    return (bytes * 0x9e3779b1) >>> shift;
  }

  /** How many bytes from {@code a} and from {@code b} on are equal; {@code a < b}. */
  private static int matching(byte[] in, int a, int b, int end) {
    int distance = b - a;
    int i = b;
    for (; i <= end - Long.BYTES; i += Long.BYTES) {
      long difference = longAt(in, i - distance) ^ longAt(in, i);
      if (difference != 0) {
        return i - b + Long.numberOfTrailingZeros(difference) / Byte.SIZE;
      }
    }
    while (i < end && in[i - distance] == in[i]) {
      i++;
    }
    return i - b;
  }

  private static int literal(byte[] in, int from, int to, byte[] out, int outStart) {
    int at = outStart;
    int length = to - from;
    int n = length - 1;
    if (n < 60) {
      out[at++] = (byte) (n << 2);
    } else if (n < 1 << 8) {
      out[at++] = (byte) (60 << 2);
      out[at++] = (byte) n;
    } else {
      out[at++] = (byte) (61 << 2);
      out[at++] = (byte) n;
      out[at++] = (byte) (n >>> 8);
    }
    if (length <= SLACK_BYTES && from + SLACK_BYTES <= in.length) {
      putLong(out, at, longAt(in, from));
      putLong(out, at + Long.BYTES, longAt(in, from + Long.BYTES));
    } else {
      System.arraycopy(in, from, out, at, length);
    }
    return at + length;
  }

  private static int copy(int offset, int length, byte[] out, int outStart) {
    int at = outStart;
    int rest = length;
    while (rest > MAX_COPY_BYTES) {
      // Leaves at least four bytes, which may be a short copy.
      int part = rest >= MAX_COPY_BYTES + MIN_MATCH_BYTES ? MAX_COPY_BYTES : 60;
      at = longCopy(offset, part, out, at);
      rest -= part;
    }
    if (rest > MAX_SHORT_COPY_BYTES || offset > MAX_SHORT_OFFSET) {
      return longCopy(offset, rest, out, at);
    }
    out[at] = (byte) (offset >>> 8 << 5 | (rest - MIN_MATCH_BYTES) << 2 | 1);
    out[at + 1] = (byte) offset;
    return at + 2;
  }

  private static int longCopy(int offset, int length, byte[] out, int at) {
    out[at] = (byte) ((length - 1) << 2 | 2);
    out[at + 1] = (byte) offset;
    out[at + 2] = (byte) (offset >>> 8);
    return at + 3;
  }
}
