package io.kcp4j.examples.snappy;

import static io.kcp4j.examples.snappy.ArrayView.intAt;
import static io.kcp4j.examples.snappy.ArrayView.longAt;
import static io.kcp4j.examples.snappy.ArrayView.putLong;

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

  /** Literals are copied in steps of so many bytes, and so may write beyond their end. */
  private static final int OUTPUT_SLACK_BYTES = 16;

  /** The capacity that the output of {@link #compress} has to have behind its start. */
  static final int OUTPUT_BYTES = MAX_COMPRESSED_BYTES + OUTPUT_SLACK_BYTES;

  /** The end of a block is not searched for matches: probes read eight bytes. */
  private static final int MARGIN_BYTES = 15;

  private static final int MIN_TABLE_BITS = 8;
  private static final int MAX_TABLE_BITS = 14;

  /** Probes go on byte by byte for so many misses; then the step grows by one with each so many. */
  private static final int SKIP_SHIFT = 5;

  private static final int MIN_MATCH_BYTES = 4;
  private static final int MAX_COPY_BYTES = 64;

  /** Limits of a copy element of two bytes. */
  private static final int MAX_SHORT_COPY_BYTES = 11;

  private static final int MAX_SHORT_OFFSET = 2047;

  private final short[] table = new short[1 << MAX_TABLE_BITS];

  private byte[] out;
  private int at;

  /**
   * Compresses a block.
   *
   * @param length 1 to {@value #MAX_BLOCK_BYTES}
   * @param out has room for {@value #OUTPUT_BYTES} bytes behind {@code outStart}
   * @return the index behind the last byte written
   */
  int compress(byte[] in, int start, int length, byte[] out, int outStart) {
    this.out = out;
    at = outStart;
    length(length);
    int rest = length > MARGIN_BYTES ? search(in, start, start + length) : start;
    if (rest < start + length) {
      literal(in, rest, start + length);
    }
    this.out = null;
    return at;
  }

  private void length(int length) {
    int rest = length;
    while (rest >= 0x80) {
      out[at++] = (byte) (rest | 0x80);
      rest >>>= 7;
    }
    out[at++] = (byte) rest;
  }

  /** Writes literals and copies, and returns the index from which on nothing has been written. */
  private int search(byte[] in, int start, int end) {
    int bits = tableBits(end - start);
    int shift = Integer.SIZE - bits;
    short[] table = this.table;
    Arrays.fill(table, 0, 1 << bits, (short) 0);
    int limit = end - MARGIN_BYTES;
    int written = start;
    int position = start + 1;
    while (true) {
      int probes = 1 << SKIP_SHIFT;
      int candidate;
      while (true) {
        if (position > limit) {
          return written;
        }
        int bytes = intAt(in, position);
        int hash = hash(bytes, shift);
        candidate = start + (table[hash] & 0xffff);
        table[hash] = (short) (position - start);
        if (bytes == intAt(in, candidate)) {
          break;
        }
        position += probes++ >>> SKIP_SHIFT;
      }
      literal(in, written, position);
      long next;
      do {
        int length = MIN_MATCH_BYTES + matching(in, candidate + 4, position + 4, end);
        copy(position - candidate, length);
        position += length;
        written = position;
        if (position > limit) {
          return written;
        }
        // A match often follows another at once. The last position of this one is worth an entry.
        long around = longAt(in, position - 1);
        table[hash((int) around, shift)] = (short) (position - 1 - start);
        next = around >>> Byte.SIZE;
        int hash = hash((int) next, shift);
        candidate = start + (table[hash] & 0xffff);
        table[hash] = (short) (position - start);
      } while ((int) next == intAt(in, candidate));
      position++;
    }
  }

  /** A table for short blocks is small, since it is cleared for each block. */
  private static int tableBits(int length) {
    int bits = Integer.SIZE - Integer.numberOfLeadingZeros(length - 1);
    return Math.min(Math.max(bits, MIN_TABLE_BITS), MAX_TABLE_BITS);
  }

  /** Multiplication by an odd constant near 2^32 divided by the golden ratio. */
  private static int hash(int bytes, int shift) {
    return (bytes * 0x9e3779b1) >>> shift;
  }

  /** How many bytes from {@code a} and from {@code b} on are equal; {@code a < b}. */
  private static int matching(byte[] in, int a, int b, int end) {
    int from = b;
    while (b <= end - Long.BYTES) {
      long difference = longAt(in, a) ^ longAt(in, b);
      if (difference != 0) {
        return b - from + Long.numberOfTrailingZeros(difference) / Byte.SIZE;
      }
      a += Long.BYTES;
      b += Long.BYTES;
    }
    while (b < end && in[a] == in[b]) {
      a++;
      b++;
    }
    return b - from;
  }

  private void literal(byte[] in, int from, int to) {
    int length = to - from;
    int n = length - 1;
    if (n < 60) {
      out[at++] = (byte) (n << 2);
      if (length <= 16 && from + 16 <= in.length) {
        putLong(out, at, longAt(in, from));
        putLong(out, at + 8, longAt(in, from + 8));
        at += length;
        return;
      }
    } else if (n < 1 << 8) {
      out[at++] = (byte) (60 << 2);
      out[at++] = (byte) n;
    } else {
      out[at++] = (byte) (61 << 2);
      out[at++] = (byte) n;
      out[at++] = (byte) (n >>> 8);
    }
    System.arraycopy(in, from, out, at, length);
    at += length;
  }

  private void copy(int offset, int length) {
    int rest = length;
    while (rest > MAX_COPY_BYTES) {
      // Leaves at least four bytes, which may be a short copy.
      int part = rest >= MAX_COPY_BYTES + MIN_MATCH_BYTES ? MAX_COPY_BYTES : 60;
      longCopy(offset, part);
      rest -= part;
    }
    if (rest <= MAX_SHORT_COPY_BYTES && offset <= MAX_SHORT_OFFSET) {
      out[at++] = (byte) (offset >>> 8 << 5 | (rest - MIN_MATCH_BYTES) << 2 | 1);
      out[at++] = (byte) offset;
    } else {
      longCopy(offset, rest);
    }
  }

  private void longCopy(int offset, int length) {
    out[at++] = (byte) ((length - 1) << 2 | 2);
    out[at++] = (byte) offset;
    out[at++] = (byte) (offset >>> 8);
  }
}
