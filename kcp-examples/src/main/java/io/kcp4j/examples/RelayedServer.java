package io.kcp4j.examples;

import io.kcp4j.KcpCounter;
import io.kcp4j.KcpStats;
import io.kcp4j.netty.KcpChannel;
import io.kcp4j.netty.KcpChannelOption;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandler;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.EventLoopGroup;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.function.Supplier;

/** A server behind a simulated network, and the sessions between it and its clients. */
final class RelayedServer implements AutoCloseable {

  private final EventLoopGroup group;
  private final BootstrapSettings settings;
  private final Channel server;
  private final LossyRelay relay;

  /** Those of the clients, and those that the server has accepted. */
  private final Queue<KcpChannel> sessions = new ConcurrentLinkedQueue<>();

  /**
   * Opens the server and the network.
   *
   * @param handlers makes the handlers of each session that the server accepts, in order
   */
  RelayedServer(
      EventLoopGroup group,
      BootstrapSettings settings,
      LossyRelay.Conditions network,
      Supplier<ChannelHandler[]> handlers)
      throws IOException, InterruptedException {
    this.group = group;
    this.settings = settings;
    server =
        settings
            .server(group)
            .childHandler(
                new ChannelInitializer<KcpChannel>() {
                  @Override
                  protected void initChannel(KcpChannel session) {
                    sessions.add(session);
                    session.pipeline().addLast(handlers.get());
                  }
                })
            .bind(InetAddress.getLoopbackAddress(), 0)
            .sync()
            .channel();
    relay = new LossyRelay((InetSocketAddress) server.localAddress(), network);
  }

  /** Connects a client, whose pipeline gets these handlers, through the network. */
  KcpChannel connect(ChannelHandler... handlers) throws InterruptedException {
    ChannelInitializer<KcpChannel> pipeline =
        new ChannelInitializer<>() {
          @Override
          protected void initChannel(KcpChannel session) {
            session.pipeline().addLast(handlers);
          }
        };
    KcpChannel session =
        (KcpChannel)
            settings.client(group).handler(pipeline).connect(relay.address()).sync().channel();
    sessions.add(session);
    return session;
  }

  /** The network. */
  LossyRelay relay() {
    return relay;
  }

  /** The segments that either side has sent again, second copies included. */
  long retransmitted() {
    long segments = 0;
    for (KcpChannel session : sessions) {
      KcpStats stats = SessionCommand.statsOf(session);
      segments += stats.get(KcpCounter.RETRANSMITTED) + stats.get(KcpCounter.COPIES_OUT);
    }
    return segments;
  }

  /** Closes without waiting for acknowledgements: both peers of each session close. */
  @Override
  public void close() throws IOException {
    for (KcpChannel session : sessions) {
      session.config().setOption(KcpChannelOption.LINGER, 0);
      session.close().awaitUninterruptibly();
    }
    server.close().awaitUninterruptibly();
    relay.close();
  }
}
