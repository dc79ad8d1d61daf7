package io.kcp4j.tunnel;

import io.kcp4j.KcpCounters;
import io.kcp4j.command.CommandFailure;
import io.kcp4j.command.HostPort;
import io.kcp4j.netty.KcpChannel;
import io.kcp4j.netty.smux.SmuxStreamChannel;
import io.kcp4j.netty.smux.SmuxStreamChannelBootstrap;
import io.netty.bootstrap.Bootstrap;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.ChannelOption;
import io.netty.channel.EventLoop;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.group.ChannelGroup;
import io.netty.channel.group.DefaultChannelGroup;
import io.netty.channel.socket.SocketChannel;
import io.netty.util.concurrent.EventExecutor;
import io.netty.util.concurrent.Future;
import io.netty.util.concurrent.GlobalEventExecutor;
import java.net.InetSocketAddress;
import java.nio.channels.ClosedChannelException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * The client's end: accepts TCP connections, and carries each by a stream of a KCP session that
 * lives on the connection's event loop.
 */
final class TunnelClient implements Tunnel {

  private static final int BACKLOG = 1024;

  private final TunnelContext context;
  private final RemoteHost remote;
  private final ConnectionLimits limits;
  private final Map<EventLoop, SessionPool> pools = new HashMap<>();
  private final ClientCounters counters = new ClientCounters();
  private final ChannelGroup sessions = new DefaultChannelGroup(GlobalEventExecutor.INSTANCE);
  private Channel listener;

  private TunnelClient(TunnelContext context, RemoteHost remote, ConnectionLimits limits) {
    this.context = context;
    this.remote = remote;
    this.limits = limits;
  }

  /**
   * Starts to listen.
   *
   * @param group its event loops, at most as many as {@code sessions}
   * @param limits how many connections it carries
   * @param sessions how many KCP sessions to spread connections over
   * @throws CommandFailure if the address cannot be bound
   */
  static TunnelClient start(
      EventLoopGroup group,
      TunnelContext context,
      HostPort local,
      RemoteHost remote,
      ConnectionLimits limits,
      int sessions,
      SessionPool.Lifetime lifetime)
      throws CommandFailure, InterruptedException {
    TunnelClient client = new TunnelClient(context, remote, limits);
    client.makePools(group, sessions, lifetime);
    client.listener = client.bind(group, local);
    return client;
  }

  private void makePools(EventLoopGroup group, int sessions, SessionPool.Lifetime lifetime) {
    List<EventLoop> loops = new ArrayList<>();
    for (EventExecutor executor : group) {
      loops.add((EventLoop) executor);
    }
    for (int i = 0; i < loops.size(); i++) {
      EventLoop loop = loops.get(i);
      int size = (sessions + loops.size() - 1 - i) / loops.size();
      Bootstrap bootstrap = context.settings().client(loop).handler(sessionHandlers());
      pools.put(loop, new SessionPool(loop, () -> connect(bootstrap), size, lifetime));
    }
  }

  private ChannelInitializer<KcpChannel> sessionHandlers() {
    return new ChannelInitializer<>() {
      @Override
      protected void initChannel(KcpChannel session) {
        context.settings().addHandlers(session, true, null, context.log());
      }
    };
  }

  private ChannelFuture connect(Bootstrap bootstrap) {
    ChannelFuture connected = bootstrap.connect(remote.next());
    connected.addListener(
        future -> {
          if (future.isSuccess()) {
            KcpChannel session = (KcpChannel) connected.channel();
            sessions.add(session);
            counters.add(session);
            context.log().detailOrLimited(TunnelLog.Kind.SESSION_BEGUN, "session: %s", session);
          }
        });
    return connected;
  }

  private Channel bind(EventLoopGroup group, HostPort local)
      throws CommandFailure, InterruptedException {
    ChannelFuture bound =
        new ServerBootstrap()
            .group(group)
            .channel(context.transport().serverSocketChannel())
            .option(ChannelOption.SO_BACKLOG, BACKLOG)
            .option(ChannelOption.SO_REUSEADDR, true)
            .childHandler(
                new ChannelInitializer<SocketChannel>() {
                  @Override
                  protected void initChannel(SocketChannel tcp) {
                    new ConnectionOptions(context.forwarding()).set(tcp);
                    tcp.pipeline().addLast(new EarlyInput());
                    tcp.eventLoop().execute(() -> accept(tcp)); // When it is active.
                  }
                })
            .bind(local.local())
            .await();
    if (!bound.isSuccess()) {
      throw new CommandFailure(
          "cannot listen on " + local + ": " + CommandFailure.describe(bound.cause()));
    }
    return bound.channel();
  }

  private void accept(SocketChannel tcp) {
    InetSocketAddress user = tcp.remoteAddress();
    if (user == null) { // It has closed already.
      tcp.close();
      return;
    }
    if (!limits.tryOpen(user.getAddress())) {
      context.statistics().connectionRefused();
      tcp.close();
      return;
    }
    limits.connected(); // There is no target that could be slow to accept it.
    tcp.closeFuture().addListener(closed -> limits.closed(user.getAddress()));
    context.statistics().connectionOpened();
    open(tcp, true);
  }

  private void open(SocketChannel tcp, boolean mayRetry) {
    ChannelFuture session = pools.get(tcp.eventLoop()).take(tcp);
    session.addListener(
        connected -> {
          if (connected.isSuccess()) {
            open(tcp, session, mayRetry);
          } else {
            refuse(tcp, connected.cause());
          }
        });
  }

  private void open(SocketChannel tcp, ChannelFuture session, boolean mayRetry) {
    Future<SmuxStreamChannel> opened =
        new SmuxStreamChannelBootstrap(session.channel())
            .handler(new ConnectionOptions(context.forwarding()))
            .open();
    opened.addListener(
        future -> {
          if (future.isSuccess()) {
            new TunnelConnection(context, tcp, opened.getNow()).start();
          } else if (mayRetry && future.cause() instanceof ClosedChannelException) {
            // The session's channel may be open while it closes.
            pools.get(tcp.eventLoop()).discard(session);
            open(tcp, false);
          } else {
            refuse(tcp, future.cause());
          }
        });
  }

  private void refuse(SocketChannel tcp, Throwable cause) {
    context.statistics().connectionFailed();
    context
        .log()
        .limited(
            TunnelLog.Kind.NO_SESSION,
            "no session for %s: %s",
            tcp,
            CommandFailure.describe(cause));
    tcp.close();
  }

  @Override
  public List<InetSocketAddress> addresses() {
    return List.of((InetSocketAddress) listener.localAddress());
  }

  @Override
  public int sessions() {
    return counters.sessions();
  }

  @Override
  public KcpCounters counters() {
    return counters.sum();
  }

  @Override
  public void refresh() {
    remote.refresh();
  }

  @Override
  public void drain() {
    listener.close().awaitUninterruptibly();
  }

  @Override
  public void close() {
    listener.close().awaitUninterruptibly();
    sessions.close().awaitUninterruptibly();
  }
}
