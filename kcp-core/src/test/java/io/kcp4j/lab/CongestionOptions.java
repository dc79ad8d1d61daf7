package io.kcp4j.lab;

import io.kcp4j.fec.FecConfig;
import java.util.List;
import java.util.stream.DoubleStream;

/** The command line of {@link CongestionLab}. */
final class CongestionOptions {

  static final String USAGE =
      """
      usage: CongestionLab [option values]...
        --lines     which lines to measure (1,2,3,4,5,6)
        --rate      rates in Mbit/s (20,100); line 6 has its own
        --buffer    queues in bandwidth-delay products (those of the line)
        --loss      losses in per cent, for lines 1 and 6 (those of the line)
        --rtt       round-trip time without jitter and queue, in ms (40)
        --jitter    largest additional delay of a datagram, each way, in ms (1)
        --seconds   virtual time of a run (that of the line)
        --seeds     (1,2,3)
        --control   congestion control of the sender: bbr, reno or none (bbr)
        --receiver  what receives bulk data (kcp4j-10); kcp-go's have the room of line 7
        --fec       DATA/PARITY of the sender (none)
      receivers: %s"""
          .formatted(CongestionSides.receiverNames());

  private List<String> lines = List.of("1", "2", "3", "4", "5", "6");
  private List<String> rates = List.of("20", "100");
  private List<String> buffers = List.of();
  private List<String> losses = List.of();
  private double rttMs = 40;
  private double jitterMs = 1;
  private int seconds;
  private List<String> seeds = List.of("1", "2", "3");
  private String control = "bbr";
  private String receiver = "kcp4j-10";
  private FecConfig fec = FecConfig.NONE;

  private CongestionOptions() {}

  /**
   * Parses the command line.
   *
   * @throws IllegalArgumentException if it is not as {@link #USAGE} says
   */
  static CongestionOptions of(String... args) {
    CongestionOptions options = new CongestionOptions();
    for (int i = 0; i < args.length; i += 2) {
      if (i + 1 == args.length) {
        throw new IllegalArgumentException(args[i] + ": without a value");
      }
      options.set(args[i], args[i + 1]);
    }
    return options;
  }

  private void set(String option, String value) {
    List<String> values = List.of(value.split(",", -1));
    switch (option) {
      case "--lines" -> lines = values;
      case "--rate" -> rates = values;
      case "--buffer" -> buffers = values;
      case "--loss" -> losses = values;
      case "--rtt" -> rttMs = Double.parseDouble(value);
      case "--jitter" -> jitterMs = Double.parseDouble(value);
      case "--seconds" -> seconds = Integer.parseInt(value);
      case "--seeds" -> seeds = values;
      case "--control" -> control = value;
      case "--receiver" -> receiver = value;
      case "--fec" -> fec = fec(value.split("/", -1));
      default -> throw new IllegalArgumentException(option + ": unknown");
    }
    sender();
    receiver();
  }

  private static FecConfig fec(String[] shards) {
    return FecConfig.of(Integer.parseInt(shards[0]), Integer.parseInt(shards[1]));
  }

  List<Integer> lines() {
    return lines.stream().map(Integer::parseInt).toList();
  }

  List<Double> rates() {
    return numbers(rates);
  }

  List<Double> buffers(double... presets) {
    return buffers.isEmpty() ? list(presets) : numbers(buffers);
  }

  List<Double> losses(double... presets) {
    return losses.isEmpty() ? list(presets) : numbers(losses);
  }

  private static List<Double> list(double... values) {
    return DoubleStream.of(values).boxed().toList();
  }

  private static List<Double> numbers(List<String> values) {
    return values.stream().map(Double::parseDouble).toList();
  }

  double rttMs() {
    return rttMs;
  }

  double jitterMs() {
    return jitterMs;
  }

  /** The virtual time of a run, or 0 for that of the line. */
  int seconds() {
    return seconds;
  }

  List<Long> seeds() {
    return seeds.stream().map(Long::parseLong).toList();
  }

  LabSide sender() {
    return CongestionSides.sender(control, fec);
  }

  LabSide receiver() {
    return CongestionSides.receiver(receiver);
  }

  private boolean isKcpGo() {
    return receiver.startsWith("kcp-go");
  }

  /** Line 7: how much less goodput is enough. */
  double goodputRoomPercent() {
    return isKcpGo() ? 5 : 0;
  }

  /** Line 7: by how much longer the queue may be. */
  double queueRoomMs() {
    return isKcpGo() ? 10 : 0;
  }
}
