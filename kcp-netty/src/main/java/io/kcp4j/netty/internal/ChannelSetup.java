package io.kcp4j.netty.internal;

import io.netty.channel.Channel;
import io.netty.channel.ChannelHandler;
import io.netty.channel.ChannelOption;
import io.netty.util.AttributeKey;
import io.netty.util.internal.logging.InternalLogger;
import io.netty.util.internal.logging.InternalLoggerFactory;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Objects;

/** What a bootstrap sets on the channels that it opens. Thread-safe. */
public final class ChannelSetup {

  private final InternalLogger logger;
  private final Map<ChannelOption<?>, Object> options = new LinkedHashMap<>();
  private final Map<AttributeKey<?>, Object> attributes = new LinkedHashMap<>();
  private ChannelHandler handler;

  /**
   * Makes one that sets nothing.
   *
   * @param bootstrap whose log tells of options that cannot be set
   */
  public ChannelSetup(Class<?> bootstrap) {
    logger = InternalLoggerFactory.getInstance(bootstrap);
  }

  /** Sets an option from now on; null removes it. */
  public synchronized <T> void option(ChannelOption<T> option, T value) {
    putOrRemove(options, Objects.requireNonNull(option, "option"), value);
  }

  /** Sets an attribute from now on; null removes it. */
  public synchronized <T> void attr(AttributeKey<T> key, T value) {
    putOrRemove(attributes, Objects.requireNonNull(key, "key"), value);
  }

  private static <K> void putOrRemove(Map<K, Object> map, K key, Object value) {
    if (value == null) {
      map.remove(key);
    } else {
      map.put(key, value);
    }
  }

  /** Sets the handler that pipelines begin with. */
  public synchronized void handler(ChannelHandler handler) {
    this.handler = Objects.requireNonNull(handler, "handler");
  }

  /**
   * Sets up a channel that is not registered. Throws what {@code addLast} does, such as for a
   * handler that is not sharable and was used before.
   */
  public synchronized void apply(Channel channel) {
    if (handler != null) {
      channel.pipeline().addLast(handler);
    }
    options.forEach((option, value) -> setOption(channel, option, value));
    attributes.forEach((key, value) -> setAttribute(channel, key, value));
  }

  /** Like Netty's bootstraps, which log options that are not set. */
  @SuppressWarnings("unchecked") // An option was added with a value of its type.
  private void setOption(Channel channel, ChannelOption<?> option, Object value) {
    try {
      if (!channel.config().setOption((ChannelOption<Object>) option, value)) {
        logger.warn("Unknown channel option '{}' for channel '{}'", option, channel);
      }
    } catch (Throwable e) {
      logger.warn(
          "Failed to set channel option '{}' with value '{}' for channel '{}'",
          option,
          value,
          channel,
          e);
    }
  }

  @SuppressWarnings("unchecked") // An attribute was added with a value of its type.
  private static void setAttribute(Channel channel, AttributeKey<?> key, Object value) {
    channel.attr((AttributeKey<Object>) key).set(value);
  }
}
