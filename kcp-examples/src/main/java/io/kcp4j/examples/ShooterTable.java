package io.kcp4j.examples;

import java.util.Locale;

/** The result of the shooter, in lines of at most 80 characters. */
final class ShooterTable {

  private ShooterTable() {}

  static String head() {
    return String.format(
        "%-16s%-14s%7s%9s%8s%8s%8s%9s",
        "delays in ms", "", "sent", "arrived", "p50", "p99", "max", "late");
  }

  /**
   * A row of one lane.
   *
   * @param lateMs from when on a message is late
   */
  static String row(ShooterLane lane, ShooterVariant variant, LaneCheck check, double lateMs) {
    LatencySamples delays = check.delays();
    return String.format(
        Locale.ROOT,
        "%-16s%-14s%7d%9d%8.1f%8.1f%8.1f%7.1f %%",
        lane.title(),
        variant.title(),
        check.measured(),
        delays.size(),
        delays.percentileMs(50),
        delays.percentileMs(99),
        delays.percentileMs(100),
        delays.percentAbove(lateMs));
  }
}
