package io.kcp4j.netty;

import io.kcp4j.crypto.KeyRing;
import io.kcp4j.internal.session.SessionTable;
import io.kcp4j.internal.session.SessionTable.ResetTokens;
import io.kcp4j.netty.internal.endpoint.ProcessLimit;
import io.kcp4j.netty.internal.options.OptionMistakes;
import io.kcp4j.netty.internal.options.OptionTable;
import io.kcp4j.netty.internal.options.SocketOptions;
import io.netty.buffer.PooledByteBufAllocator;
import io.netty.channel.ChannelOption;
import io.netty.channel.DefaultChannelConfig;
import io.netty.channel.EventLoopGroup;
import java.util.Map;

/**
 * The configuration of a {@link KcpServerChannel}, set and read by the options of {@link
 * KcpServerChannelOption} and those of its socket. Thread-safe.
 */
public final class KcpServerChannelConfig extends DefaultChannelConfig {

  private static final OptionTable<KcpServerChannelConfig> OPTIONS =
      new OptionTable<KcpServerChannelConfig>()
          .add(
              KcpServerChannelOption.SOCKETS,
              KcpServerChannelConfig::sockets,
              KcpServerChannelConfig::setSockets)
          .add(
              KcpServerChannelOption.SOCKET_GROUP,
              KcpServerChannelConfig::socketGroup,
              (config, value) -> config.socketGroup = value)
          .add(
              KcpServerChannelOption.MAX_SESSIONS,
              KcpServerChannelConfig::maxSessions,
              KcpServerChannelConfig::setMaxSessions)
          .add(
              KcpServerChannelOption.MAX_UNVALIDATED,
              KcpServerChannelConfig::maxUnvalidated,
              KcpServerChannelConfig::setMaxUnvalidated)
          .add(
              KcpServerChannelOption.ACCEPT_FILTER,
              KcpServerChannelConfig::acceptFilter,
              (config, value) -> config.acceptFilter = value)
          .add(
              KcpServerChannelOption.MEMORY_LIMIT,
              KcpServerChannelConfig::memoryLimitBytes,
              KcpServerChannelConfig::setMemoryLimitBytes)
          .add(
              KcpServerChannelOption.RESET_SECRET,
              KcpServerChannelConfig::resetSecret,
              KcpServerChannelConfig::setResetSecret)
          .add(
              KcpChannelOption.KEY_RING,
              KcpServerChannelConfig::keyRing,
              KcpServerChannelConfig::setKeyRing)
          .addOfTcp(ChannelOption.SO_BACKLOG, config -> SessionTable.MAX_PENDING_ATTEMPTS);

  private static final int MAX_DEFAULT_SESSIONS = 100_000;

  private final SocketOptions socketOptions = new SocketOptions();
  private final KcpServerChannel server;
  private final OptionMistakes mistakes = new OptionMistakes(OptionMistakes.Target.SERVER);

  private volatile int sockets = 1;

  /** Null for the group of the server's event loop. */
  private volatile EventLoopGroup socketGroup;

  private volatile int maxSessions = defaultMaxSessions(ProcessLimit.HALF_OF_HEAP_BYTES);
  private volatile int maxUnvalidated = SessionTable.DEFAULT_UNVALIDATED_LIMIT;
  private volatile AcceptFilter acceptFilter = AcceptFilter.ALL;
  private volatile long memoryLimitBytes = ProcessLimit.HALF_OF_HEAP_BYTES;

  private volatile KeyRing keyRing = KeyRing.NONE;

  /** Null for a random one. */
  private volatile byte[] resetSecret;

  KcpServerChannelConfig(KcpServerChannel channel) {
    super(channel);
    this.server = channel;
    setAllocator(PooledByteBufAllocator.DEFAULT);
  }

  /** How many sessions fit this memory, which is not that of {@code MEMORY_LIMIT}. */
  static int defaultMaxSessions(long bytes) {
    return (int) Math.max(1, Math.min(MAX_DEFAULT_SESSIONS, bytes / SessionTable.SESSION_BYTES));
  }

