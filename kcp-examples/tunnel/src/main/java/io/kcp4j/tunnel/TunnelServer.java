package io.kcp4j.tunnel;

import io.kcp4j.KcpCounters;
import io.kcp4j.command.CommandFailure;
import io.kcp4j.command.HostPort;
import io.kcp4j.netty.KcpChannel;
import io.kcp4j.netty.KcpServerChannel;
import io.kcp4j.netty.KcpServerChannelOption;
import io.kcp4j.netty.smux.SmuxStreamChannel;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.group.ChannelGroup;
import io.netty.channel.group.DefaultChannelGroup;
import io.netty.util.concurrent.GlobalEventExecutor;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.List;

/**
 * The server's end: accepts KCP sessions on one or more ports, and connects each of their streams
 * to the target, on the session's event loop.
 */
final class TunnelServer implements Tunnel {

  private final TunnelContext context;
  private final RemoteHost target;
  private final ConnectionLimits limits;
  private final List<KcpServerChannel> servers = new ArrayList<>();
  private final ChannelGroup sessions = new DefaultChannelGroup(GlobalEventExecutor.INSTANCE);
  private volatile boolean isDraining;

  private TunnelServer(TunnelContext context, RemoteHost target, ConnectionLimits limits) {
    this.context = context;
    this.target = target;
    this.limits = limits;
  }

  /**
   * Starts to listen.
   *
   * @param group its event loops
   * @param limits how many connections its peers may have
   * @param sockets how many sockets each port has
   * @throws CommandFailure if a port cannot be bound
   */
  static TunnelServer start(
      EventLoopGroup group,
      TunnelContext context,
      PortRange listen,
      RemoteHost target,
      ConnectionLimits limits,
      int sockets)
      throws CommandFailure, InterruptedException {
    TunnelServer server = new TunnelServer(context, target, limits);
    try {
      server.bind(group, listen, sockets);
    } catch (CommandFailure | InterruptedException e) {
      server.close();
      throw e;
    }
    return server;
  }

  private void bind(EventLoopGroup group, PortRange listen, int sockets)
      throws CommandFailure, InterruptedException {
    long memoryLimit = Runtime.getRuntime().maxMemory() / 2 / listen.ports();
    ServerBootstrap bootstrap =
        context
            .settings()
            .server(group)
            .option(KcpServerChannelOption.SOCKETS, sockets)
            .option(KcpServerChannelOption.MAX_SESSIONS, maxSessions(listen.ports()))
            .option(KcpServerChannelOption.MEMORY_LIMIT, memoryLimit)
            .childHandler(sessionHandlers());
    for (InetSocketAddress address : listen.local()) {
      ChannelFuture bound = bootstrap.bind(address).await();
      if (!bound.isSuccess()) {
        throw new CommandFailure(
            "cannot listen on "
                + HostPort.format(address)
                + ": "
                + CommandFailure.describe(bound.cause()));
      }
      servers.add((KcpServerChannel) bound.channel());
    }
  }

  /** The most sessions of each port: all ports share the default of one server. */
  static int maxSessions(int ports) {
    int ofServer = new KcpServerChannel().config().getOption(KcpServerChannelOption.MAX_SESSIONS);
    return Math.max(1, ofServer / ports);
  }

  private ChannelInitializer<KcpChannel> sessionHandlers() {
    ChannelInitializer<SmuxStreamChannel> streamHandler =
        new ChannelInitializer<>() {
          @Override
          protected void initChannel(SmuxStreamChannel stream) {
            new ConnectionOptions(context.forwarding()).set(stream);
            stream.parent().pipeline().get(TargetConnector.class).connect(stream);
          }
        };
    return new ChannelInitializer<>() {
      @Override
      protected void initChannel(KcpChannel session) {
        sessions.add(session);
        context.settings().addHandlers(session, false, streamHandler, context.log());
        session.pipeline().addFirst(new TargetConnector(context, target, limits, () -> isDraining));
      }
    };
  }

  @Override
  public List<InetSocketAddress> addresses() {
    return servers.stream().map(KcpServerChannel::localAddress).toList();
  }

  @Override
  public int sessions() {
    return sessions.size();
  }

  @Override
  public KcpCounters counters() {
    return KcpCounters.sumOf(servers.stream().map(KcpServerChannel::counters).toList());
  }

  @Override
  public void refresh() {
    target.refresh();
  }

  @Override
  public void drain() {
    isDraining = true;
    servers.forEach(KcpServerChannel::close);
  }

  @Override
  public void close() {
    servers.forEach(server -> server.close().awaitUninterruptibly());
    sessions.close().awaitUninterruptibly();
  }
}
