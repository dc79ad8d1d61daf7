package io.kcp4j.netty.internal.options;

import io.kcp4j.netty.KcpChannelOption;
import io.kcp4j.netty.KcpSocketConfig;
import io.netty.channel.ChannelOption;
import io.netty.channel.socket.DatagramChannel;
import io.netty.channel.socket.nio.NioChannelOption;
import io.netty.util.internal.logging.InternalLogger;
import io.netty.util.internal.logging.InternalLoggerFactory;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * The options of the sockets of a channel: set on those that are open, and kept for those that will
 * be opened. Thread-safe.
 */
public final class SocketOptions {

  private static final InternalLogger logger =
      InternalLoggerFactory.getInstance(SocketOptions.class);

  private static final Set<ChannelOption<?>> COMMON =
      Set.of(
          ChannelOption.SO_RCVBUF,
          ChannelOption.SO_SNDBUF,
          ChannelOption.SO_REUSEADDR,
          ChannelOption.SO_BROADCAST,
          ChannelOption.IP_TOS);

  /** Holds the bursts of a few hundred sessions while the event loop is busy. */
  private static final int DEFAULT_BUFFER_BYTES = 4 << 20;

  private static final OptionTable<SocketOptions> OWN =
      new OptionTable<SocketOptions>()
          .add(
              KcpChannelOption.SOCKET_CONFIG,
              SocketOptions::config,
              (options, config) -> options.config = config);

  private final Map<ChannelOption<?>, Object> values = new LinkedHashMap<>();

  private volatile KcpSocketConfig config = KcpSocketConfig.DEFAULT;
  private final List<DatagramChannel> sockets = new ArrayList<>(1);

  public SocketOptions() {
    values.put(ChannelOption.SO_RCVBUF, DEFAULT_BUFFER_BYTES);
    values.put(ChannelOption.SO_SNDBUF, DEFAULT_BUFFER_BYTES);
  }

  public KcpSocketConfig config() {
    return config;
  }

  /**
   * Sets an option.
   *
   * @return whether it is an option of a datagram socket
   */
  public synchronized <T> boolean set(ChannelOption<T> option, T value) {
    if (OWN.has(option)) {
      OWN.set(this, option, value);
      return true;
    }
    if (!isSocketOption(option)) {
      return false;
    }
    option.validate(value);
    boolean known = true;
    for (DatagramChannel socket : sockets) {
      known &= socket.config().setOption(option, value);
    }
    if (known) {
      values.put(option, value);
    }
    return known;
  }

  @SuppressWarnings("unchecked") // The map holds for each option a value that it has validated.
  public synchronized <T> T get(ChannelOption<T> option) {
    if (OWN.has(option)) {
      return OWN.get(this, option);
    }
    if (!isSocketOption(option)) {
      return null;
    }
    return sockets.isEmpty() ? (T) values.get(option) : sockets.get(0).config().getOption(option);
  }

  public synchronized void putAll(Map<ChannelOption<?>, Object> options) {
    OWN.putAll(this, options);
    values.forEach((option, value) -> options.put(option, get(option)));
  }

  /** Sets all options on a socket, and adds it to those on which they are set. */
  public synchronized void apply(DatagramChannel socket) {
    sockets.add(socket);
    values.forEach((option, value) -> apply(socket, option, value));
  }

  @SuppressWarnings("unchecked") // As above.
  private <T> void apply(DatagramChannel socket, ChannelOption<T> option, Object value) {
    try {
      if (!socket.config().setOption(option, (T) value)) {
        logger.warn("Unknown channel option '{}' for channel '{}'", option, socket);
      }
    } catch (RuntimeException e) {
      logger.warn("Failed to set channel option '{}' to '{}'", option, value, e);
    }
  }

  /** The common ones, those of NIO, and those of the native transports, recognized by name. */
  private static boolean isSocketOption(ChannelOption<?> option) {
    return COMMON.contains(option)
        || option instanceof NioChannelOption
        || option.name().startsWith("io.netty.channel.");
  }
}
