package io.kcp4j.examples;

import io.kcp4j.KcpCounter;
import io.kcp4j.KcpCounters;
import io.kcp4j.command.CommandFailure;
import io.kcp4j.command.HostPort;
import io.kcp4j.netty.KcpServerChannel;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelHandler;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.group.ChannelGroup;
import io.netty.channel.group.DefaultChannelGroup;
import io.netty.util.concurrent.GlobalEventExecutor;
import java.util.concurrent.TimeUnit;
import picocli.CommandLine.Option;

/** A command that listens until Ctrl-C, and then prints its counters. */
abstract class ServerCommand extends SessionCommand {

  /** How long a server that is stopped waits for its sessions to close. */
  private static final int CLOSE_TIMEOUT_S = 5;

  @Option(
      names = {"-l", "--listen"},
      required = true,
      paramLabel = "HOST:PORT",
      converter = HostPort.Converter.class,
      description = "The address to listen on; port 0 selects a free port.")
  private HostPort listen;

  /** The handler of a new session. */
  abstract ChannelHandler newHandler(BootstrapSettings settings);

  @Override
  final int run(EventLoopGroup group, BootstrapSettings settings) throws Exception {
    ChannelGroup sessions = new DefaultChannelGroup(GlobalEventExecutor.INSTANCE);
    ServerBootstrap bootstrap =
        settings
            .server(group)
            .childHandler(
                new ChannelInitializer<>() {
                  @Override
                  protected void initChannel(Channel session) {
                    sessions.add(session);
                    session.pipeline().addLast(newHandler(settings));
                  }
                });
    ChannelFuture bound = bootstrap.bind(listen.local()).await();
    if (!bound.isSuccess()) {
      throw new CommandFailure(
          "cannot listen on " + listen + ": " + CommandFailure.describe(bound.cause()));
    }
    KcpServerChannel server = (KcpServerChannel) bound.channel();
    print("listening %s", HostPort.format(server.localAddress()));
    try {
      server.closeFuture().sync();
    } finally {
      server.close().awaitUninterruptibly();
      sessions.close().awaitUninterruptibly(CLOSE_TIMEOUT_S, TimeUnit.SECONDS);
      summarise(server.counters());
    }
    return 0;
  }

  private void summarise(KcpCounters counters) {
    print(
        "%d sessions, received %d bytes in %d datagrams, sent %d bytes in %d datagrams,"
            + " %d segments retransmitted",
        counters.get(KcpCounter.SESSIONS_OPENED),
        counters.get(KcpCounter.PAYLOAD_BYTES_IN),
        counters.get(KcpCounter.DATAGRAMS_IN),
        counters.get(KcpCounter.PAYLOAD_BYTES_OUT),
        counters.get(KcpCounter.DATAGRAMS_OUT),
        counters.get(KcpCounter.RETRANSMITTED));
    printMismatches(counters);
  }

  /** A server keeps idle sessions without limit. */
  @Override
  final int defaultIdleTimeoutS() {
    return 0;
  }
}
