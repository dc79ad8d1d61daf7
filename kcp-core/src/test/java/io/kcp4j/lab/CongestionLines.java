package io.kcp4j.lab;

import static io.kcp4j.lab.CongestionCell.Figure.atLeast;
import static io.kcp4j.lab.CongestionCell.Figure.atMost;

import io.kcp4j.lab.CongestionCell.Figure;
import io.kcp4j.lab.CongestionRun.Start;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.function.Supplier;
import java.util.stream.IntStream;

/** The lines that a congestion control is measured by; src/docs/lab.md says what each is. */
final class CongestionLines {

  private static final double PERCENT = 100;

  private static final double US_PER_MS = 1e3;

  private static final long US_PER_S = 1_000_000;

  private static final String TCP = "tcp";

  private final CongestionOptions options;

  private CongestionLines(CongestionOptions options) {
    this.options = options;
  }

  /** The cells that the options ask for. */
  static List<CongestionCell> cells(CongestionOptions options) {
    CongestionLines lines = new CongestionLines(options);
    List<CongestionCell> cells = new ArrayList<>();
    for (int line : options.lines()) {
      for (double megabits : options.rates()) {
        lines.add(cells, line, megabits);
      }
    }
    return cells;
  }

  private void add(List<CongestionCell> cells, int line, double megabits) {
    switch (line) {
      case 1 -> addGoodput(cells, megabits);
      case 2 -> addQueueing(cells, megabits);
      case 3 -> addBesideTcp(cells, megabits);
      case 4 -> addFairness(cells, megabits);
      case 5 -> addGame(cells, megabits);
      case 6 -> addChanges(cells);
      default -> throw new IllegalArgumentException("line " + line + ": unknown");
    }
  }

  private void addGoodput(List<CongestionCell> cells, double megabits) {
    for (double buffer : options.buffers(1, 10)) {
      for (double loss : options.losses(0, 0.5, 1, 5, 10)) {
        for (long seed : options.seeds()) {
          CongestionPath path = path(megabits, options.jitterMs(), buffer, loss);
          cells.add(cell(1, path, seed, () -> goodput(path, seed, 0)));
        }
      }
    }
  }

  /**
   * Line 1: what one flow gets.
   *
   * @param roomPercent how much less may be enough
   */
  private List<Figure> goodput(CongestionPath path, long seed, double roomPercent) {
    CongestionResult result = CongestionRun.run(path, List.of(bulk(0)), 5, seconds(30), seed);
    double percent = path.loss() * PERCENT;
    double least = percent <= 1 ? 95 : percent <= 5 ? 90 : 80;
    least -= roomPercent + options.goodputRoomPercent();
    double retransmitted = result.flows().get(0).retransmittedShare() * PERCENT;
    return List.of(
        atLeast("goodput", result.goodputShare(0) * PERCENT, "%", least),
        atMost("retransmitted", retransmitted, "%", 2 * percent + 1),
        Figure.of("queue", result.waits().meanUs() / US_PER_MS, "ms"),
        Figure.of("dropped", result.droppedShare() * PERCENT, "%"));
  }

  private void addQueueing(List<CongestionCell> cells, double megabits) {
    for (double buffer : options.buffers(1, 10)) {
      for (long seed : options.seeds()) {
        CongestionPath path = path(megabits, options.jitterMs(), buffer, 0);
        cells.add(cell(2, path, seed, () -> queueing(path, seed)));
      }
    }
  }

  private List<Figure> queueing(CongestionPath path, long seed) {
    CongestionResult result = CongestionRun.run(path, List.of(bulk(0)), 5, seconds(60), seed);
    Latencies waits = result.waits();
    double roomMs = options.queueRoomMs();
    return List.of(
        atMost("mean", waits.meanUs() / US_PER_MS, "ms", 15 + roomMs),
        atMost("p95", waits.quantileUs(0.95) / US_PER_MS, "ms", 30 + roomMs),
        Figure.of("max", waits.maxUs() / US_PER_MS, "ms"),
        atMost("dropped", result.droppedShare() * PERCENT, "%", 1),
        Figure.of("goodput", result.goodputShare(0) * PERCENT, "%"));
  }

