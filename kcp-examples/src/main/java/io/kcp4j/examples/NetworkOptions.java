package io.kcp4j.examples;

import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** The options of a simulated network. */
final class NetworkOptions {

  private static final double MAX_DELAY_MS = 10_000;
  private static final double MAX_PERCENT = 90;

  @Spec(Spec.Target.MIXEE)
  private CommandSpec command;

  @Option(
      names = "--loss",
      paramLabel = "PERCENT",
      defaultValue = "5",
      description = "Datagrams lost in each direction (default: ${DEFAULT-VALUE}).")
  private double lossPercent;

  @Option(
      names = "--delay",
      paramLabel = "MS",
      defaultValue = "10",
      description = "One-way delay (default: ${DEFAULT-VALUE}).")
  private double delayMs;

  @Option(
      names = "--jitter",
      paramLabel = "MS",
      defaultValue = "1",
      description = "Additional random one-way delay, at most (default: ${DEFAULT-VALUE}).")
  private double jitterMs;

  @Option(
      names = "--reorder",
      paramLabel = "PERCENT",
      defaultValue = "0",
      description = "Datagrams that take twice as long (default: ${DEFAULT-VALUE}).")
  private double reorderPercent;

  @Option(
      names = "--duplicate",
      paramLabel = "PERCENT",
      defaultValue = "0",
      description = "Datagrams that arrive twice (default: ${DEFAULT-VALUE}).")
  private double duplicatePercent;

  @Option(
      names = "--seed",
      paramLabel = "N",
      defaultValue = "1",
      description = "Seed of the simulated network and of the data (default: ${DEFAULT-VALUE}).")
  private long seed;

  /**
   * The network that results from these options.
   *
   * @throws ParameterException if one is out of range
   */
  LossyRelay.Conditions conditions() {
    return new LossyRelay.Conditions(
        micros("--delay", delayMs),
        micros("--jitter", jitterMs),
        rate("--loss", lossPercent),
        rate("--reorder", reorderPercent),
        rate("--duplicate", duplicatePercent),
        seed);
  }

  private int micros(String option, double ms) {
    return (int) Math.round(1000 * checked(option, ms, MAX_DELAY_MS));
  }

  private double rate(String option, double percent) {
    return checked(option, percent, MAX_PERCENT) / 100;
  }

  private double checked(String option, double value, double max) {
    if (!(value >= 0 && value <= max)) {
      throw new ParameterException(
          command.commandLine(), option + ": " + value + " (expected: 0 to " + max + ")");
    }
    return value;
  }
}