  int sockets() {
    return sockets;
  }

  /** The group whose event loops carry the sockets, or null for that of the server. */
  EventLoopGroup socketGroup() {
    return socketGroup;
  }

  int maxSessions() {
    return maxSessions;
  }

  int maxUnvalidated() {
    return maxUnvalidated;
  }

  AcceptFilter acceptFilter() {
    return acceptFilter;
  }

  long memoryLimitBytes() {
    return memoryLimitBytes;
  }

  KeyRing keyRing() {
    return keyRing;
  }

  /** The secret, or null for a random one. */
  byte[] resetSecret() {
    return resetSecret == null ? null : resetSecret.clone();
  }

  SocketOptions socketOptions() {
    return socketOptions;
  }

  private void setSockets(int sockets) {
    check(KcpServerChannelOption.SOCKETS, sockets, 1, KcpServerChannelOption.MAX_SOCKETS);
    this.sockets = sockets;
  }

  private void setMaxSessions(int sessions) {
    check(KcpServerChannelOption.MAX_SESSIONS, sessions, 1, Integer.MAX_VALUE);
    maxSessions = sessions;
  }

  private void setMaxUnvalidated(int sessions) {
    check(KcpServerChannelOption.MAX_UNVALIDATED, sessions, 1, Integer.MAX_VALUE);
    maxUnvalidated = sessions;
  }

  private void setMemoryLimitBytes(long bytes) {
    check(KcpServerChannelOption.MEMORY_LIMIT, bytes, 1, Long.MAX_VALUE);
    memoryLimitBytes = bytes;
  }

  private void setResetSecret(byte[] secret) {
    check(
        KcpServerChannelOption.RESET_SECRET,
        secret.length,
        ResetTokens.MIN_SECRET_BYTES,
        Integer.MAX_VALUE);
    resetSecret = secret.clone();
  }

  private synchronized void setKeyRing(KeyRing ring) {
    if (server.sockets() != null) {
      checkSuccessor(KcpChannelOption.KEY_RING, keyRing, ring);
    }
    keyRing = ring;
    server.keyRingChanged();
  }

  /** The reason why binding must fail with these settings, or null. */
  IllegalArgumentException mistake() {
    return mistakes.first();
  }

  /** The segments of existing sessions leave room for the bytes that the old keys add. */
  static void checkSuccessor(ChannelOption<KeyRing> option, KeyRing ring, KeyRing next) {
    if (bytesAdded(next) != bytesAdded(ring)) {
      throw new IllegalArgumentException(
          option
              + ": adds "
              + bytesAdded(next)
              + " bytes to a packet (expected: "
              + bytesAdded(ring)
              + " as before)");
    }
  }

  static int bytesAdded(KeyRing ring) {
    return ring.headroom() + ring.tailroom();
  }

  private static void check(ChannelOption<?> option, long value, long min, long max) {
    if (value < min || value > max) {
      throw new IllegalArgumentException(
          option + ": " + value + " (expected: " + min + " to " + max + ")");
    }
  }

  @Override
  public Map<ChannelOption<?>, Object> getOptions() {
    Map<ChannelOption<?>, Object> options = getOptions(super.getOptions());
    OPTIONS.putAll(this, options);
    socketOptions.putAll(options);
    return options;
  }

  @Override
  public <T> T getOption(ChannelOption<T> option) {
    if (OPTIONS.has(option)) {
      return OPTIONS.get(this, option);
    }
    T value = super.getOption(option);
    return value != null ? value : socketOptions.get(option);
  }

  @Override
  public <T> boolean setOption(ChannelOption<T> option, T value) {
    if (option.equals(KcpChannelOption.KEY_RING)) {
      mistakes.setKeyRing(option, () -> OPTIONS.set(this, option, value));
      return true;
    }
    if (OPTIONS.has(option)) {
      OPTIONS.set(this, option, value);
      return true;
    }
    return super.setOption(option, value)
        || socketOptions.set(option, value)
        || mistakes.unknown(option);
  }

  @Override
  protected void autoReadCleared() {
    server.clearReadPending();
  }
}