  private void addBesideTcp(List<CongestionCell> cells, double megabits) {
    for (double buffer : options.buffers(0.5, 1, 2, 5, 10)) {
      for (int kcpLater : new int[] {-2, 2, 10}) {
        for (long seed : options.seeds()) {
          CongestionPath path = path(megabits, options.jitterMs(), buffer, 0);
          String first = kcpLater < 0 ? "kcp" : TCP;
          String label =
              String.format(
                  Locale.ROOT, "%s %s-first %ds", label(path, seed), first, Math.abs(kcpLater));
          cells.add(new CongestionCell(3, label, () -> besideTcp(path, seed, kcpLater)));
        }
      }
    }
  }

  /**
   * Line 3: beside a TCP, from 18 s after the second flow has started.
   *
   * @param kcpLater by how many seconds the session starts later than the TCP
   */
  private List<Figure> besideTcp(CongestionPath path, long seed, int kcpLater) {
    int kcpAt = Math.max(kcpLater, 0);
    int tcpAt = Math.max(-kcpLater, 0);
    List<Start> flows =
        List.of(bulk(kcpAt * US_PER_S), new Start(TCP, tcpAt * US_PER_S, CubicTcp::over));
    int from = kcpAt + tcpAt + 18;
    CongestionResult result = CongestionRun.run(path, flows, from, seconds(120), seed);
    double kcpPercent = result.share(0) * PERCENT;
    double tcpPercent = result.share(1) * PERCENT;
    boolean isMedium = path.bufferBdp() >= 1 && path.bufferBdp() <= 5;
    return List.of(
        new Figure("kcp", kcpPercent, "%", !isMedium || (kcpPercent >= 35 && kcpPercent <= 65)),
        atLeast(TCP, tcpPercent, "%", 25),
        Figure.of("queue", result.waits().meanUs() / US_PER_MS, "ms"),
        Figure.of("dropped", result.droppedShare() * PERCENT, "%"));
  }

  private void addFairness(List<CongestionCell> cells, double megabits) {
    for (double buffer : options.buffers(1, 10)) {
      for (int flows : new int[] {2, 4}) {
        for (int lateSeconds : new int[] {0, 10}) {
          for (long seed : options.seeds()) {
            CongestionPath path = path(megabits, options.jitterMs(), buffer, 0);
            String label = label(path, seed) + " flows " + flows + " late " + lateSeconds + "s";
            cells.add(new CongestionCell(4, label, () -> fairness(path, flows, lateSeconds, seed)));
          }
        }
      }
    }
  }

  private List<Figure> fairness(CongestionPath path, int flows, int lateSeconds, long seed) {
    List<Start> starts =
        IntStream.range(0, flows)
            .mapToObj(i -> bulk(i == flows - 1 ? lateSeconds * US_PER_S + i : i))
            .toList();
    CongestionResult result = CongestionRun.run(path, starts, 30, seconds(60), seed);
    List<Figure> figures = new ArrayList<>();
    figures.add(atLeast("Jain", result.fairness() * PERCENT, "%", flows == 2 ? 95 : 85));
    for (int i = 0; i < flows; i++) {
      figures.add(Figure.of("flow", result.share(i) * PERCENT, "%"));
    }
    figures.add(Figure.of("queue", result.waits().meanUs() / US_PER_MS, "ms"));
    figures.add(Figure.of("dropped", result.droppedShare() * PERCENT, "%"));
    return figures;
  }

  private void addGame(List<CongestionCell> cells, double megabits) {
    for (double buffer : options.buffers(10)) {
      for (long seed : options.seeds()) {
        CongestionPath path = path(megabits, options.jitterMs(), buffer, 0);
        cells.add(cell(5, path, seed, () -> game(path, seed)));
      }
    }
  }

  private List<Figure> game(CongestionPath path, long seed) {
    int from = 5;
    int seconds = seconds(60);
    Start game =
        new Start(
            "game",
            0,
            world ->
                KcpFlow.game(
                    world,
                    options.sender(),
                    options.sender(),
                    Traffic.game(25),
                    from * US_PER_S,
                    seconds * US_PER_S));
    Latencies alone = CongestionRun.run(path, List.of(game), from, seconds, seed).latencies(0);
    CongestionResult result = CongestionRun.run(path, List.of(game, bulk(0)), from, seconds, seed);
    double base = alone.quantileUs(0.99) / US_PER_MS;
    double beside = result.latencies(0).quantileUs(0.99) / US_PER_MS;
    return List.of(
        Figure.of("base p99", base, "ms"),
        atMost("p99", beside, "ms", base + 30),
        Figure.of("max", result.latencies(0).maxUs() / US_PER_MS, "ms"),
        Figure.of("bulk", result.share(1) * PERCENT, "%"));
  }

