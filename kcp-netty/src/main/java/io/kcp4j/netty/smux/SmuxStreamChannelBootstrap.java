package io.kcp4j.netty.smux;

import io.netty.channel.Channel;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelHandler;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelOption;
import io.netty.util.AttributeKey;
import io.netty.util.concurrent.EventExecutor;
import io.netty.util.concurrent.Future;
import io.netty.util.concurrent.Promise;
import io.netty.util.internal.logging.InternalLogger;
import io.netty.util.internal.logging.InternalLoggerFactory;
import java.nio.channels.ClosedChannelException;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.RejectedExecutionException;

/**
 * Opens streams on a connection, whose pipeline has a {@link SmuxHandler}. The methods are those of
 * Netty's {@code Http2StreamChannelBootstrap}. Thread-safe.
 */
public final class SmuxStreamChannelBootstrap {

  private static final InternalLogger LOGGER =
      InternalLoggerFactory.getInstance(SmuxStreamChannelBootstrap.class);

  private final Channel connection;
  private final Map<ChannelOption<?>, Object> options = new LinkedHashMap<>();
  private final Map<AttributeKey<?>, Object> attributes = new LinkedHashMap<>();
  private ChannelHandler handler;

  /**
   * @param connection the channel of the connection, such as a {@code KcpChannel}
   */
  public SmuxStreamChannelBootstrap(Channel connection) {
    this.connection = Objects.requireNonNull(connection, "connection");
  }

  /** Sets an option of the streams that are opened from now on; null removes it. */
  public synchronized <T> SmuxStreamChannelBootstrap option(ChannelOption<T> option, T value) {
    putOrRemove(options, Objects.requireNonNull(option, "option"), value);
    return this;
  }

  /** Sets an attribute of the streams that are opened from now on; null removes it. */
  public synchronized <T> SmuxStreamChannelBootstrap attr(AttributeKey<T> key, T value) {
    putOrRemove(attributes, Objects.requireNonNull(key, "key"), value);
    return this;
  }

  private static <K> void putOrRemove(Map<K, Object> map, K key, Object value) {
    if (value == null) {
      map.remove(key);
    } else {
      map.put(key, value);
    }
  }

  /**
   * Sets the handler that a stream's pipeline begins with. It has to be sharable if more than one
   * stream is opened, as every {@code ChannelInitializer} is.
   */
  public synchronized SmuxStreamChannelBootstrap handler(ChannelHandler handler) {
    this.handler = Objects.requireNonNull(handler, "handler");
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
      initialize(stream);
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

  private synchronized void initialize(Channel stream) {
    if (handler != null) {
      stream.pipeline().addLast(handler);
    }
    options.forEach((option, value) -> setOption(stream, option, value));
    attributes.forEach((key, value) -> setAttribute(stream, key, value));
  }

  /** Like Netty's bootstraps, which log options that are not set. */
  @SuppressWarnings("unchecked") // An option was added with a value of its type.
  private static void setOption(Channel stream, ChannelOption<?> option, Object value) {
    try {
      if (!stream.config().setOption((ChannelOption<Object>) option, value)) {
        LOGGER.warn("Unknown channel option '{}' for channel '{}'", option, stream);
      }
    } catch (Throwable e) {
      LOGGER.warn(
          "Failed to set channel option '{}' with value '{}' for channel '{}'",
          option,
          value,
          stream,
          e);
    }
  }

  @SuppressWarnings("unchecked") // An attribute was added with a value of its type.
  private static void setAttribute(Channel stream, AttributeKey<?> key, Object value) {
    stream.attr((AttributeKey<Object>) key).set(value);
  }
}
