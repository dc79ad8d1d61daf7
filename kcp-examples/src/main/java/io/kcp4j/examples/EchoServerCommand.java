package io.kcp4j.examples;

import io.netty.channel.ChannelHandler;
import picocli.CommandLine.Command;

/** {@code kcp echo-server}. */
@Command(name = "echo-server", description = "Echo all received data, for any number of clients.")
final class EchoServerCommand extends ServerCommand {

  @Override
  ChannelHandler newHandler(BootstrapSettings settings) {
    return new EchoHandler();
  }
}
