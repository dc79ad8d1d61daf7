package io.kcp4j.netty.smux;

import io.kcp4j.netty.internal.ChannelSetup;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelHandler;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelOption;
import io.netty.util.AttributeKey;
import io.netty.util.concurrent.EventExecutor;
import io.netty.util.concurrent.Future;
import io.netty.util.concurrent.Promise;
import java.nio.channels.ClosedChannelException;
import java.util.Objects;
import java.util.concurrent.RejectedExecutionException;

/**
 * Opens streams on a connection, whose pipeline has a {@link SmuxHandler}. The methods are those of
 * Netty's {@code Http2StreamChannelBootstrap}. Thread-safe.
 */
public final class SmuxStreamChannelBootstrap {

  private final Channel connection;
  private final ChannelSetup setup = new ChannelSetup(SmuxStreamChannelBootstrap.class);

  /**
   * @param connection the channel of the connection, such as a {@code KcpChannel}
   */
  public SmuxStreamChannelBootstrap(Channel connection) {
    this.connection = Objects.requireNonNull(connection, "connection");
  }

  /** Sets an option of the streams that are opened from now on; null removes it. */
  public <T> SmuxStreamChannelBootstrap option(ChannelOption<T> option, T value) {
    setup.option(option, value);
    return this;
  }

  /** Sets an attribute of the streams that are opened from now on; null removes it. */
  public <T> SmuxStreamChannelBootstrap attr(AttributeKey<T> key, T value) {
    setup.attr(key, value);
    return this;
  }

  /**
   * Sets the handler that a stream's pipeline begins with. It has to be sharable if more than one
   * stream is opened, as every {@code ChannelInitializer} is.
   */
  public SmuxStreamChannelBootstrap handler(ChannelHandler handler) {
    setup.handler(handler);
    return this;
  }

  /**
   * Opens a stream. There is no answer to wait for: the future succeeds as soon as the stream's
   * channel is active, and the stream's first frame leaves when the connection can send it.
   *
   * @return fails with a {@link java.nio.channels.NotYetConnectedException} while the connection is
   *     not active, with a {@link ClosedChannelException} when it has closed, and with an {@link
   *     io.kcp4j.smux.SmuxException} if a limit does not allow another stream
   */
  public Future<SmuxStreamChannel> open() {
    return open(connection.eventLoop().newPromise());
  }

  /** Opens a stream, see {@link #open()}, and notifies {@code promise}. */
  public Future<SmuxStreamChannel> open(Promise<SmuxStreamChannel> promise) {
    EventExecutor loop = connection.eventLoop();
    if (loop.inEventLoop()) {
      openNow(promise);
      return promise;
    }
    try {
      loop.execute(() -> openNow(promise));
    } catch (RejectedExecutionException e) { // The event loop has shut down.
      promise.tryFailure(e);
    }
    return promise;
  }

  private void openNow(Promise<SmuxStreamChannel> promise) {
    if (!promise.setUncancellable()) {
      return;
    }
    SmuxStreamChannel stream;
    try {
      stream = smuxHandler().open();
    } catch (Exception e) {
      promise.setFailure(e);
      return;
    }
    try {
      setup.apply(stream);
    } catch (Exception e) { // Such as a handler that is not sharable and was used before.
      stream.unsafe().closeForcibly();
      promise.setFailure(e);
      return;
    }
    ChannelFuture registered = connection.eventLoop().register(stream);
    registered.addListener(
        future -> {
          if (future.isSuccess()) {
            promise.setSuccess(stream);
          } else {
            stream.unsafe().closeForcibly();
            promise.setFailure(future.cause());
          }
        });
  }

  private SmuxHandler smuxHandler() throws ClosedChannelException {
    ChannelHandlerContext ctx = connection.pipeline().context(SmuxHandler.class);
    if (ctx != null) {
      return (SmuxHandler) ctx.handler();
    }
    if (!connection.isOpen()) {
      throw new ClosedChannelException(); // Which has removed all handlers.
    }
    throw new IllegalStateException(
        "pipeline of " + connection + ": no SmuxHandler (expected: one)");
  }
}
