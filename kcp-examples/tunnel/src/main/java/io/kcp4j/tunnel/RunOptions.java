package io.kcp4j.tunnel;

import io.kcp4j.command.TransportChoice;
import picocli.CommandLine.Option;

/** The options of how an end of the tunnel runs: its log, its event loops, and how it ends. */
final class RunOptions {

  /** After the options of the command itself. */
  private static final int LAST = 1;

  private static final int MAX_THREADS = 1024;

  @Option(
      order = LAST,
      names = "-c",
      paramLabel = "FILE",
      description = "A JSON file whose members are options. They override the command line.")
  private String configFile;

  @Option(
      order = LAST,
      names = "--log",
      paramLabel = "FILE",
      defaultValue = "",
      description = "Append the log to a file (default: standard error).")
  private String log;

  @Option(
      order = LAST,
      names = "--quiet",
      description = "No lines about single connections, and no statistics.")
  private boolean isQuiet;

  @Option(
      order = LAST,
      names = "--snmpperiod",
      paramLabel = "SECONDS",
      defaultValue = "60",
      description = "Interval of the line of statistics; 0: none (default: ${DEFAULT-VALUE}).")
  private int statisticsPeriodS;

  @Option(
      order = LAST,
      names = "--drain",
      paramLabel = "SECONDS",
      defaultValue = "10",
      description =
          "After SIGTERM or Ctrl-C, how long to wait for the end of open connections; not in kcptun"
              + " (default: ${DEFAULT-VALUE}).")
  private int drainS;

  @Option(
      order = LAST,
      names = "--threads",
      paramLabel = "N",
      defaultValue = "0",
      description =
          "Event loops; a KCP session has one. Not in kcptun (default: 0, as many as processors, for"
              + " a client at most --conn).")
  private int threads;

  @Option(
      order = LAST,
      names = "--transport",
      paramLabel = "NAME",
      defaultValue = "AUTO",
      description = "auto, epoll, kqueue, nio or io_uring; not in kcptun (default: auto).")
  private TransportChoice transport;

  /**
   * Checks the options.
   *
   * @throws IllegalArgumentException if one is out of range
   */
  void check() {
    TunnelOptions.checked("--drain", drainS, 0, TunnelOptions.MAX_SECONDS);
    TunnelOptions.checked("--threads", threads, 0, MAX_THREADS);
    TunnelOptions.checked("--snmpperiod", statisticsPeriodS, 0, TunnelOptions.MAX_SECONDS);
  }

  /** The configuration file, or null. */
  String configFile() {
    return configFile;
  }

  /** The log file, or an empty string. */
  String log() {
    return log;
  }

  boolean isQuiet() {
    return isQuiet;
  }

  /** The interval of the line of statistics, in seconds, or 0 for none. */
  int statisticsPeriodS() {
    return isQuiet ? 0 : statisticsPeriodS;
  }

  int drainS() {
    return drainS;
  }

  /** How many event loops to use, if there is work for as many. */
  int threads() {
    return threads == 0 ? Runtime.getRuntime().availableProcessors() : threads;
  }

  TransportChoice transport() {
    return transport;
  }
}
