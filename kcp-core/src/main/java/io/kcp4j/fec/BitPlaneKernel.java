package io.kcp4j.fec;

import java.util.Arrays;

/**
 * The kernel that needs nothing but a JIT compiler which vectorises plain loops over {@code
 * long[]}.
 *
 * <p>Theory. A coefficient is a sum of powers of 2, so by Horner's rule an output is doubled seven
 * times and takes in, at each of the eight bits, the inputs whose coefficients have that bit: a
 * <i>plane</i>. All of it is XOR, and doubling eight bytes in a long.
 *
 * <p>Inputs are put into groups of one to four, and the sums of all subsets of a group are made
 * first, in {@link Scratch}: a plane then takes in at most one row of each group. The more outputs,
 * the larger the groups that pay. More than {@value #CHUNK_INPUTS} inputs are worked off in chunks,
 * to keep the scratch rows few.
 *
 * <p>A matrix becomes a list of {@linkplain BitPlaneLoops loops} over rows, all decided beforehand:
 * to look at the bits of coefficients while working costs a third of the speed in mispredicted
 * branches.
 */
final class BitPlaneKernel implements ShardKernel {

  static final BitPlaneKernel INSTANCE = new BitPlaneKernel();

  static final int MAX_GROUP = 4;

  /** As many groups of four as one loop takes in. */
  static final int CHUNK_INPUTS = MAX_GROUP * BitPlaneLoops.MAX_SOURCES;

  private BitPlaneKernel() {}

  @Override
  public String name() {
    return "portable";
  }

  @Override
  public Product prepare(byte[][] coefficients) {
    BitPlanePlanner planner = Scratch.ofThread().planner();
    int length = planner.plan(coefficients);
    return new PreparedProduct(Arrays.copyOf(planner.program(), length));
  }

  @Override
  public void multiply(byte[][] coefficients, long[][] inputs, long[][] outputs, int longs) {
    BitPlanePlanner planner = Scratch.ofThread().planner();
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
}
