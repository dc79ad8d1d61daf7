package io.kcp4j.examples;

import io.kcp4j.netty.KcpChannel;
import io.netty.channel.EventLoopGroup;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/** {@code kcp ping}. */
@Command(name = "ping", description = "Measure round-trip times to an echo server.")
final class PingCommand extends ClientCommand {

  @Option(
      names = {"-c", "--count"},
      paramLabel = "N",
      defaultValue = "20",
      description = "Number of pings (default: ${DEFAULT-VALUE}).")
  private int count;

  @Option(
      names = {"-i", "--period"},
      paramLabel = "MS",
      defaultValue = "100",
      description = "Interval between pings (default: ${DEFAULT-VALUE}).")
  private int periodMs;

  @Option(
      names = {"-s", "--size"},
      paramLabel = "BYTES",
      defaultValue = "32",
      description = "Size of each ping (default: ${DEFAULT-VALUE}).")
  private int sizeBytes;

  @Override
  int run(EventLoopGroup group, BootstrapSettings settings) throws Exception {
    requireRange("--count", count, 1, Integer.MAX_VALUE);
    requireRange("--period", periodMs, 1, 60_000);
    requireRange("--size", sizeBytes, 1, settings.chunkBytes());
    Pinger pinger = new Pinger(count, periodMs, sizeBytes);
    KcpChannel channel = connect(group, settings, pinger);
    try {
      pinger.done().sync();
      return 0;
    } finally {
      channel.close().awaitUninterruptibly();
      LatencySamples samples = pinger.samples();
      print("%d of %d pings answered, rtt %s", samples.size(), count, samples);
    }
  }
}
