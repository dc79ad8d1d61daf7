package io.kcp4j.netty;

import io.kcp4j.Delivery;
import io.kcp4j.KcpConfig;
import io.netty.buffer.PooledByteBufAllocator;
import io.netty.channel.ChannelOption;
import io.netty.channel.DefaultChannelConfig;
import io.netty.channel.FixedRecvByteBufAllocator;
import java.util.Map;

/**
 * The configuration of a {@link KcpChannel}. Everything is read and set by the options of {@link
 * KcpChannelOption} and, on a client, by those of its socket. Thread-safe.
 *
 * <p>In stream mode {@code RECVBUF_ALLOCATOR} limits the size of the buffers that are read; by
 * default they are as large as they come, some 64 KiB.
 */
public final class KcpChannelConfig extends DefaultChannelConfig {

  private static final int READ_BYTES = 64 * 1024;

  private final KcpChannel kcpChannel;
  private final SocketOptions socketOptions;
  private final KcpConfigCache cache;

  private volatile KcpConfig kcp = KcpConfig.DEFAULT;
  private volatile int conv;
  private volatile int idleTimeoutMs;
  private volatile int silenceTimeoutMs = 60_000;
  private volatile int lingerMs = 3_000;
  private volatile boolean connectProbe;

  /** The configuration of a client. */
  KcpChannelConfig(KcpChannel channel) {
    this(channel, new SocketOptions(), null, 0);
  }

  /** The configuration of an accepted channel, whose socket is its server's. */
  KcpChannelConfig(KcpChannel channel, KcpConfigCache cache, int conv) {
    this(channel, null, cache, conv);
  }

  private KcpChannelConfig(
      KcpChannel channel, SocketOptions socketOptions, KcpConfigCache cache, int conv) {
    super(channel, new FixedRecvByteBufAllocator(READ_BYTES));
    this.kcpChannel = channel;
    this.socketOptions = socketOptions;
    this.cache = cache;
    this.conv = conv;
    setAllocator(PooledByteBufAllocator.DEFAULT);
  }

  /** The settings of the ARQ. */
  public KcpConfig kcp() {
    return kcp;
  }

  int conv() {
    return conv;
  }

  int idleTimeoutMs() {
    return idleTimeoutMs;
  }

  int silenceTimeoutMs() {
    return silenceTimeoutMs;
  }

  int lingerMs() {
    return lingerMs;
  }

  boolean isConnectProbe() {
    return connectProbe;
  }

  /** The options of the socket, or null if it is the server's. */
  SocketOptions socketOptions() {
    return socketOptions;
  }

  @Override
  public Map<ChannelOption<?>, Object> getOptions() {
    Map<ChannelOption<?>, Object> options =
        getOptions(
            super.getOptions(),
            KcpChannelOption.CONV,
            KcpChannelOption.IDLE_TIMEOUT,
            KcpChannelOption.SILENCE_TIMEOUT,
            KcpChannelOption.LINGER,
            KcpChannelOption.CONNECT_PROBE);
    KcpSetting.ALL.forEach((option, setting) -> options.put(option, setting.get().apply(kcp)));
    if (socketOptions != null) {
      socketOptions.addTo(options);
    }
    return options;
  }

  @Override
  @SuppressWarnings("unchecked") // Each value is of the type of the option that it was asked by.
  public <T> T getOption(ChannelOption<T> option) {
    KcpSetting<T> setting = KcpSetting.of(option);
    if (setting != null) {
      return setting.get().apply(kcp);
    }
    if (option == KcpChannelOption.CONV) {
      return (T) Integer.valueOf(conv);
    }
    if (option == KcpChannelOption.IDLE_TIMEOUT) {
      return (T) Integer.valueOf(idleTimeoutMs);
    }
    if (option == KcpChannelOption.SILENCE_TIMEOUT) {
      return (T) Integer.valueOf(silenceTimeoutMs);
    }
    if (option == KcpChannelOption.LINGER) {
      return (T) Integer.valueOf(lingerMs);
    }
    if (option == KcpChannelOption.CONNECT_PROBE) {
      return (T) Boolean.valueOf(connectProbe);
    }
    T value = super.getOption(option);
    return value == null && socketOptions != null ? socketOptions.get(option) : value;
  }

  @Override
  public <T> boolean setOption(ChannelOption<T> option, T value) {
    if (KcpSetting.of(option) != null) {
      validate(option, value);
      change(option, value);
    } else if (option == KcpChannelOption.CONV) {
      if (kcpChannel.parent() != null) {
        return false;
      }
      conv = (Integer) value;
    } else if (option == KcpChannelOption.IDLE_TIMEOUT) {
      idleTimeoutMs = checkMs(option, value);
      kcpChannel.reconfigured();
    } else if (option == KcpChannelOption.SILENCE_TIMEOUT) {
      silenceTimeoutMs = checkMs(option, value);
      kcpChannel.reconfigured();
    } else if (option == KcpChannelOption.LINGER) {
      lingerMs = checkMs(option, value);
    } else if (option == KcpChannelOption.CONNECT_PROBE) {
      connectProbe = (Boolean) value;
    } else {
      return super.setOption(option, value)
          || socketOptions != null && socketOptions.set(option, value);
    }
    return true;
  }

  private synchronized <T> void change(ChannelOption<T> option, T value) {
    KcpConfig changed =
        cache == null
            ? KcpSetting.of(option).set().apply(kcp, value)
            : cache.change(kcp, option, value);
    if (kcpChannel.isActive() && changed.delivery() != kcp.delivery()) {
      Delivery fixed = kcp.delivery();
      throw new IllegalArgumentException(
          "delivery: " + changed.delivery() + " (expected: " + fixed + ", the session has begun)");
    }
    kcp = changed;
    kcpChannel.reconfigured();
  }

  private static int checkMs(ChannelOption<?> option, Object value) {
    int ms = (Integer) value;
    if (ms < 0) {
      throw new IllegalArgumentException(option + ": " + ms + " (expected: >= 0 ms)");
    }
    return ms;
  }

  @Override
  protected void autoReadCleared() {
    kcpChannel.clearReadPending();
  }
}
