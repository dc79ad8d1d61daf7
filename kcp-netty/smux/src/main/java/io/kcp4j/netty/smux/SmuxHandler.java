package io.kcp4j.netty.smux;

import io.kcp4j.netty.internal.StacklessClosedChannelException;
import io.kcp4j.smux.SmuxConfig;
import io.kcp4j.smux.SmuxException;
import io.kcp4j.smux.SmuxStats;
import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelDuplexHandler;
import io.netty.channel.ChannelHandler;
import io.netty.channel.ChannelHandlerAdapter;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelPromise;
import io.netty.channel.socket.ChannelInputShutdownEvent;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.NotYetConnectedException;
import java.util.Objects;

/**
 * Carries smux streams over a connection: a channel of any transport, or of TLS, that is a stream
 * of bytes. Both sides need this handler, or another implementation of smux, and have to use the
 * same version. Streams are opened by a {@link SmuxStreamChannelBootstrap}.
 *
 * <p>To be added last to the connection's pipeline, but for handlers of events and exceptions, and
 * without an executor of its own. It takes all {@link ByteBuf}s that the connection reads, and
 * refuses those that others write. Other messages, such as {@link
 * io.kcp4j.netty.UnreliableDatagram}s, and all events pass. Each frame is one write, and frames are
 * written only while the connection is writable, so its water marks decide how much waits below the
 * streams.
 *
 * <p>While streams have not read {@link SmuxConfig#maxReceiveBuffer()} bytes, the handler switches
 * the connection's {@code autoRead} off. In version 1, one stream that is not read stops all others
 * in that way. If {@code autoRead} is off already, the handler leaves it alone.
 *
 * <p>A peer that breaks the protocol, or sends nothing for {@link SmuxConfig#keepAliveTimeoutMs()},
 * makes the handler fire a {@link SmuxException} and close the connection. If the connection is a
 * server's {@code KcpChannel} whose peer has not answered, it only closes. When the connection
 * closes, so do its streams; smux has no frame that ends a session. To be sure that everything has
 * been sent, close the streams first. If a handler closes the connection in {@code
 * exceptionCaught}, that is an error of the connection: what its streams have received can still be
 * read. If it closes the connection at another time, unread input is discarded.
 */
public final class SmuxHandler extends ChannelDuplexHandler {

  private final SmuxConfig config;
  private final boolean client;
  private final ChannelHandler inboundStreamHandler;

  private ChannelHandlerContext ctx;

  /** Null until the channel is active. */
  private SmuxConnection connection;

  /** The last exception of the connection's pipeline: why it has closed, or null. */
  private Throwable lastException;

  /** Whether handlers behind this one learn of {@link #lastException} now. */
  private boolean isFailing;

  /**
   * @param client whether this side has opened the connection; the other side must not have
   * @param inboundStreamHandler the handler that the pipelines of streams begin with that the peer
   *     opens: a {@code ChannelInitializer}, or another that is sharable. Null refuses them
   * @throws IllegalArgumentException if the handler is not sharable
   */
  public SmuxHandler(SmuxConfig config, boolean client, ChannelHandler inboundStreamHandler) {
    this.config = Objects.requireNonNull(config, "config");
    this.client = client;
    if (inboundStreamHandler instanceof ChannelHandlerAdapter adapter && !adapter.isSharable()) {
      throw new IllegalArgumentException(
          "inboundStreamHandler: " + inboundStreamHandler + " (expected: sharable)");
    }
    this.inboundStreamHandler = inboundStreamHandler;
  }

  /**
   * The state and the counters of the session, or null before the connection is active. To be
   * called on the event loop.
   */
  public SmuxStats stats() {
    return connection == null ? null : connection.stats();
  }

  /** Opens a stream whose channel is not registered yet. */
  SmuxStreamChannel open() throws ClosedChannelException, SmuxException {
    if (ctx != null && ctx.channel().isActive()) {
      start(ctx); // In a listener of connect(), which precedes channelActive.
    }
    if (connection == null) {
      throw new NotYetConnectedException();
    }
    return connection.open();
  }

  @Override
  public void handlerAdded(ChannelHandlerContext ctx) {
    if (ctx.executor() != ctx.channel().eventLoop()) {
      throw new IllegalStateException(
          "executor: " + ctx.executor() + " (expected: the event loop of the channel)");
    }
    this.ctx = ctx;
    if (ctx.channel().isActive()) {
      start(ctx);
    }
  }

  @Override
  public void channelActive(ChannelHandlerContext ctx) {
    start(ctx);
    ctx.fireChannelActive();
  }

  private void start(ChannelHandlerContext ctx) {
    if (connection == null) {
      connection = new SmuxConnection(ctx, config, client, inboundStreamHandler);
    }
  }

  @Override
  public void channelRead(ChannelHandlerContext ctx, Object msg) {
    if (msg instanceof ByteBuf bytes && connection != null) {
      connection.receive(bytes);
    } else {
      ctx.fireChannelRead(msg);
    }
  }

  @Override
  public void channelReadComplete(ChannelHandlerContext ctx) {
    if (connection != null) {
      connection.round();
    }
    ctx.fireChannelReadComplete();
  }

  @Override
  public void channelWritabilityChanged(ChannelHandlerContext ctx) {
    if (connection != null) {
      connection.sendNow();
    }
    ctx.fireChannelWritabilityChanged();
  }

  /** A connection that can no longer receive is of no use: its streams end. */
  @Override
  public void userEventTriggered(ChannelHandlerContext ctx, Object event) {
    ctx.fireUserEventTriggered(event);
    if (connection != null) {
      connection.peerValidated(); // It may be the event of a connection that says so.
    }
    if (event instanceof ChannelInputShutdownEvent) {
      ctx.close();
    }
  }

  @Override
  public void exceptionCaught(ChannelHandlerContext ctx, Throwable cause) {
    lastException = cause;
    isFailing = true;
    try {
      ctx.fireExceptionCaught(cause);
    } finally {
      isFailing = false;
    }
  }

  @Override
  public void channelInactive(ChannelHandlerContext ctx) {
    end();
    ctx.fireChannelInactive();
  }

  @Override
  public void handlerRemoved(ChannelHandlerContext ctx) {
    end();
  }

  private void end() {
    if (connection != null) {
      connection.end(new StacklessClosedChannelException(lastException));
      connection.round();
    }
  }

  @Override
  public void close(ChannelHandlerContext ctx, ChannelPromise promise) {
    if (isFailing) { // The last handler usually closes then; streams keep what has arrived.
      end();
    } else if (connection != null) {
      connection.closedByUser();
    }
    ctx.close(promise);
  }

  @Override
  public void write(ChannelHandlerContext ctx, Object msg, ChannelPromise promise) {
    if (!(msg instanceof ByteBuf bytes)) {
      ctx.write(msg, promise);
      return;
    }
    bytes.release();
    promise.tryFailure(
        new UnsupportedOperationException(
            "write of a ByteBuf to " + ctx.channel() + " (expected: to one of its streams)"));
  }
}
