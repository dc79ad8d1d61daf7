package io.kcp4j.examples;

import java.util.Locale;
import java.util.Map;

/** The result of the demo, in lines of at most 80 characters. */
final class DemoTable {

  /** Smaller differences are noise, in percent. */
  private static final int NOISE_PERCENT = 5;

  private DemoTable() {}

  static String head() {
    return String.format(
        "%-25s%8s%8s%8s%8s%8s%15s",
        "round-trip times in ms", "p50", "p99", "p99.8", "max", "MB up", "retransmitted");
  }

  static String row(GameVariant variant, GameRun.Figures figures) {
    LatencySamples rtt = figures.rtt();
    return String.format(
        Locale.ROOT,
        "%-25s%8.1f%8.1f%8.1f%8.1f%8.2f%15d",
        variant.title(),
        rtt.percentileMs(50),
        rtt.percentileMs(99),
        rtt.percentileMs(99.8),
        rtt.percentileMs(100),
        figures.bytesUp() / 1e6,
        figures.retransmitted());
  }

  /** A sentence that compares kcp4j, without and with FEC, to settings like TCP's. */
  static String comparison(Map<GameVariant, GameRun.Figures> results) {
    GameRun.Figures tcp = results.get(GameVariant.LIKE_TCP);
    GameRun.Figures fec = results.get(GameVariant.FEC);
    return String.format(
        Locale.ROOT,
        "Compared with %s, p99 is %s with %s%nand %s with %s, at %.1f times the bytes.",
        GameVariant.LIKE_TCP.title(),
        p99Change(tcp, results.get(GameVariant.PLAIN)),
        GameVariant.PLAIN.title(),
        p99Change(tcp, fec),
        GameVariant.FEC.title(),
        (double) fec.bytesUp() / tcp.bytesUp());
  }

  private static String p99Change(GameRun.Figures from, GameRun.Figures to) {
    double percent = 100 * (to.rtt().percentileMs(99) / from.rtt().percentileMs(99) - 1);
    if (Math.abs(percent) < NOISE_PERCENT) {
      return "about the same";
    }
    return Math.round(Math.abs(percent)) + (percent < 0 ? " % lower" : " % higher");
  }
}
