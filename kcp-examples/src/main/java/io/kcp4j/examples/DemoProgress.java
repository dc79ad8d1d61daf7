package io.kcp4j.examples;

import java.io.PrintWriter;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import picocli.CommandLine.Help.Ansi;

/**
 * Waits for runs, and shows once a second how long they have taken and their latencies so far: on
 * one line of a terminal, elsewhere on a line each.
 */
final class DemoProgress {

  private static final long PERIOD_NS = TimeUnit.SECONDS.toNanos(1);

  private final PrintWriter out;
  private final Map<GameVariant, GameRun> runs;
  private final long startedAtNs = System.nanoTime();
  private final boolean isTerminal = Ansi.AUTO.enabled();
  private int shown;

  /** Begins now. */
  DemoProgress(PrintWriter out, Map<GameVariant, GameRun> runs) {
    this.out = out;
    this.runs = runs;
  }

  /** Waits until that many seconds after the beginning, or until the runs have ended. */
  void awaitSecond(double seconds) throws InterruptedException {
    long endNs = startedAtNs + (long) (seconds * PERIOD_NS);
    while (System.nanoTime() - endNs < 0 && !awaitUntil(Math.min(endNs, nextLineNs()))) {
      showIfDue();
    }
  }

  /** Waits until the runs have ended. */
  void awaitEnd() throws InterruptedException {
    while (!awaitUntil(nextLineNs())) {
      showIfDue();
    }
    if (isTerminal) {
      print("\u001b[K");
    }
  }

  private long nextLineNs() {
    return startedAtNs + shown * PERIOD_NS;
  }

  /** Whether all runs have ended by then; throws the failure of one. */
  private boolean awaitUntil(long deadlineNs) throws InterruptedException {
    for (GameRun run : runs.values()) {
      if (!run.await(deadlineNs)) {
        return false;
      }
    }
    return true;
  }

  private void showIfDue() {
    if (System.nanoTime() - nextLineNs() < 0) {
      return;
    }
    String line = String.format("%d s, %s", shown++, latencies());
    print(isTerminal ? line + "\u001b[K\r" : line + System.lineSeparator());
  }

  private String latencies() {
    if (runs.values().stream().anyMatch(run -> run.rtt().size() == 0)) {
      return "warming up";
    }
    return runs.entrySet().stream()
        .map(run -> p99(run.getKey(), run.getValue().rtt()))
        .collect(Collectors.joining(", ", "p99: ", " ms"));
  }

  private static String p99(GameVariant variant, LatencySamples rtt) {
    return String.format(Locale.ROOT, "%s %.0f", variant.shortTitle(), rtt.percentileMs(99));
  }

  private void print(String text) {
    out.print(text);
    out.flush();
  }
}
