package io.kcp4j.netty;

import io.kcp4j.Segment;
import io.netty.buffer.PooledByteBufAllocator;
import io.netty.channel.ChannelOption;
import io.netty.channel.DefaultChannelConfig;
import java.util.Map;

/**
 * The configuration of a {@link KcpServerChannel}. Everything is read and set by the options of
 * {@link KcpServerChannelOption} and those of its socket. Thread-safe.
 */
public final class KcpServerChannelConfig extends DefaultChannelConfig {

  private final SocketOptions socketOptions = new SocketOptions();
  private final KcpServerChannel server;

  private volatile boolean acceptOnProbe;
  private volatile int maxSessions = 100_000;
  private volatile long memoryLimitBytes = Runtime.getRuntime().maxMemory() / 2;
  private volatile int maxDatagramBytes = KcpEndpoint.DEFAULT_MAX_DATAGRAM_BYTES;

  KcpServerChannelConfig(KcpServerChannel channel) {
    super(channel);
    this.server = channel;
    setAllocator(PooledByteBufAllocator.DEFAULT);
  }

  boolean isAcceptOnProbe() {
    return acceptOnProbe;
  }

  int maxSessions() {
    return maxSessions;
  }

  long memoryLimitBytes() {
    return memoryLimitBytes;
  }

  int maxDatagramBytes() {
    return maxDatagramBytes;
  }

  SocketOptions socketOptions() {
    return socketOptions;
  }

  @Override
  public Map<ChannelOption<?>, Object> getOptions() {
    Map<ChannelOption<?>, Object> options =
        getOptions(
            super.getOptions(),
            KcpServerChannelOption.ACCEPT_ON_PROBE,
            KcpServerChannelOption.MAX_SESSIONS,
            KcpServerChannelOption.MEMORY_LIMIT,
            KcpServerChannelOption.MAX_DATAGRAM);
    socketOptions.addTo(options);
    return options;
  }

  @Override
  @SuppressWarnings("unchecked") // Each value is of the type of the option that it was asked by.
  public <T> T getOption(ChannelOption<T> option) {
    if (option == KcpServerChannelOption.ACCEPT_ON_PROBE) {
      return (T) Boolean.valueOf(acceptOnProbe);
    }
    if (option == KcpServerChannelOption.MAX_SESSIONS) {
      return (T) Integer.valueOf(maxSessions);
    }
    if (option == KcpServerChannelOption.MEMORY_LIMIT) {
      return (T) Long.valueOf(memoryLimitBytes);
    }
    if (option == KcpServerChannelOption.MAX_DATAGRAM) {
      return (T) Integer.valueOf(maxDatagramBytes);
    }
    T value = super.getOption(option);
    return value != null ? value : socketOptions.get(option);
  }

  @Override
  public <T> boolean setOption(ChannelOption<T> option, T value) {
    if (option == KcpServerChannelOption.ACCEPT_ON_PROBE) {
      acceptOnProbe = (Boolean) value;
    } else if (option == KcpServerChannelOption.MAX_SESSIONS) {
      maxSessions = (int) check(option, (Integer) value, 1, Integer.MAX_VALUE);
    } else if (option == KcpServerChannelOption.MEMORY_LIMIT) {
      memoryLimitBytes = check(option, (Long) value, 1, Long.MAX_VALUE);
    } else if (option == KcpServerChannelOption.MAX_DATAGRAM) {
      maxDatagramBytes =
          (int) check(option, (Integer) value, Segment.HEADER_BYTES, Transport.SLOT_BYTES - 1);
    } else {
      return super.setOption(option, value) || socketOptions.set(option, value);
    }
    return true;
  }

  private static long check(ChannelOption<?> option, long value, long min, long max) {
    if (value < min || value > max) {
      throw new IllegalArgumentException(
          option + ": " + value + " (expected: " + min + " to " + max + ")");
    }
    return value;
  }

  @Override
  protected void autoReadCleared() {
    server.clearReadPending();
  }
}
