package io.kcp4j.crypto.vector;

import static jdk.incubator.vector.VectorOperators.ROL;
import static jdk.incubator.vector.VectorOperators.XOR;

import jdk.incubator.vector.ByteVector;
import jdk.incubator.vector.IntVector;
import jdk.incubator.vector.VectorMask;
import jdk.incubator.vector.VectorShuffle;
import jdk.incubator.vector.VectorSpecies;

/**
 * Quads: four blocks of Salsa20 each. A block is a square of words; a round processes its columns,
 * the next one its rows. The four diagonals are the operands of the four quarter rounds of a round;
 * a vector has one diagonal of four blocks. Rotating three of the diagonals, by one, two and three
 * words, exchanges columns and rows, as in D. J. Bernstein's implementations for SSE2.
 *
 * <p>In memory the vectors of a quad are consecutive: first the diagonals, at the end the blocks.
 *
 * <p>Species, shuffles and masks have to be constants for the JIT compiler. In methods with much
 * more code of the Vector API it allocates vectors on the heap.
 */
final class Quads {

  private static final VectorSpecies<Integer> WORDS = IntVector.SPECIES_512;
  private static final VectorSpecies<Byte> BYTES = ByteVector.SPECIES_512;

  static final int BLOCKS = 4;

  /** The ints of a diagonal or row of one block. */
  static final int SIDE_INTS = 4;

  /** The ints of a diagonal or row of all blocks. */
  static final int ROW_INTS = BLOCKS * SIDE_INTS;

  /** The ints of a quad. */
  static final int INTS = SIDE_INTS * ROW_INTS;

  /** Quads processed in parallel, to hide the latency of instructions. */
  static final int AT_ONCE = 3;

  // The offsets of the diagonals: words 0, 5, 10, 15 of the square; 4, 9, 14, 3; 8, 13, 2, 7; and
  // 12, 1, 6, 11.
  static final int A = 0;
  static final int B = ROW_INTS;
  static final int C = 2 * ROW_INTS;
  static final int D = 3 * ROW_INTS;

  private static final int ROUNDS = 20;

  private static final VectorShuffle<Integer> ROTATE1 = rotate(1);
  private static final VectorShuffle<Integer> ROTATE2 = rotate(2);
  private static final VectorShuffle<Integer> ROTATE3 = rotate(3);

  private static final VectorMask<Integer> SECOND = words(1);
  private static final VectorMask<Integer> THIRD = words(2);
  private static final VectorMask<Integer> FOURTH = words(3);

  private static final VectorShuffle<Integer> UP1 = up(1);
  private static final VectorShuffle<Integer> UP2 = up(2);
  private static final VectorShuffle<Integer> UP3 = up(3);

  private static final VectorMask<Integer> SECOND_ROW = row(1);
  private static final VectorMask<Integer> THIRD_ROW = row(2);
  private static final VectorMask<Integer> FOURTH_ROW = row(3);

  private Quads() {}

  /**
   * @throws UnsupportedOperationException if this machine has no vectors of that size
   */
  static void check() {
    if (IntVector.SPECIES_PREFERRED.length() < WORDS.length()) {
      throw new UnsupportedOperationException(
          "vectors of " + IntVector.SPECIES_PREFERRED.vectorBitSize() + " bits, not 512");
    }
  }

  /** A rotation of the four words of each block. */
  private static VectorShuffle<Integer> rotate(int by) {
    return VectorShuffle.fromOp(WORDS, i -> (i & -SIDE_INTS) | ((i + by) & (SIDE_INTS - 1)));
  }

  /** Selects the word {@code number} of each block. */
  private static VectorMask<Integer> words(int number) {
    return VectorMask.fromLong(WORDS, 0x1111L << number);
  }

  /** Replaces each block by the one {@code by} blocks further on, cyclically. */
  private static VectorShuffle<Integer> up(int by) {
    return VectorShuffle.fromOp(WORDS, i -> (i + by * SIDE_INTS) & (ROW_INTS - 1));
  }

  /** Selects the words of the row {@code number} of a block. */
  private static VectorMask<Integer> row(int number) {
    return VectorMask.fromLong(WORDS, 0xfL << (number * SIDE_INTS));
  }

