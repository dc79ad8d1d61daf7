package io.kcp4j.examples;

import io.kcp4j.command.CommandFailure;
import io.kcp4j.examples.PerfProtocol.Hello;
import io.kcp4j.examples.PerfProtocol.Report;
import io.netty.channel.ChannelHandler;
import picocli.CommandLine.Command;

/** {@code kcp perf-server}; see {@link PerfProtocol} for the protocol. */
@Command(name = "perf-server", description = "Serve perf-client.")
final class PerfServerCommand extends ServerCommand {

  @Override
  ChannelHandler newHandler(BootstrapSettings settings) {
    return new PerfAcceptor(settings.chunkBytes(), this::summariseWhenDone);
  }

  private void summariseWhenDone(Hello hello, PerfSide side) {
    side.done().addListener(done -> summarise(hello, side, done.cause()));
  }

  private void summarise(Hello hello, PerfSide side, Throwable failure) {
    String verb = hello.reverse() ? "sent" : "received";
    if (failure != null) {
      print("%s data, but the measurement failed: %s", verb, CommandFailure.describe(failure));
      return;
    }
    Report report = side.result().report();
    print(
        "%s %d bytes in %.2f s: %.2f MB/s",
        verb, report.bytes(), report.seconds(), report.megabytesPerSecond());
  }
}
