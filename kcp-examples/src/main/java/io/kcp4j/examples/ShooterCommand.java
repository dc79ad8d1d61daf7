package io.kcp4j.examples;

import io.kcp4j.KcpMode;
import io.netty.channel.EventLoopGroup;
import java.io.IOException;
import java.util.EnumMap;
import java.util.Locale;
import java.util.Map;
import java.util.stream.Collectors;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** {@code kcp shooter}. */
@Command(
    name = "shooter",
    description = {
      "Measure what lanes do for a shooter on a simulated lossy network.",
      "A server sends snapshots, events, damage numbers, chat and a level to a player",
      "on lanes of one session, and at the same time to another one in one stream.",
      "All of this runs on this machine, and every byte is checked."
    })
final class ShooterCommand extends SessionCommand {

  private static final double MEGABYTE = 1e6;

  /** Before the level begins: the session needs a round trip to find out what the path carries. */
  private static final double WARM_UP_SECONDS = 0.5;

  @Option(
      names = "--seconds",
      paramLabel = "N",
      defaultValue = "8",
      description = "Measured time (default: ${DEFAULT-VALUE}).")
  private double seconds;

  @Option(
      names = "--level",
      paramLabel = "MB",
      defaultValue = "5",
      description = "Size of the level that is downloaded (default: ${DEFAULT-VALUE}).")
  private double levelMegabytes;

  @Option(
      names = "--rate",
      paramLabel = "MB/S",
      defaultValue = "1",
      description = "Most that the server sends to a player (default: ${DEFAULT-VALUE}).")
  private double rateMegabytes;

  @Mixin private NetworkOptions networkOptions;

  private double maxStallMs;

  @Override
  int threads() {
    return 2;
  }

  @Override
  int defaultIdleTimeoutS() {
    return 30;
  }

  @Override
  KcpMode defaultMode() {
    return KcpMode.FAST3;
  }

  @Override
  int run(EventLoopGroup group, BootstrapSettings settings) throws Exception {
    requireRange("--seconds", seconds, 0.1, 3600.0);
    requireRange("--level", levelMegabytes, 0.0, 1000.0);
    requireRange("--rate", rateMegabytes, 0.1, 1000.0);
    LossyRelay.Conditions network = networkOptions.conditions();
    ShooterTraffic traffic =
        new ShooterTraffic(
            GameTraffic.ticksIn(WARM_UP_SECONDS),
            GameTraffic.ticksIn(seconds),
            (int) (levelMegabytes * MEGABYTE),
            network.seed());
    print("%s", network);
    print("The server sends each player at most %.1f MB a second.", rateMegabytes);
    Map<ShooterVariant, ShooterPlayer> players = play(group, settings, network, traffic);
    printResults(players, 2 * (network.delayUs() + network.jitterUs()) / 1e3);
    return 0;
  }

  /** Plays both variants at the same time: then the load of the machine affects both alike. */
  private Map<ShooterVariant, ShooterPlayer> play(
      EventLoopGroup group,
      BootstrapSettings settings,
      LossyRelay.Conditions network,
      ShooterTraffic traffic)
      throws IOException, InterruptedException {
    Map<ShooterVariant, ShooterPlayer> players = new EnumMap<>(ShooterVariant.class);
    Map<ShooterVariant, RelayedServer> servers = new EnumMap<>(ShooterVariant.class);
    try {
      for (ShooterVariant variant : ShooterVariant.values()) {
        BootstrapSettings ofVariant = variant.of(settings, (int) (rateMegabytes * MEGABYTE));
        ShooterPlayer player = new ShooterPlayer(traffic);
        RelayedServer server =
            new RelayedServer(
                group, ofVariant, network, () -> variant.handlers(new ShooterServer(traffic)));
        servers.put(variant, server);
        players.put(variant, player);
        server.connect(variant.handlers(player));
      }
      for (ShooterPlayer player : players.values()) {
        player.done().sync();
      }
      maxStallMs =
          servers.values().stream()
              .mapToDouble(server -> server.relay().maxStallMs())
              .max()
              .orElseThrow();
      return players;
    } finally {
      for (RelayedServer server : servers.values()) {
        server.close();
      }
    }
  }

  private void printResults(Map<ShooterVariant, ShooterPlayer> players, double lateMs) {
    print("%s", ShooterTable.head());
    for (ShooterLane lane : ShooterLane.values()) {
      if (lane != ShooterLane.LEVEL) {
        players.forEach(
            (variant, player) ->
                print("%s", ShooterTable.row(lane, variant, player.check(lane), lateMs)));
      }
    }
    String times =
        players.entrySet().stream()
            .map(
                player ->
                    String.format(
                        Locale.ROOT,
                        "%.1f s %s",
                        player.getValue().levelSeconds(),
                        player.getKey().title()))
            .collect(Collectors.joining(", "));
    printStall(maxStallMs);
    print("late: more than %.1f ms after the tick.", lateMs);
    print("%s of %.1f MB: %s.", ShooterLane.LEVEL.title(), levelMegabytes, times);
    print("Reliable messages: all have arrived, once, unaltered, in order on ordered lanes.");
  }
}
