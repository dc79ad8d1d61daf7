package io.kcp4j.examples;

import io.netty.channel.ChannelHandler;
import picocli.CommandLine.Command;

/** {@code kcp echo-server}. */
@Command(name = "echo-server", description = "Send back whatever comes, to any number of clients.")
final class EchoServerCommand extends ServerCommand {

  @Override
  ChannelHandler newHandler(SessionSettings settings) {
    return new EchoHandler();
  }
}
