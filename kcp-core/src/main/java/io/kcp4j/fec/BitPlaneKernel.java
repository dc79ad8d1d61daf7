package io.kcp4j.fec;

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

  static final int MAX_GROUP = 4;

  /** The groups of four that one loop adds. */
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
