package io.kcp4j.fec.vector;

import static jdk.incubator.vector.VectorOperators.LSHL;
import static jdk.incubator.vector.VectorOperators.LSHR;
import static jdk.incubator.vector.VectorOperators.XOR;

import jdk.incubator.vector.IntVector;
import jdk.incubator.vector.LongVector;
import jdk.incubator.vector.VectorSpecies;

/**
 * The loop of the {@link IntLanesKernel}. The species have to be constants for the JIT compiler.
 */
final class IntLanes {

  private static final VectorSpecies<Integer> INTS = IntVector.SPECIES_512;
  private static final VectorSpecies<Long> WORDS = LongVector.SPECIES_512;

  /** The longs of a vector. */
  static final int LONGS = 8;

  /** The outputs computed at a time: the bytes of an int. */
  static final int OUTPUTS = 4;

  /** For each input the products with low nibbles, then those with high nibbles. */
  static final int TABLE_INTS = 32;

  private static final int HALF = TABLE_INTS / 2;

  private static final long LOW_HALVES = 0x0000FFFF0000FFFFL;
  private static final long EVEN_BYTES = 0x00FF00FF00FF00FFL;

  private IntLanes() {}

  /**
   * @throws UnsupportedOperationException if this machine has no vectors of that size
   */
  static void check() {
    if (IntVector.SPECIES_PREFERRED.length() < INTS.length()) {
      throw new UnsupportedOperationException(
          "vectors of " + IntVector.SPECIES_PREFERRED.vectorBitSize() + " bits, not 512");
    }
  }

  /** Computes up to four outputs between two indices, with the tables from {@code tablesAt} on. */
  static void multiply(
      int[] tables,
      int tablesAt,
      long[][] inputs,
      long[][] outputs,
      int firstOut,
      int start,
      int end) {
    // With fewer outputs the last one is written several times, with its own result last.
    int last = outputs.length - 1;
    long[] output0 = outputs[firstOut];
    long[] output1 = outputs[Math.min(firstOut + 1, last)];
    long[] output2 = outputs[Math.min(firstOut + 2, last)];
    long[] output3 = outputs[Math.min(firstOut + 3, last)];
    for (int from = start; from < end; from += LONGS) {
      int column = Math.min(from, end - LONGS); // the last vector may overlap the one before it
      multiplyColumn(tables, tablesAt, inputs, output0, output1, output2, output3, column);
    }
  }

  private static void multiplyColumn(
      int[] tables,
      int tablesAt,
      long[][] inputs,
      long[] output0,
      long[] output1,
      long[] output2,
      long[] output3,
      int column) {
    // Sum i has the products with byte i of each int.
    IntVector sum0 = IntVector.zero(INTS);
    IntVector sum1 = sum0;
    IntVector sum2 = sum0;
    IntVector sum3 = sum0;
    int at = tablesAt;
    for (long[] input : inputs) {
      IntVector low = IntVector.fromArray(INTS, tables, at);
      IntVector high = IntVector.fromArray(INTS, tables, at + HALF);
      at += TABLE_INTS;
      IntVector in = LongVector.fromArray(WORDS, input, column).reinterpretAsInts();
      sum0 = add(sum0, in.selectFrom(low), in.lanewise(LSHR, 4).selectFrom(high));
      sum1 =
          add(sum1, in.lanewise(LSHR, 8).selectFrom(low), in.lanewise(LSHR, 12).selectFrom(high));
      sum2 =
          add(sum2, in.lanewise(LSHR, 16).selectFrom(low), in.lanewise(LSHR, 20).selectFrom(high));
      sum3 =
          add(sum3, in.lanewise(LSHR, 24).selectFrom(low), in.lanewise(LSHR, 28).selectFrom(high));
    }
    store(
        output0,
        output1,
        output2,
        output3,
        column,
        sum0.reinterpretAsLongs(),
        sum1.reinterpretAsLongs(),
        sum2.reinterpretAsLongs(),
        sum3.reinterpretAsLongs());
  }

  private static IntVector add(IntVector sum, IntVector low, IntVector high) {
    return sum.lanewise(XOR, low).lanewise(XOR, high);
  }

  /**
   * Transposes, first by halves of an int, then by bytes. In blends of longs and without branches:
   * else the JIT compiler of JDK 25 allocates vectors on the heap.
   */
  private static void store(
      long[] output0,
      long[] output1,
      long[] output2,
      long[] output3,
      int column,
      LongVector sum0,
      LongVector sum1,
      LongVector sum2,
      LongVector sum3) {
    LongVector lowHalves = LongVector.broadcast(WORDS, LOW_HALVES);
    LongVector half01 = sum2.lanewise(LSHL, 16).bitwiseBlend(sum0, lowHalves);
    LongVector next01 = sum3.lanewise(LSHL, 16).bitwiseBlend(sum1, lowHalves);
    LongVector half23 = sum2.bitwiseBlend(sum0.lanewise(LSHR, 16), lowHalves);
    LongVector next23 = sum3.bitwiseBlend(sum1.lanewise(LSHR, 16), lowHalves);
    LongVector evenBytes = LongVector.broadcast(WORDS, EVEN_BYTES);
    LongVector out0 = next01.lanewise(LSHL, 8).bitwiseBlend(half01, evenBytes);
    LongVector out1 = next01.bitwiseBlend(half01.lanewise(LSHR, 8), evenBytes);
    LongVector out2 = next23.lanewise(LSHL, 8).bitwiseBlend(half23, evenBytes);
    LongVector out3 = next23.bitwiseBlend(half23.lanewise(LSHR, 8), evenBytes);
    out3.intoArray(output3, column);
    out2.intoArray(output2, column);
    out1.intoArray(output1, column);
    out0.intoArray(output0, column);
  }
}
