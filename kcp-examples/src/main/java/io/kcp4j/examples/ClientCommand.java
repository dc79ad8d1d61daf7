package io.kcp4j.examples;

import io.kcp4j.command.CommandFailure;
import io.kcp4j.command.HostPort;
import io.kcp4j.netty.KcpChannel;
import io.netty.channel.ChannelFuture;
import io.netty.channel.EventLoopGroup;
import picocli.CommandLine.Option;

/** A command that opens one session to a server. */
abstract class ClientCommand extends SessionCommand {

  @Option(
      names = {"-r", "--remote"},
      required = true,
      paramLabel = "HOST:PORT",
      converter = HostPort.Converter.class,
      description = "The server.")
  private HostPort remote;

  /** Connects, with {@code handler} at the end of the session's pipeline. */
  final KcpChannel connect(EventLoopGroup group, BootstrapSettings settings, SessionHandler handler)
      throws CommandFailure, InterruptedException {
    ChannelFuture connected =
        settings.client(group).handler(handler).connect(remote.remote()).await();
    if (!connected.isSuccess()) {
      throw new CommandFailure(
          "no answer from " + remote + ": " + CommandFailure.describe(connected.cause()));
    }
    return (KcpChannel) connected.channel();
  }

  /** A server that sends nothing for this long is taken to have failed. */
  @Override
  final int defaultIdleTimeoutS() {
    return 30;
  }
}
