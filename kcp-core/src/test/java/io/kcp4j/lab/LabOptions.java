package io.kcp4j.lab;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.stream.Stream;

/** The cells that the arguments of {@link Lab} ask for: the product of all lists. */
final class LabOptions {

  static final String USAGE =
      """
      usage: Lab [--matrix | --spurious] [option values]...
      Each option takes a list separated by commas; every combination is run.
        --workload  game, one-way, bulk or shared (game)
        --variant   names of settings, or all (default)
        --entities  messages of 50 bytes in each of 60 ticks a second (25)
        --stream    instead of a game: Mbit/s of messages of 1300 bytes, one each tick
        --loss      mean loss in per cent (0)
        --burst     mean length of bursts of loss in ms, or 0 for independent losses (0)
        --rtt       round-trip time without jitter and queue, in ms (20)
        --jitter    largest additional delay of a datagram, each way, in ms (1)
        --rate      rate limit, each way, in Mbit/s, or 0 for none (0)
        --queue     size of the queue before the rate limit, in kB (64)
        --step      AT:LOSS, the loss in per cent from AT seconds on (none)
        --seconds   virtual time (60)
        --from      the second from which on is measured, one for all (1)
        --seeds     (1)
      --matrix presets entities, loss, burst, rtt, jitter, 1800 seconds and three seeds;
      --spurious presets a lossless stream of 1 to 100 Mbit/s one way to peers with ACK
      intervals of 10 and 40 ms. Options after it override it.
      variants:\
      """;

  private static final int US_PER_MS = 1_000;

  private static final double US_PER_S = 1e6;

  private static final double PERCENT = 100;

  private List<String> workloads = List.of("game");
  private List<String> variants = List.of("default");
  private List<String> entities = List.of("25");
  private List<String> streams = List.of();
  private List<String> losses = List.of("0");
  private List<String> bursts = List.of("0");
  private List<String> rtts = List.of("20");
  private List<String> jitters = List.of("1");
  private List<String> rates = List.of("0");
  private List<String> queues = List.of("64");
  private List<String> steps = List.of("");
  private List<String> seconds = List.of("60");
  private List<String> seeds = List.of("1");
  private int fromSeconds = Cell.DEFAULT_FROM_SECONDS;

  private LabOptions() {}

  /**
   * Parses the command line.
   *
   * @throws IllegalArgumentException if it is not as {@link #USAGE} says
   */
  static List<Cell> cells(String... args) {
    LabOptions options = new LabOptions();
    for (int i = 0; i < args.length; i++) {
      switch (args[i]) {
        case "--matrix" -> options.presetMatrix();
        case "--spurious" -> options.presetSpurious();
        default -> {
          if (i + 1 == args.length) {
            throw new IllegalArgumentException(args[i] + ": unknown, or without a value");
          }
          options.set(args[i], List.of(args[++i].split(",")));
        }
      }
    }
    return options.cells();
  }

  private void presetMatrix() {
    entities = List.of("25", "50");
    losses = List.of("0", "0.1", "0.5", "1", "2", "5", "10");
    bursts = List.of("0", "3");
    rtts = List.of("20", "80", "200");
    jitters = List.of("0", "1", "2", "5");
    seconds = List.of("1800");
    seeds = List.of("1", "2", "3");
  }

  private void presetSpurious() {
    workloads = List.of("one-way");
    variants = List.of("default", "peer-interval-40", "to-kcp-go-10", "to-kcp-go-40");
    streams = List.of("1", "3", "10", "30", "100");
    jitters = List.of("0", "1", "2", "3", "5");
  }

  private void set(String option, List<String> values) {
    switch (option) {
      case "--workload" -> workloads = values;
      case "--variant" -> variants = values.equals(List.of("all")) ? Variant.names() : values;
      case "--entities" -> entities = values;
      case "--stream" -> streams = values;
      case "--loss" -> losses = values;
      case "--burst" -> bursts = values;
      case "--rtt" -> rtts = values;
      case "--jitter" -> jitters = values;
      case "--rate" -> rates = values;
      case "--queue" -> queues = values;
      case "--step" -> steps = values;
      case "--seconds" -> seconds = values;
      case "--from" -> fromSeconds = Integer.parseInt(values.get(0));
      case "--seeds" -> seeds = values;
      default -> throw new IllegalArgumentException(option + ": unknown");
    }
  }

  private List<Cell> cells() {
    List<Cell> cells = new ArrayList<>();
    for (String workload : workloads) {
      for (String variant : variants) {
        for (Traffic traffic : traffics().toList()) {
          for (LinkSettings link : links()) {
            addCells(workload, variant, traffic, link, cells);
          }
        }
      }
    }
    return cells;
  }

  private void addCells(
      String workload, String variant, Traffic traffic, LinkSettings link, List<Cell> cells) {
    for (String duration : seconds) {
      for (String seed : seeds) {
        cells.add(
            new Cell(
                Workload.valueOf(workload.toUpperCase(Locale.ROOT).replace('-', '_')),
                Variant.named(variant),
                traffic,
                link,
                fromSeconds,
                Integer.parseInt(duration),
                Long.parseLong(seed)));
      }
    }
  }

  private Stream<Traffic> traffics() {
    if (!streams.isEmpty()) {
      return streams.stream().map(Double::parseDouble).map(Traffic::stream);
    }
    return entities.stream().map(Integer::parseInt).map(Traffic::game);
  }

  /** A link for each combination; without loss there are no bursts. */
  private List<LinkSettings> links() {
    List<LinkSettings> links = new ArrayList<>();
    for (String rtt : rtts) {
      for (String jitter : jitters) {
        LinkSettings plain = LinkSettings.delay(us(rtt) / 2).withJitter(us(jitter));
        for (String loss : losses) {
          double share = Double.parseDouble(loss) / PERCENT;
          for (String burst : share == 0 ? List.of("0") : bursts) {
            addRates(plain.withLoss(share, us(burst)), links);
          }
        }
      }
    }
    return links;
  }

  private void addRates(LinkSettings link, List<LinkSettings> links) {
    for (String rate : rates) {
      long bitsPerSecond = Math.round(Double.parseDouble(rate) * 1e6);
      for (String queue : bitsPerSecond == 0 ? List.of("0") : queues) {
        int queueBytes = (int) (Double.parseDouble(queue) * 1_000);
        for (String step : steps) {
          links.add(withStep(link.withRate(bitsPerSecond, queueBytes), step));
        }
      }
    }
  }

  private static LinkSettings withStep(LinkSettings link, String step) {
    if (step.isEmpty()) {
      return link;
    }
    String[] parts = step.split(":", 2);
    if (parts.length < 2) {
      throw new IllegalArgumentException("--step: " + step + " (expected: AT:LOSS)");
    }
    long atUs = Math.round(Double.parseDouble(parts[0]) * US_PER_S);
    return link.withStep(atUs, Double.parseDouble(parts[1]) / PERCENT);
  }

  private static int us(String ms) {
    return (int) Math.round(Double.parseDouble(ms) * US_PER_MS);
  }
}
