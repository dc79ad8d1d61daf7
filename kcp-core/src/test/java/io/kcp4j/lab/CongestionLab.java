package io.kcp4j.lab;

import io.kcp4j.lab.CongestionCell.Figure;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.Collectors;

/**
 * Runs the congestion lab by hand and prints a row for each cell, on as many threads as there are
 * processors. Figures that are not within their limits end with an exclamation mark.
 * src/docs/lab.md explains the lines.
 */
public final class CongestionLab {

  private CongestionLab() {}

  public static void main(String[] args) throws InterruptedException {
    List<CongestionCell> cells;
    try {
      cells = CongestionLines.cells(CongestionOptions.of(args));
    } catch (IllegalArgumentException e) {
      System.err.println(e.getMessage());
      System.err.println(CongestionOptions.USAGE);
      System.exit(2);
      return;
    }
    System.exit(run(cells) ? 0 : 1);
  }

  private static boolean run(List<CongestionCell> cells) throws InterruptedException {
    ExecutorService threads =
        Executors.newFixedThreadPool(Runtime.getRuntime().availableProcessors());
    List<Future<List<Figure>>> results =
        cells.stream().map(cell -> threads.submit(() -> cell.figures().get())).toList();
    threads.shutdown();
    int met = 0;
    for (int i = 0; i < cells.size(); i++) {
      try {
        List<Figure> figures = results.get(i).get();
        met += figures.stream().allMatch(Figure::isMet) ? 1 : 0;
        print(cells.get(i), figures);
      } catch (ExecutionException e) {
        System.err.println(cells.get(i).label() + " has failed: " + e.getCause());
      }
    }
    System.out.println(met + " of " + cells.size() + " cells within all limits");
    return met == cells.size();
  }

  private static void print(CongestionCell cell, List<Figure> figures) {
    String row = figures.stream().map(Figure::toString).collect(Collectors.joining(", "));
    System.out.println(cell.line() + " | " + cell.label() + " | " + row);
  }
}
