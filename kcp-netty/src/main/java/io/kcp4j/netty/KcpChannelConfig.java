package io.kcp4j.netty;

import io.kcp4j.KcpConfig;
import io.kcp4j.session.Session;
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
 * default they are as large as they come, some 32 KiB.
 */
public final class KcpChannelConfig extends DefaultChannelConfig {

  private static final int READ_BYTES = 64 * 1024;

  private static final OptionTable<KcpChannelConfig> OPTIONS =
      new OptionTable<KcpChannelConfig>()
          .add(KcpChannelOption.CONV, KcpChannelConfig::conv, KcpChannelConfig::setConv)
          .add(
              KcpChannelOption.IDLE_TIMEOUT,
              KcpChannelConfig::idleTimeoutMs,
              KcpChannelConfig::setIdleTimeoutMs)
          .add(
              KcpChannelOption.SILENCE_TIMEOUT,
              KcpChannelConfig::silenceTimeoutMs,
              KcpChannelConfig::setSilenceTimeoutMs)
          .add(KcpChannelOption.LINGER, KcpChannelConfig::lingerMs, KcpChannelConfig::setLingerMs)
          .add(
              KcpChannelOption.CONNECT_PROBE,
              KcpChannelConfig::isConnectProbe,
              (config, value) -> config.connectProbe = value);

  private final KcpChannel kcpChannel;
  private final SocketOptions socketOptions;
  private final KcpConfigCache cache;

  private volatile KcpConfig kcp = KcpConfig.DEFAULT;
  private volatile int conv;
  private volatile int idleTimeoutMs;
  private volatile int silenceTimeoutMs = Session.DEFAULT_SILENCE_TIMEOUT_MS;
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

  private void setConv(int conv) {
    if (kcpChannel.parent() != null) {
      throw new IllegalArgumentException(
          "conv: " + conv + " (expected: unset, the peer has chosen " + this.conv + ")");
    }
    this.conv = conv;
  }

  private void setIdleTimeoutMs(int ms) {
    idleTimeoutMs = checkMs(KcpChannelOption.IDLE_TIMEOUT, ms);
    kcpChannel.reconfigured();
  }

  private void setSilenceTimeoutMs(int ms) {
    silenceTimeoutMs = checkMs(KcpChannelOption.SILENCE_TIMEOUT, ms);
    kcpChannel.reconfigured();
  }

  private void setLingerMs(int ms) {
    lingerMs = checkMs(KcpChannelOption.LINGER, ms);
  }

  private static int checkMs(ChannelOption<?> option, int ms) {
    if (ms < 0) {
      throw new IllegalArgumentException(option + ": " + ms + " (expected: >= 0)");
    }
    return ms;
  }

  private synchronized <T> void changeKcp(ChannelOption<T> option, T value) {
    KcpConfig changed =
        cache == null
            ? KcpSetting.of(option).set().apply(kcp, value)
            : cache.change(kcp, option, value);
    if (kcpChannel.hasBegun()) {
      kcp.checkSuccessor(changed);
    }
    kcp = changed;
    kcpChannel.reconfigured();
  }

  @Override
  public Map<ChannelOption<?>, Object> getOptions() {
    Map<ChannelOption<?>, Object> options = getOptions(super.getOptions());
    OPTIONS.putAll(this, options);
    KcpSetting.ALL.forEach((option, setting) -> options.put(option, setting.get().apply(kcp)));
    if (socketOptions != null) {
      socketOptions.putAll(options);
    }
    return options;
  }

  @Override
  public <T> T getOption(ChannelOption<T> option) {
    KcpSetting<T> setting = KcpSetting.of(option);
    if (setting != null) {
      return setting.get().apply(kcp);
    }
    if (OPTIONS.has(option)) {
      return OPTIONS.get(this, option);
    }
    T value = super.getOption(option);
    return value == null && socketOptions != null ? socketOptions.get(option) : value;
  }

  @Override
  public <T> boolean setOption(ChannelOption<T> option, T value) {
    if (KcpSetting.of(option) != null) {
      option.validate(value);
      changeKcp(option, value);
      return true;
    }
    if (OPTIONS.has(option)) {
      OPTIONS.set(this, option, value);
      return true;
    }
    return super.setOption(option, value)
        || (socketOptions != null && socketOptions.set(option, value));
  }

  @Override
  protected void autoReadCleared() {
    kcpChannel.clearReadPending();
  }
}
