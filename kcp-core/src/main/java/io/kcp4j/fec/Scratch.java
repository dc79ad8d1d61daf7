package io.kcp4j.fec;

import java.util.Arrays;

/**
 * Rows for intermediate sums, one set for each thread, and the table of all rows that the loops of
 * a {@link BitPlaneKernel} address by number: first these, then the inputs, then the outputs.
 *
 * <p>A thread keeps at most {@value #MAX_KEPT_LONGS} longs in each row, 84 KiB together; larger
 * shards get rows of their own, each time.
 */
final class Scratch {

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

  private final BitPlanePlanner planner = new BitPlanePlanner();

  private Scratch() {}

  static Scratch ofThread() {
    Scratch scratch = OF_THREAD.get();
    if (scratch == null) {
      scratch = new Scratch();
      OF_THREAD.set(scratch);
    }
    return scratch;
  }

  BitPlanePlanner planner() {
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