  /** Line 6 has rates of its own. */
  private void addChanges(List<CongestionCell> cells) {
    if (cells.stream().anyMatch(cell -> cell.line() == 6)) {
      return;
    }
    CongestionPath transfer =
        CongestionPath.of(20_000_000, 80_000, jitterUs(options.jitterMs()), 1, 0);
    cells.add(cell(6, transfer, 0, () -> transfers(transfer)));
    for (double buffer : options.buffers(1, 10)) {
      for (long seed : options.seeds()) {
        CongestionPath path = path(10, options.jitterMs(), buffer, 0);
        cells.add(new CongestionCell(6, label(path, seed) + " steps", () -> steps(path, seed)));
        for (double loss : options.losses(0, 1)) {
          CongestionPath jittery = path(20, 5, buffer, loss);
          String label = label(jittery, seed) + " jitter 5ms";
          cells.add(new CongestionCell(6, label, () -> goodput(jittery, seed, 5)));
        }
      }
    }
  }

  private List<Figure> transfers(CongestionPath path) {
    long bytes = 10_000_000;
    double slowest = 0;
    double sum = 0;
    int runs = 100;
    for (int seed = 1; seed <= runs; seed++) {
      Start start = bulk(0, bytes);
      CongestionResult result = CongestionRun.run(path, List.of(start), 1, 12, seed);
      double seconds = (double) result.flows().get(0).readAtUs(bytes) / US_PER_S;
      slowest = Math.max(slowest, seconds);
      sum += seconds;
    }
    return List.of(atMost("slowest of 100", slowest, "s", 5), Figure.of("mean", sum / runs, "s"));
  }

  private List<Figure> steps(CongestionPath path, long seed) {
    long fallUs = 20 * US_PER_S;
    long riseUs = 40 * US_PER_S;
    long blackoutUs = 60 * US_PER_S;
    long blackoutEndsUs = blackoutUs + 2 * US_PER_S;
    RateSchedule rates =
        RateSchedule.constant(10_000_000).then(fallUs, 5_000_000).then(riseUs, 10_000_000);
    CongestionPath changing = path.withRates(rates).withBlackout(blackoutUs, blackoutEndsUs);
    CongestionResult result = CongestionRun.run(changing, List.of(bulk(0)), 5, 80, seed);
    return List.of(
        recovery("fall", result, fallUs, 5_000_000),
        recovery("rise", result, riseUs, 10_000_000),
        recovery("blackout", result, blackoutEndsUs, 10_000_000),
        Figure.of("queue", result.waits().meanUs() / US_PER_MS, "ms"),
        Figure.of("dropped", result.droppedShare() * PERCENT, "%"));
  }

  private static Figure recovery(
      String name, CongestionResult result, long changeUs, double bitsPerSecond) {
    double payload = bitsPerSecond / result.flows().get(0).overhead();
    double seconds = (double) result.recoveryUs(changeUs, 0.8 * payload) / US_PER_S;
    return atMost(name, seconds, "s", 2);
  }

  private Start bulk(long atUs) {
    return bulk(atUs, Long.MAX_VALUE);
  }

  private Start bulk(long atUs, long bytes) {
    return new Start(
        "kcp", atUs, world -> KcpFlow.bulk(world, options.sender(), options.receiver(), bytes));
  }

  private int seconds(int preset) {
    return options.seconds() == 0 ? preset : options.seconds();
  }

  private CongestionPath path(double megabits, double jitterMs, double buffer, double percent) {
    return CongestionPath.of(
        (long) (megabits * 1e6),
        (int) (options.rttMs() * US_PER_MS),
        jitterUs(jitterMs),
        buffer,
        percent / PERCENT);
  }

  private static int jitterUs(double jitterMs) {
    return (int) (jitterMs * US_PER_MS);
  }

  private static CongestionCell cell(
      int line, CongestionPath path, long seed, Supplier<List<Figure>> figures) {
    return new CongestionCell(line, label(path, seed), figures);
  }

  private static String label(CongestionPath path, long seed) {
    return String.format(
        Locale.ROOT,
        "%.0f Mbit/s %.1f BDP loss %.1f%% seed %d",
        path.bitsPerSecond() / 1e6,
        path.bufferBdp(),
        path.loss() * PERCENT,
        seed);
  }
}
