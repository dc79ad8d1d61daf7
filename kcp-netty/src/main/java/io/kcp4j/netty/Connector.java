package io.kcp4j.netty;

import io.kcp4j.EndReason;
import io.kcp4j.internal.arq.KcpContext;
import io.kcp4j.internal.session.SessionDirectory;
import io.kcp4j.internal.session.TimerWheel;
import io.kcp4j.netty.internal.LogLimit;
import io.kcp4j.netty.internal.endpoint.EventLoopContext;
import io.kcp4j.netty.internal.endpoint.KcpEndpoint;
import io.netty.channel.ChannelPromise;
import io.netty.channel.ConnectTimeoutException;
import io.netty.util.concurrent.Future;
import io.netty.util.concurrent.PromiseNotifier;
import java.io.IOException;
import java.net.ConnectException;
import java.net.InetSocketAddress;
import java.net.PortUnreachableException;
import java.net.SocketAddress;
import java.nio.channels.AlreadyConnectedException;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.ConnectionPendingException;
import java.nio.channels.UnresolvedAddressException;
import java.nio.channels.UnsupportedAddressTypeException;
import java.util.concurrent.TimeUnit;

/**
 * Connects a client's channel: first its socket, then its session, and then, if {@link
 * KcpChannelOption#CONNECT_PROBE} is set, waits until the peer has answered a probe. With lanes it
 * waits until the peer has shown that it has some. Used by the channel's event loop.
 */
final class Connector implements KcpEndpoint.Owner {

  private static final int PROBE_INTERVAL_US = 200_000;

  /** When an attempt whose probes are unanswered is logged. */
  private static final int PROBE_REPORT_US = 1_000_000;

  private final KcpChannel channel;

  /** Limits the events that tell of datagrams which the system refuses to send. */
  private final LogLimit refusals = new LogLimit();

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

  /** Opens the client's socket and registers it. */
  void register(ChannelPromise promise) {
    KcpEndpoint endpoint = newEndpoint();
    channel.socketOpened(endpoint);
    PromiseNotifier.cascade(false, endpoint.register(channel), promise);
  }

  private KcpEndpoint newEndpoint() {
    KcpChannelConfig config = channel.config();
    EventLoopContext loop = EventLoopContext.of(channel.eventLoop());
    return new KcpEndpoint(
        channel.eventLoop(),
        this,
        config.socketOptions(),
        new KcpContext(
            config.getAllocator(), loop.clientBudget(), channel.endpointCounters(), loop.rings()),
        config.keyRing(),
        SessionDirectory.ofOne(0));
  }

  /** Why no attempt can be made, or null. */
  Exception refusal(SocketAddress remote) {
    if (channel.session().get() != null) {
      return new AlreadyConnectedException();
    }
    if (isConnecting()) {
      return new ConnectionPendingException();
    }
    if (!(remote instanceof InetSocketAddress address)) {
      return new UnsupportedAddressTypeException();
    }
    if (address.isUnresolved()) {
      return new UnresolvedAddressException();
    }
    return channel.config().mistake();
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
    if (!channel.isOpen()) {
      return; // The promise was cancelled before it had the listener.
    }
    channel.endpoint().connect(remote, local).addListener(this::socketConnected);
  }

  private void socketConnected(Future<?> connected) {
    if (!channel.isOpen()) {
      return;
    }
    if (!connected.isSuccess()) {
      fail(connected.cause());
      return;
    }
    try {
      channel.openSession(channel.endpoint().remoteAddress());
    } catch (Throwable e) { // The user's congestion control may throw.
      fail(e);
      return;
    }
    if (channel.config().isConnectProbe() || channel.lanes() != null) {
      probe = new Probe();
      probe.expire(channel.endpoint().nowUs());
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

  /** The session has ended during the attempt. */
  void sessionEnded(KcpSessionClosedException cause) {
    if (cause.reason() == EndReason.PORT_UNREACHABLE) {
      ConnectException refused =
          new ConnectException("Connection refused: " + channel.remoteAddress());
      refused.initCause(cause);
      fail(refused);
    } else {
      fail(cause);
    }
  }

  @Override
  public void failed(IOException cause) {
    if (cause instanceof PortUnreachableException) {
      channel.portUnreachable();
    } else if (refusals.tryAcquire(channel.endpoint().nowUs()) && channel.isActive()) {
      channel.pipeline().fireUserEventTriggered(KcpChannelEvent.SEND_REFUSED);
    }
  }

  /** Sends probes until the peer answers one or the time is up. */
  private final class Probe extends TimerWheel.Timer {

    private final int timeoutMs = channel.config().getConnectTimeoutMillis();
    private final long startUs = channel.endpoint().nowUs();

    @Override
    protected void expire(long nowUs) {
      long endUs = startUs + TimeUnit.MILLISECONDS.toMicros(timeoutMs);
      long leftUs = timeoutMs == 0 ? Long.MAX_VALUE : endUs - nowUs;
      if (leftUs <= 0) {
        fail(
            new ConnectTimeoutException(
                "no answer within "
                    + timeoutMs
                    + " ms: "
                    + channel.remoteAddress()
                    + ", "
                    + channel.endpoint().unansweredDetail(channel.session().get())));
        return;
      }
      if (nowUs - startUs >= PROBE_REPORT_US) {
        channel.endpoint().logUnanswered(channel.session().get());
      }
      if (channel.lanes() == null) { // Else what begins the session is retransmitted.
        channel.session().kcp().probe();
      }
      channel.session().scheduleFlush();
      channel.endpoint().arm(this, Math.min(PROBE_INTERVAL_US, leftUs));
    }
  }
}
