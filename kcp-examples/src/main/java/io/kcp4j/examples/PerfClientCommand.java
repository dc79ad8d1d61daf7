package io.kcp4j.examples;

import io.kcp4j.examples.PerfProtocol.Hello;
import io.kcp4j.examples.PerfProtocol.Report;
import io.kcp4j.netty.KcpChannel;
import io.netty.channel.EventLoopGroup;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/** {@code kcp perf-client}. */
@Command(
    name = "perf-client",
    description = {
      "Measure one-way throughput to or from a perf-server, as iperf3 does.",
      "All figures are counted by the receiver; 1 MB is 10^6 bytes."
    })
final class PerfClientCommand extends ClientCommand {

  private static final double MAX_DURATION_S = 24 * 3600;

  @Option(
      names = {"-t", "--duration"},
      paramLabel = "SECONDS",
      defaultValue = "10",
      description = "How long to send (default: ${DEFAULT-VALUE}).")
  private double durationS;

  @Option(
      names = {"-R", "--reverse"},
      negatable = true,
      description = "The server sends.")
  private boolean reverse;

  @Option(
      names = "--json",
      description = {
        "Print one JSON object as the last line:",
        "mb_s, bytes, seconds, retransmitted, srtt_ms."
      })
  private boolean json;

  private Report previous = new Report(false, 0, 0);

  @Override
  int run(EventLoopGroup group, BootstrapSettings settings) throws Exception {
    requireRange("--duration", durationS, 0.001, MAX_DURATION_S);
    Hello hello = new Hello(reverse, (int) Math.ceil(durationS * 1000));
    PerfSide side =
        reverse
            ? new PerfReceiver(this::printInterval)
            : new PerfSender(settings.chunkBytes(), hello.durationMs(), this::printInterval);
    KcpChannel channel = connect(group, settings, side);
    try {
      channel.writeAndFlush(hello.encode(channel.alloc()));
      if (side instanceof PerfSender sender) {
        channel.eventLoop().execute(() -> sender.start(channel.pipeline().context(sender)));
      }
      side.done().sync();
      return 0;
    } finally {
      channel.close().awaitUninterruptibly();
      printMismatches(channel.endpointCounters());
      if (side.result() != null) {
        printSummary(side.result());
      }
    }
  }

  private void printInterval(Report report) {
    long bytes = report.bytes() - previous.bytes();
    double seconds = report.seconds() - previous.seconds();
    if (seconds <= 0) {
      return; // Not a perf-server's report.
    }
    print(
        "%6.2f-%-6.2f s %10.2f MB %9.2f MB/s",
        previous.seconds(), report.seconds(), bytes / 1e6, bytes / 1e6 / seconds);
    previous = report;
  }

  private void printSummary(PerfSide.Result result) {
    Report report = result.report();
    print(
        "%6.2f-%-6.2f s %10.2f MB %9.2f MB/s, %d segments retransmitted, srtt %.1f ms",
        0.0,
        report.seconds(),
        report.bytes() / 1e6,
        report.megabytesPerSecond(),
        result.end().retransmitted(),
        result.end().srttUs() / 1e3);
    if (json) {
      print(
          "{\"mb_s\":%.3f,\"bytes\":%d,\"seconds\":%.3f,\"retransmitted\":%d,\"srtt_ms\":%.3f}",
          report.megabytesPerSecond(),
          report.bytes(),
          report.seconds(),
          result.end().retransmitted(),
          result.end().srttUs() / 1e3);
    }
  }
}
