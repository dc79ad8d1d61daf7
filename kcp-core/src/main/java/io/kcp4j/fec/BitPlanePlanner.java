package io.kcp4j.fec;

import java.util.Arrays;

/**
 * Compiles matrices to programs of a {@link BitPlaneKernel}: for each loop its code, the row that
 * it writes and the rows that it reads. Belongs to one thread and is reused, since each pattern of
 * loss needs its own program.
 */
final class BitPlanePlanner {

  private static final int TOP_PLANE = 7;

  /** The cost of computing a sum, in rows added by a plane. */
  private static final int SUM_COST = 4;

  /** The cost of the second loop of a plane. */
  private static final int SECOND_LOOP_COST = 3;

  /** Code and target, and the sources of a loop. */
  private static final int MAX_LOOP = 2 + BitPlaneLoops.MAX_SOURCES;

  /** The bits of a byte, each in a nibble of its own, so that four bytes interleave in an int. */
  private static final int[] SPREAD = new int[1 << Byte.SIZE];

  static {
    for (int value = 0; value < SPREAD.length; value++) {
      for (int bit = 0; bit <= TOP_PLANE; bit++) {
        SPREAD[value] |= (value >> bit & 1) << (BitPlaneKernel.MAX_GROUP * bit);
      }
    }
  }

  private short[] program = new short[256];
  private int length;

  /** The chunk of inputs that is being planned, and its groups. */
  private int first;

  private int end;
  private int groupSize;
  private int groups;

  /** The row with the sum of a subset, by group and subset; bit i means input i. */
  private final short[] sums = new short[BitPlaneKernel.CHUNK_INPUTS << BitPlaneKernel.MAX_GROUP];

  /** For each group the subsets that the planes add, a nibble for each plane. */
  private final int[] subsets = new int[BitPlaneKernel.CHUNK_INPUTS];

  /** The rows that one plane adds. */
  private final short[] sources = new short[BitPlaneKernel.CHUNK_INPUTS + 1];

  /** Plans the multiplication with a matrix. Returns the length of the {@link #program}. */
  int plan(byte[][] coefficients) {
    length = 0;
    int inputs = coefficients[0].length;
    for (first = 0; first < inputs; first = end) {
      end = Math.min(inputs, first + BitPlaneKernel.CHUNK_INPUTS);
      chooseGroups(coefficients.length);
      planSums();
      for (int out = 0; out < coefficients.length; out++) {
        planOutput(coefficients[out], Scratch.ROWS + inputs + out);
      }
    }
    return length;
  }

  /** The program, valid until the next plan. */
  short[] program() {
    return program;
  }

  /** Selects the group size with the least cost in an approximate model. */
  private void chooseGroups(int outputs) {
    int chunk = end - first;
    float bestCost = Float.MAX_VALUE;
    for (int size = 1; size <= BitPlaneKernel.MAX_GROUP; size++) {
      int count = (chunk + size - 1) / size;
      float plane = count * (1 - 1f / (1 << size));
      plane += count > BitPlaneLoops.MAX_SOURCES ? SECOND_LOOP_COST : 0;
      int made = chunk / size * sumsOf(size) + sumsOf(chunk % size);
      float cost = SUM_COST * made + (TOP_PLANE + 1) * outputs * plane;
      if (cost < bestCost) {
        bestCost = cost;
        groupSize = size;
        groups = count;
      }
    }
  }

  /** The number of subsets of a group with more than one member. */
  private static int sumsOf(int size) {
    return (1 << size) - 1 - size;
  }

  private void planSums() {
    int next = Scratch.FIRST_SUM;
    for (int g = 0; g < groups; g++) {
      int at = first + g * groupSize;
      int base = g << BitPlaneKernel.MAX_GROUP;
      for (int subset = 1; subset < 1 << Math.min(groupSize, end - at); subset++) {
        int top = Integer.highestOneBit(subset);
        short input = (short) (Scratch.ROWS + at + Integer.numberOfTrailingZeros(top));
        if (subset == top) {
          sums[base + subset] = input;
        } else {
          sums[base + subset] = (short) next;
          sources[0] = sums[base + subset - top];
          sources[1] = input;
          emit(BitPlaneLoops.SUM, next++, 0, 2);
        }
      }
    }
  }

  private void planOutput(byte[] row, int output) {
    findSubsets(row);
    if (first == 0) {
      planPlanes(output);
    } else {
      planPlanes(Scratch.PARTIAL);
      sources[0] = Scratch.PARTIAL;
      emit(BitPlaneLoops.ADD, output, 0, 1);
    }
  }

  private void findSubsets(byte[] row) {
    for (int g = 0; g < groups; g++) {
      int at = first + g * groupSize;
      int interleaved = 0;
      for (int i = Math.min(groupSize, end - at) - 1; i >= 0; i--) {
        interleaved = interleaved << 1 | SPREAD[row[at + i] & 0xFF];
      }
      subsets[g] = interleaved;
    }
  }

  private void planPlanes(int target) {
    int kind = BitPlaneLoops.SUM;
    for (int plane = TOP_PLANE; plane >= 0; plane--) {
      int count = findSources(plane);
      if (count > 0 || kind == BitPlaneLoops.DOUBLE || plane == 0) {
        int taken = Math.min(count, BitPlaneLoops.MAX_SOURCES);
        emit(kind, target, 0, taken);
        for (int from = taken; from < count; from += BitPlaneLoops.MAX_SOURCES) {
          emit(BitPlaneLoops.ADD, target, from, Math.min(count - from, BitPlaneLoops.MAX_SOURCES));
        }
        kind = BitPlaneLoops.DOUBLE;
      }
    }
  }

  /**
   * Finds the rows that a plane adds, and returns their number. Without branches, since bits are
   * random.
   */
  private int findSources(int plane) {
    int shift = BitPlaneKernel.MAX_GROUP * plane;
    int count = 0;
    for (int g = 0; g < groups; g++) {
      int subset = subsets[g] >>> shift & (1 << BitPlaneKernel.MAX_GROUP) - 1;
      sources[count] = sums[(g << BitPlaneKernel.MAX_GROUP) + subset];
      count += -subset >>> (Integer.SIZE - 1);
    }
    return count;
  }

  private void emit(int kind, int target, int from, int count) {
    if (length + MAX_LOOP > program.length) {
      program = Arrays.copyOf(program, 2 * program.length);
    }
    program[length] = (short) BitPlaneLoops.code(kind, count);
    program[length + 1] = (short) target;
    for (int i = 0; i < count; i++) {
      program[length + 2 + i] = sources[from + i];
    }
    length += 2 + count;
  }
}
