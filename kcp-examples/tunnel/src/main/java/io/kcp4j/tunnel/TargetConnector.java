package io.kcp4j.tunnel;

import io.kcp4j.command.CommandFailure;
import io.kcp4j.netty.KcpChannelEvent;
import io.kcp4j.netty.smux.SmuxStreamChannel;
import io.netty.bootstrap.Bootstrap;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelOption;
import io.netty.channel.socket.SocketChannel;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.function.BooleanSupplier;

/**
 * A handler of one session of a server: connects its streams to the target, on the session's event
 * loop, as far as the {@link ConnectionLimits} allow. While the session's peer has not answered,
 * its address may be forged; then only some streams are connected, and the others wait for that.
 */
final class TargetConnector extends ChannelInboundHandlerAdapter {

  private static final int CONNECT_TIMEOUT_MS = 10_000;

  private final TunnelContext context;
  private final RemoteHost target;
  private final ConnectionLimits limits;
  private final BooleanSupplier isDraining;

  private boolean hasPeerAnswered;

  /** How many connections have been opened before the peer has answered, and still count so. */
  private int unanswered;

  /** Why the last connection has failed, if that has not been logged. */
  private String failure;

  /** The streams that wait until the peer has answered. */
  private final Set<SmuxStreamChannel> waiting = new LinkedHashSet<>();

  TargetConnector(
      TunnelContext context,
      RemoteHost target,
      ConnectionLimits limits,
      BooleanSupplier isDraining) {
    this.context = context;
    this.target = target;
    this.limits = limits;
    this.isDraining = isDraining;
  }

  /** The peer has opened a stream. */
  void connect(SmuxStreamChannel stream) {
    if (!hasPeerAnswered && !addUnanswered()) {
      waiting.add(stream);
      stream.closeFuture().addListener(closed -> waiting.remove(stream));
      return;
    }
    open(stream);
  }

  private boolean addUnanswered() {
    boolean isAllowed =
        unanswered < ConnectionLimits.MAX_UNANSWERED_OF_SESSION && limits.tryAddUnanswered();
    unanswered += isAllowed ? 1 : 0;
    return isAllowed;
  }

  private void open(SmuxStreamChannel stream) {
    if (isDraining.getAsBoolean() || !stream.isActive()) {
      stream.close();
      return;
    }
    InetAddress peer = ((InetSocketAddress) stream.parent().remoteAddress()).getAddress();
    if (!limits.tryOpen(peer)) {
      context.statistics().connectionRefused();
      stream.close();
      return;
    }
    context.statistics().connectionOpened();
    ChannelFuture connected =
        new Bootstrap()
            .group(stream.eventLoop())
            .channel(context.transport().socketChannel())
            .option(ChannelOption.CONNECT_TIMEOUT_MILLIS, CONNECT_TIMEOUT_MS)
            .handler(new ConnectionOptions(context.forwarding()))
            .connect(target.next());
    connected.addListener(future -> connected(connected, stream, peer));
  }

  private void connected(ChannelFuture connect, SmuxStreamChannel stream, InetAddress peer) {
    limits.connected();
    if (connect.isSuccess()) {
      SocketChannel tcp = (SocketChannel) connect.channel();
      TunnelConnection connection = new TunnelConnection(context, tcp, stream);
      tcp.closeFuture().addListener(closed -> closed(connection, peer));
      connection.start();
      return;
    }
    limits.closed(peer);
    context.statistics().connectionFailed();
    failure = "no target for " + stream + ": " + CommandFailure.describe(connect.cause());
    if (hasPeerAnswered) { // Forged packets must not fill the log.
      logFailure();
    }
    stream.close();
  }

  private void closed(TunnelConnection connection, InetAddress peer) {
    if (connection.hasEndedTcpFirst()) {
      limits.closedFirst(peer);
    } else {
      limits.closed(peer);
    }
  }

  private void logFailure() {
    if (failure != null) {
      context.log().limited(TunnelLog.Kind.NO_TARGET, "%s", failure);
      failure = null;
    }
  }

  @Override
  public void userEventTriggered(ChannelHandlerContext ctx, Object event) {
    if (event == KcpChannelEvent.ESTABLISHED) {
      hasPeerAnswered = true;
      limits.removeUnanswered(unanswered);
      unanswered = 0;
      logFailure();
      List<SmuxStreamChannel> streams = List.copyOf(waiting);
      waiting.clear();
      streams.forEach(this::open);
    }
    ctx.fireUserEventTriggered(event);
  }

  @Override
  public void channelInactive(ChannelHandlerContext ctx) {
    limits.unansweredEnded(unanswered);
    unanswered = 0;
    ctx.fireChannelInactive();
  }
}
