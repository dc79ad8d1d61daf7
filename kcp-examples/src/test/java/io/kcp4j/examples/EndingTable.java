package io.kcp4j.examples;

import java.util.Locale;

/**
 * Prints how long endings take, a line for each {@link EndingCell}: {@code EndingTable kcp}, or
 * {@code EndingTable tcp LOSS} for those with that loss, on the link of {@code src/bench/endings}.
 */
final class EndingTable {

  /** Of which the shortest counts: the machine makes times longer, and never shorter. */
  private static final int RUNS = 3;

  private EndingTable() {}

  public static void main(String[] args) throws Exception {
    boolean isTcp = args[0].equals("tcp");
    for (EndingCell cell : EndingCell.values()) {
      if (!isTcp || 100 * cell.loss() == Double.parseDouble(args[1])) {
        double ms = Double.MAX_VALUE;
        for (int i = 0; i < RUNS; i++) {
          ms = Math.min(ms, (isTcp ? cell.overTcp() : cell.overKcp()).ms());
        }
        System.out.printf(
            Locale.ROOT, "%s,%.0f,%s%n", cell, ms, isTcp ? cell.tcpNote() : cell.carrier());
      }
    }
    System.exit(0);
  }
}
