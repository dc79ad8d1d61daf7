package io.kcp4j.lab;

import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

/**
 * Runs the lab by hand and prints CSV, one row for each cell, on as many threads as there are
 * processors. Exits with 1 if a cell has failed. src/docs/lab.md explains the arguments and the
 * columns.
 */
public final class Lab {

  private Lab() {}

  public static void main(String[] args) throws InterruptedException {
    if (List.of(args).contains("--help")) {
      System.out.println(usage());
      return;
    }
    List<Cell> cells;
    try {
      cells = LabOptions.cells(args);
    } catch (IllegalArgumentException e) {
      System.err.println(e.getMessage());
      System.err.println(usage());
      System.exit(2);
      return;
    }
    System.exit(run(cells) ? 0 : 1);
  }

  private static String usage() {
    return LabOptions.USAGE + " " + String.join(", ", Variant.names());
  }

  private static boolean run(List<Cell> cells) throws InterruptedException {
    ExecutorService threads =
        Executors.newFixedThreadPool(Runtime.getRuntime().availableProcessors());
    List<Future<CellResult>> results =
        cells.stream().map(cell -> threads.submit(() -> CellRun.run(cell))).toList();
    threads.shutdown();
    boolean succeeded = true;
    System.out.println(CsvRow.HEADER);
    for (int i = 0; i < cells.size(); i++) {
      try {
        System.out.println(CsvRow.of(results.get(i).get()));
      } catch (ExecutionException e) {
        System.err.println(cells.get(i) + " has failed: " + e.getCause());
        succeeded = false;
      }
    }
    return succeeded;
  }
}
