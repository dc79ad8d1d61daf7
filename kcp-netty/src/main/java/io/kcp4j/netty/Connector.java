package io.kcp4j.netty;

import io.kcp4j.KcpContext;
import io.kcp4j.KcpCounters;
import io.kcp4j.MemoryBudget;
import io.kcp4j.session.SessionDirectory;
import io.kcp4j.session.TimerWheel;
import io.netty.channel.ChannelPromise;
import io.netty.channel.ConnectTimeoutException;
import io.netty.util.concurrent.Future;
import java.io.IOException;
import java.net.ConnectException;
import java.net.InetSocketAddress;
import java.net.PortUnreachableException;
import java.net.SocketAddress;
import java.nio.channels.AlreadyConnectedException;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.ConnectionPendingException;
import java.nio.channels.UnresolvedAddressException;

/**
 * Connects a client's channel: first its socket, then its session, and then, if {@link
 * KcpChannelOption#CONNECT_PROBE} is set, waits until the peer has answered a probe. Used by the
 * channel's event loop.
 */
final class Connector implements KcpEndpoint.Owner {

  private static final int PROBE_INTERVAL_MS = 200;

  private final KcpChannel channel;

  /** Null unless an attempt is under way. */
  private ChannelPromise promise;

  /** Null unless the attempt waits for the peer. */
  private Probe probe;

  Connector(KcpChannel channel) {
    this.channel = channel;
  }

  /** Whether an attempt is under way. */
  boolean isConnecting() {
    return promise != null;
  }

  /** Makes the client's socket, which is to be registered. */
  KcpEndpoint newEndpoint(KcpCounters counters) {
    KcpChannelConfig config = channel.config();
    return new KcpEndpoint(
        channel.eventLoop(),
        this,
        config.socketOptions(),
        new KcpContext(config.getAllocator(), MemoryBudget.unlimited(), counters),
        config.keyRing(),
        SessionDirectory.ofOne(0),
        KcpEndpoint.DEFAULT_MAX_DATAGRAM_BYTES,
        false);
  }

  /** Why no attempt can be made, or null. */
  Exception refusal(SocketAddress remote) {
    if (channel.session().get() != null) {
      return new AlreadyConnectedException();
    }
    if (isConnecting()) {
      return new ConnectionPendingException();
    }
    if (remote instanceof InetSocketAddress address && address.isUnresolved()) {
      return new UnresolvedAddressException();
    }
    return channel.config().keyRingMistake();
  }

  /** Makes an attempt, which ends with {@code promise}. */
  void connect(SocketAddress remote, SocketAddress local, ChannelPromise promise) {
    this.promise = promise;
    promise.addListener(
        future -> {
          if (future.isCancelled()) {
            channel.unsafe().close(channel.unsafe().voidPromise());
          }
        });
    channel.endpoint().connect(remote, local).addListener(this::socketConnected);
  }

  private void socketConnected(Future<?> future) {
    if (!channel.isOpen()) {
      return;
    }
    if (!future.isSuccess()) {
      fail(future.cause());
      return;
    }
    try {
      channel.openSession();
    } catch (Throwable e) { // The user's congestion control may throw.
      fail(e);
      return;
    }
    if (channel.config().isConnectProbe()) {
      probe = new Probe();
      probe.expire(channel.endpoint().nowMs());
    } else {
      succeed();
    }
  }

  /** Ends the attempt that is under way: the channel is connected. */
  void succeed() {
    ChannelPromise promise = end();
    channel.activate();
    boolean isWanted = promise.trySuccess();
    channel.pipeline().fireChannelActive();
    if (!isWanted) {
      channel.unsafe().close(channel.unsafe().voidPromise());
    }
  }

  /** Fails the attempt that is under way, and closes the channel. */
  void fail(Throwable cause) {
    end().tryFailure(cause);
    channel.closeNow();
  }

  /** The channel closes: an attempt that is under way fails. */
  void close() {
    if (isConnecting()) {
      end().tryFailure(new ClosedChannelException());
    }
  }

  private ChannelPromise end() {
    if (probe != null) {
      channel.endpoint().cancel(probe);
      probe = null;
    }
    ChannelPromise ended = promise;
    promise = null;
    return ended;
  }

  @Override
  public void failed(IOException cause) {
    // An established session outlasts a peer that is unreachable for a while.
    if (isConnecting() && cause instanceof PortUnreachableException) {
      ConnectException refused =
          new ConnectException("Connection refused: " + channel.remoteAddress());
      refused.initCause(cause);
      fail(refused);
    }
  }

  /** Sends probes until the peer answers one or the time is up. */
  private final class Probe extends TimerWheel.Timer {

    private final int timeoutMs = channel.config().getConnectTimeoutMillis();
    private final long startMs = channel.endpoint().nowMs();

    @Override
    protected void expire(long nowMs) {
      long leftMs = timeoutMs == 0 ? Long.MAX_VALUE : startMs + timeoutMs - nowMs;
      if (leftMs <= 0) {
        fail(
            new ConnectTimeoutException(
                "no answer within " + timeoutMs + " ms: " + channel.remoteAddress()));
        return;
      }
      channel.session().kcp().probe();
      channel.session().scheduleFlush();
      channel.endpoint().arm(this, Math.min(PROBE_INTERVAL_MS, leftMs));
    }
  }
}
