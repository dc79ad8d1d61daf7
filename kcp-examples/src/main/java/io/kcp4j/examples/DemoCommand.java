package io.kcp4j.examples;

import io.kcp4j.KcpMode;
import io.kcp4j.crypto.CipherAlgorithm;
import io.kcp4j.crypto.KeyRing;
import io.kcp4j.crypto.PacketKey;
import io.kcp4j.examples.GameRun.Figures;
import io.kcp4j.fec.FecConfig;
import io.netty.channel.EventLoopGroup;
import java.io.IOException;
import java.security.SecureRandom;
import java.util.Collection;
import java.util.EnumMap;
import java.util.Map;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** {@code kcp demo}. */
@Command(
    name = "demo",
    description = {
      "Measure the latency of a game's messages on a simulated lossy network.",
      "Servers and players run on this machine, and every echoed byte is checked.",
      "Compares kcp4j, also with FEC, to settings like those of kcp-go and TCP."
    })
final class DemoCommand extends SessionCommand {

  @Option(
      names = "--seconds",
      paramLabel = "N",
      defaultValue = "30",
      description = "Measured time (default: ${DEFAULT-VALUE}).")
  private double seconds;

  @Option(
      names = "--warm-up",
      paramLabel = "SECONDS",
      defaultValue = "4",
      description = "Time before it (default: ${DEFAULT-VALUE}).")
  private double warmUpSeconds;

  @Option(
      names = "--players",
      paramLabel = "N",
      defaultValue = "2",
      description = "Sessions with the same settings (default: ${DEFAULT-VALUE}).")
  private int players;

  @Mixin private NetworkOptions networkOptions;

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

  /** A random key. */
  @Override
  KeyRing defaultKeys() {
    byte[] key = new byte[CipherAlgorithm.AES_128_GCM.keyBytes()];
    new SecureRandom().nextBytes(key);
    return KeyRing.of(PacketKey.of(CipherAlgorithm.AES_128_GCM, key));
  }

  @Override
  FecConfig defaultFec() {
    return FecConfig.adaptive();
  }

  @Override
  int run(EventLoopGroup group, BootstrapSettings settings) throws Exception {
    requireRange("--seconds", seconds, 0.1, 3600.0);
    requireRange("--warm-up", warmUpSeconds, 0.0, 3600.0);
    requireRange("--players", players, 1, 100);
    requireRange("--datashard", settings.fec().dataShards(), 1, FecConfig.MAX_SHARDS);
    LossyRelay.Conditions network = networkOptions.conditions();
    printExperiment(network, settings);
    Map<GameVariant, Figures> results = play(group, settings, network);
    printResults(results);
    return 0;
  }

  private void printExperiment(LossyRelay.Conditions network, BootstrapSettings settings) {
    print(
        "%d players send %d messages of %d bytes %d times a second; a server echoes them.",
        players, GameTraffic.ENTITIES, GameTraffic.MESSAGE_BYTES, GameTraffic.TICKS_PER_SECOND);
    print("%s", network);
    print("Cipher: %s. FEC: %s.", settings.keys().keys().get(0).name(), settings.fec());
    print("Four games with different settings run at the same time.");
  }

  /** Plays with all settings at the same time: then the load of the machine affects all alike. */
  private Map<GameVariant, Figures> play(
      EventLoopGroup group, BootstrapSettings settings, LossyRelay.Conditions network)
      throws IOException, InterruptedException {
    GameTraffic traffic =
        new GameTraffic(
            players,
            GameTraffic.ticksIn(warmUpSeconds),
            GameTraffic.ticksIn(seconds),
            network.seed());
    Map<GameVariant, GameRun> runs = new EnumMap<>(GameVariant.class);
    try {
      for (GameVariant variant : GameVariant.values()) {
        GameRun run = new GameRun(group, variant.of(settings), network, traffic);
        runs.put(variant, run);
        run.connect();
      }
      beginAll(runs.values());
      DemoProgress progress = new DemoProgress(err(), runs);
      progress.awaitSecond(warmUpSeconds);
      runs.values().forEach(GameRun::startCounting);
      progress.awaitEnd();
      Map<GameVariant, Figures> results = new EnumMap<>(GameVariant.class);
      runs.forEach((variant, run) -> results.put(variant, run.figures()));
      return results;
    } finally {
      for (GameRun run : runs.values()) {
        run.close();
      }
    }
  }

  /** Spreads the ticks of the games evenly, so that none waits for another. */
  private void beginAll(Collection<GameRun> runs) {
    long delayNs = 0;
    for (GameRun run : runs) {
      run.begin(delayNs);
      delayNs += GameTraffic.TICK_NS / players / runs.size();
    }
  }

  private void printResults(Map<GameVariant, Figures> results) {
    print("%s", DemoTable.head());
    results.forEach((variant, figures) -> print("%s", DemoTable.row(variant, figures)));
    long checkedBytes = results.values().stream().mapToLong(Figures::checkedBytes).sum();
    print("%d messages echoed, every byte correct.", checkedBytes / GameTraffic.MESSAGE_BYTES);
    printStall(results.values().stream().mapToDouble(Figures::maxStallMs).max().orElseThrow());
    print("%s", DemoTable.comparison(results));
  }
}
