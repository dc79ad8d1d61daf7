package io.kcp4j.fec;

import java.util.Arrays;

/**
 * Turns a matrix into the program of a {@link BitPlaneKernel}: for each loop the number of its
 * code, the row that it writes and the rows that it reads.
 */
final class BitPlanePlanner {

  private static final int TOP_PLANE = 7;

  /** What making a sum costs, in rows taken in by a plane. */
  private static final int SUM_COST = 4;

  /** And what a plane's second loop costs. */
  private static final int SECOND_LOOP_COST = 3;

  private final byte[][] coefficients;
  private final int inputs;

  private short[] program = new short[256];
  private int length;

  /** The chunk that is being planned. */
  private int first;

  private int end;
  private int group;

  /** The row that has the sum of a subset, by group and subset, where bit i stands for input i. */
  private final short[][] sums =
      new short[BitPlaneKernel.CHUNK_INPUTS][1 << BitPlaneKernel.MAX_GROUP];

  /** The rows that the next loops read. */
  private final short[] sources = new short[BitPlaneKernel.CHUNK_INPUTS];

  BitPlanePlanner(byte[][] coefficients) {
    this.coefficients = coefficients;
    inputs = coefficients[0].length;
  }

  short[] program() {
    for (first = 0; first < inputs; first = end) {
      end = Math.min(inputs, first + BitPlaneKernel.CHUNK_INPUTS);
      group = bestGroup(end - first);
      planSums();
      for (int out = 0; out < coefficients.length; out++) {
        planOutput(coefficients[out], Scratch.ROWS + inputs + out);
      }
    }
    return Arrays.copyOf(program, length);
  }

  /** The group size that costs least by a rough model. */
  private int bestGroup(int chunk) {
    int best = 1;
    float bestCost = Float.MAX_VALUE;
    for (int size = 1; size <= BitPlaneKernel.MAX_GROUP; size++) {
      int groups = (chunk + size - 1) / size;
      int subsets = chunk / size * ownSums(size) + ownSums(chunk % size);
      float plane = groups * (1 - 1f / (1 << size));
      plane += groups > BitPlaneLoops.MAX_SOURCES ? SECOND_LOOP_COST : 0;
      float cost = SUM_COST * subsets + (TOP_PLANE + 1) * coefficients.length * plane;
      if (cost < bestCost) {
        best = size;
        bestCost = cost;
      }
    }
    return best;
  }

  /** How many subsets of a group have more than one member. */
  private static int ownSums(int size) {
    return (1 << size) - 1 - size;
  }

  private void planSums() {
    int next = Scratch.FIRST_SUM;
    for (int at = first, g = 0; at < end; at += group, g++) {
      int subsets = 1 << Math.min(group, end - at);
      for (int subset = 1; subset < subsets; subset++) {
        int top = Integer.highestOneBit(subset);
        int input = Scratch.ROWS + at + Integer.numberOfTrailingZeros(top);
        if (subset == top) {
          sums[g][subset] = (short) input;
        } else {
          sums[g][subset] = (short) next;
          sources[0] = sums[g][subset - top];
          sources[1] = (short) input;
          emit(BitPlaneLoops.SUM, next++, 0, 2);
        }
      }
    }
  }

  private void planOutput(byte[] row, int output) {
    if (first == 0) {
      planPlanes(row, output);
    } else {
      planPlanes(row, Scratch.PARTIAL);
      sources[0] = Scratch.PARTIAL;
      emit(BitPlaneLoops.ADD, output, 0, 1);
    }
  }

  private void planPlanes(byte[] row, int target) {
    int kind = BitPlaneLoops.SUM;
    for (int plane = TOP_PLANE; plane >= 0; plane--) {
      int count = gather(row, plane);
      if (count > 0 || kind == BitPlaneLoops.DOUBLE || plane == 0) {
        int taken = Math.min(count, BitPlaneLoops.MAX_SOURCES);
        emit(kind, target, 0, taken);
        for (int from = taken; from < count; from += taken) {
          taken = Math.min(count - from, BitPlaneLoops.MAX_SOURCES);
          emit(BitPlaneLoops.ADD, target, from, taken);
        }
        kind = BitPlaneLoops.DOUBLE;
      }
    }
  }

  /** Finds what a plane takes in, and returns how many rows that are. */
  private int gather(byte[] row, int plane) {
    int count = 0;
    for (int at = first, g = 0; at < end; at += group, g++) {
      int subset = 0;
      for (int i = 0; i < group && at + i < end; i++) {
        subset |= (row[at + i] >> plane & 1) << i;
      }
      if (subset != 0) {
        sources[count++] = sums[g][subset];
      }
    }
    return count;
  }

  private void emit(int kind, int target, int from, int count) {
    if (length + 2 + count > program.length) {
      program = Arrays.copyOf(program, 2 * program.length);
    }
    program[length++] = (short) BitPlaneLoops.code(kind, count);
    program[length++] = (short) target;
    System.arraycopy(sources, from, program, length, count);
    length += count;
  }
}