  /** Computes all rounds of the quads from {@code at} on. */
  static void rounds(int[] initial, int[] words, int at) {
    int at1 = at + INTS;
    int at2 = at1 + INTS;
    IntVector a0 = IntVector.fromArray(WORDS, initial, at + A);
    IntVector b0 = IntVector.fromArray(WORDS, initial, at + B);
    IntVector c0 = IntVector.fromArray(WORDS, initial, at + C);
    IntVector d0 = IntVector.fromArray(WORDS, initial, at + D);
    IntVector a1 = IntVector.fromArray(WORDS, initial, at1 + A);
    IntVector b1 = IntVector.fromArray(WORDS, initial, at1 + B);
    IntVector c1 = IntVector.fromArray(WORDS, initial, at1 + C);
    IntVector d1 = IntVector.fromArray(WORDS, initial, at1 + D);
    IntVector a2 = IntVector.fromArray(WORDS, initial, at2 + A);
    IntVector b2 = IntVector.fromArray(WORDS, initial, at2 + B);
    IntVector c2 = IntVector.fromArray(WORDS, initial, at2 + C);
    IntVector d2 = IntVector.fromArray(WORDS, initial, at2 + D);
    for (int i = 0; i < ROUNDS; i++) {
      b0 = b0.lanewise(XOR, a0.add(d0).lanewise(ROL, 7));
      b1 = b1.lanewise(XOR, a1.add(d1).lanewise(ROL, 7));
      b2 = b2.lanewise(XOR, a2.add(d2).lanewise(ROL, 7));
      c0 = c0.lanewise(XOR, b0.add(a0).lanewise(ROL, 9));
      c1 = c1.lanewise(XOR, b1.add(a1).lanewise(ROL, 9));
      c2 = c2.lanewise(XOR, b2.add(a2).lanewise(ROL, 9));
      d0 = d0.lanewise(XOR, c0.add(b0).lanewise(ROL, 13));
      d1 = d1.lanewise(XOR, c1.add(b1).lanewise(ROL, 13));
      d2 = d2.lanewise(XOR, c2.add(b2).lanewise(ROL, 13));
      a0 = a0.lanewise(XOR, d0.add(c0).lanewise(ROL, 18));
      a1 = a1.lanewise(XOR, d1.add(c1).lanewise(ROL, 18));
      a2 = a2.lanewise(XOR, d2.add(c2).lanewise(ROL, 18));
      IntVector rotated0 = b0.rearrange(ROTATE3);
      IntVector rotated1 = b1.rearrange(ROTATE3);
      IntVector rotated2 = b2.rearrange(ROTATE3);
      b0 = d0.rearrange(ROTATE1);
      b1 = d1.rearrange(ROTATE1);
      b2 = d2.rearrange(ROTATE1);
      c0 = c0.rearrange(ROTATE2);
      c1 = c1.rearrange(ROTATE2);
      c2 = c2.rearrange(ROTATE2);
      d0 = rotated0;
      d1 = rotated1;
      d2 = rotated2;
    }
    a0.intoArray(words, at + A);
    b0.intoArray(words, at + B);
    c0.intoArray(words, at + C);
    d0.intoArray(words, at + D);
    a1.intoArray(words, at1 + A);
    b1.intoArray(words, at1 + B);
    c1.intoArray(words, at1 + C);
    d1.intoArray(words, at1 + D);
    a2.intoArray(words, at2 + A);
    b2.intoArray(words, at2 + B);
    c2.intoArray(words, at2 + C);
    d2.intoArray(words, at2 + D);
  }

  /** Adds the initial state of the quad at {@code at}, and converts diagonals to blocks. */
  static void finish(int[] initial, int[] words, int at) {
    IntVector a = sum(initial, words, at + A);
    IntVector b = sum(initial, words, at + B);
    IntVector c = sum(initial, words, at + C);
    IntVector d = sum(initial, words, at + D);
    IntVector row0 = a.blend(d, SECOND).blend(c, THIRD).blend(b, FOURTH);
    IntVector row1 = b.blend(a, SECOND).blend(d, THIRD).blend(c, FOURTH);
    IntVector row2 = c.blend(b, SECOND).blend(a, THIRD).blend(d, FOURTH);
    IntVector row3 = d.blend(c, SECOND).blend(b, THIRD).blend(a, FOURTH);
    block(row0, row1.rearrange(UP3), row2.rearrange(UP2), row3.rearrange(UP1), words, at + A);
    block(row0.rearrange(UP1), row1, row2.rearrange(UP3), row3.rearrange(UP2), words, at + B);
    block(row0.rearrange(UP2), row1.rearrange(UP1), row2, row3.rearrange(UP3), words, at + C);
    block(row0.rearrange(UP3), row1.rearrange(UP2), row2.rearrange(UP1), row3, words, at + D);
  }

  private static IntVector sum(int[] initial, int[] words, int at) {
    return IntVector.fromArray(WORDS, words, at).add(IntVector.fromArray(WORDS, initial, at));
  }

  private static void block(
      IntVector row0, IntVector row1, IntVector row2, IntVector row3, int[] words, int at) {
    row0.blend(row1, SECOND_ROW)
        .blend(row2, THIRD_ROW)
        .blend(row3, FOURTH_ROW)
        .intoArray(words, at);
  }

  /** XORs the block at {@code at} into 64 bytes of the data. */
  static void xor(int[] words, int at, byte[] data, int dataAt) {
    IntVector.fromArray(WORDS, words, at)
        .reinterpretAsBytes()
        .lanewise(XOR, ByteVector.fromArray(BYTES, data, dataAt))
        .intoArray(data, dataAt);
  }
}
