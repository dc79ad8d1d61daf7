package io.kcp4j.load;

import java.util.concurrent.TimeUnit;
import picocli.CommandLine.Option;

/** What the client of a game sends: in each tick a message for each entity. */
final class GameTraffic {

  @Option(
      names = "--entities",
      paramLabel = "N",
      defaultValue = "25",
      description = "Messages of a game in each tick (default: ${DEFAULT-VALUE}).")
  private int entities;

  @Option(
      names = "--tick-hz",
      paramLabel = "N",
      defaultValue = "60",
      description = "Ticks of a game per second (default: ${DEFAULT-VALUE}).")
  private int tickHz;

  @Option(
      names = "--message-bytes",
      paramLabel = "BYTES",
      defaultValue = "50",
      description =
          "Size of a game's messages, 8 or more; 12 in mode lanes (default: ${DEFAULT-VALUE}).")
  private int messageBytes;

  int entities() {
    return entities;
  }

  int messageBytes() {
    return messageBytes;
  }

  long periodNs() {
    return TimeUnit.SECONDS.toNanos(1) / tickHz;
  }
}
