package io.kcp4j.internal.fec;

import java.util.Arrays;

/**
 * The portable kernel: it needs only a JIT compiler that vectorises plain loops over {@code
 * long[]}.
 *
 * <p>Theory. A coefficient is a sum of powers of 2. By Horner's rule an output is doubled seven
 * times, and at each of the eight bits the inputs whose coefficients have that bit are added to it:
 * a <i>plane</i>. The operations are XOR, and doubling the eight bytes of a long.
 *
 * <p>Inputs are divided into groups of one to four, and the sums of all subsets of a group are
 * computed first, in {@link Scratch}: a plane then adds at most one row of each group. More outputs
 * amortise larger groups. More than {@value #CHUNK_INPUTS} inputs are processed in chunks, to limit
 * the number of scratch rows.
 *
 * <p>A matrix is compiled to a list of {@linkplain BitPlaneLoops loops} over rows: testing the bits
 * of coefficients during the computation costs a third of the speed in mispredicted branches.
 */
final class BitPlaneKernel implements ShardKernel {

  static final BitPlaneKernel INSTANCE = new BitPlaneKernel();

  private static final int MAX_GROUP = 4;

  /** The groups of four that one loop adds. */
  private static final int CHUNK_INPUTS = MAX_GROUP * BitPlaneLoops.MAX_SOURCES;

  private BitPlaneKernel() {}

  @Override
  public String name() {
    return "portable";
  }

  @Override
  public Product prepare(byte[][] coefficients) {
    Planner planner = Scratch.ofThread().planner();
    int length = planner.plan(coefficients);
    return new PreparedProduct(Arrays.copyOf(planner.program(), length));
  }

  @Override
  public void multiply(byte[][] coefficients, long[][] inputs, long[][] outputs, int longs) {
    Planner planner = Scratch.ofThread().planner();
    int length = planner.plan(coefficients);
    run(planner.program(), length, inputs, outputs, longs);
  }

  private static void run(
      short[] program, int length, long[][] inputs, long[][] outputs, int longs) {
    Scratch scratch = Scratch.ofThread();
    BitPlaneLoops.run(program, length, scratch.rows(inputs, outputs, longs), longs);
    scratch.clear(inputs.length + outputs.length);
  }

  private static final class PreparedProduct implements Product {

    private final short[] program;

    PreparedProduct(short[] program) {
      this.program = program;
    }

    @Override
    public void multiply(long[][] inputs, long[][] outputs, int longs) {
      run(program, program.length, inputs, outputs, longs);
    }
  }

  /**
   * Compiles matrices to programs of a {@link BitPlaneKernel}: for each loop its code, the row that
   * it writes and the rows that it reads. Belongs to one thread and is reused, since each pattern
   * of loss needs its own program.
   */
  private static final class Planner {

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
          SPREAD[value] |= (value >> bit & 1) << (MAX_GROUP * bit);
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
    private final short[] sums = new short[CHUNK_INPUTS << MAX_GROUP];

    /** For each group the subsets that the planes add, a nibble for each plane. */
    private final int[] subsets = new int[CHUNK_INPUTS];

    /** The rows that one plane adds. */
    private final short[] sources = new short[CHUNK_INPUTS + 1];

    /** Plans the multiplication with a matrix. Returns the length of the {@link #program}. */
    int plan(byte[][] coefficients) {
      length = 0;
      int inputs = coefficients[0].length;
      for (first = 0; first < inputs; first = end) {
        end = Math.min(inputs, first + CHUNK_INPUTS);
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
      for (int size = 1; size <= MAX_GROUP; size++) {
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
        int base = g << MAX_GROUP;
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
            int more = Math.min(count - from, BitPlaneLoops.MAX_SOURCES);
            emit(BitPlaneLoops.ADD, target, from, more);
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
      int shift = MAX_GROUP * plane;
      int count = 0;
      for (int g = 0; g < groups; g++) {
        int subset = subsets[g] >>> shift & (1 << MAX_GROUP) - 1;
        sources[count] = sums[(g << MAX_GROUP) + subset];
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

  /**
   * Rows for intermediate sums, one set for each thread, and the table of all rows that the loops
   * of a {@link BitPlaneKernel} address by number: first these, then the inputs, then the outputs.
   *
   * <p>A thread keeps at most {@value #MAX_KEPT_LONGS} longs in each row, 84 KiB together; larger
   * shards get rows of their own, each time.
   */
  private static final class Scratch {

    /** The row of the sum over one chunk of inputs, where there are several. */
    static final int PARTIAL = 0;

    static final int FIRST_SUM = 1;

    /** With the eleven sums of each of the five largest groups. */
    static final int ROWS = FIRST_SUM + 55;

    /** Enough for the 1500 bytes of a packet; see {@link ReedSolomon#rowLongs}. */
    private static final int MAX_KEPT_LONGS = 190;

    private static final ThreadLocal<Scratch> OF_THREAD = new ThreadLocal<>();

    private final long[][] kept = new long[ROWS][MAX_KEPT_LONGS];
    private long[][] rows = Arrays.copyOf(kept, ROWS + ReedSolomon.MAX_SHARDS);

    private final Planner planner = new Planner();

    private Scratch() {}

    static Scratch ofThread() {
      Scratch scratch = OF_THREAD.get();
      if (scratch == null) {
        scratch = new Scratch();
        OF_THREAD.set(scratch);
      }
      return scratch;
    }

    Planner planner() {
      return planner;
    }

    /** The table, until {@link #clear}. */
    long[][] rows(long[][] inputs, long[][] outputs, int longs) {
      if (longs > MAX_KEPT_LONGS) {
        rows = Arrays.copyOf(new long[ROWS][longs], rows.length);
      }
      if (ROWS + inputs.length + outputs.length > rows.length) {
        rows = Arrays.copyOf(rows, ROWS + inputs.length + outputs.length);
      }
      System.arraycopy(inputs, 0, rows, ROWS, inputs.length);
      System.arraycopy(outputs, 0, rows, ROWS + inputs.length, outputs.length);
      return rows;
    }

    /** Drops the references to the rows of the caller, and large scratch rows. */
    void clear(int count) {
      Arrays.fill(rows, ROWS, ROWS + count, null);
      System.arraycopy(kept, 0, rows, 0, ROWS);
    }
  }
}
