package io.kcp4j.netty;

import io.kcp4j.Delivery;
import io.kcp4j.KcpConfig;
import io.kcp4j.crypto.KeyRing;
import io.kcp4j.fec.FecConfig;
import io.kcp4j.internal.session.Session;
import io.kcp4j.internal.wire.Segment;
import io.kcp4j.lanes.LanesConfig;
import io.kcp4j.netty.internal.options.KcpSetting;
import io.kcp4j.netty.internal.options.OptionMistakes;
import io.kcp4j.netty.internal.options.OptionTable;
import io.kcp4j.netty.internal.options.SocketOptions;
import io.netty.buffer.PooledByteBufAllocator;
import io.netty.channel.ChannelOption;
import io.netty.channel.DefaultChannelConfig;
import io.netty.channel.FixedRecvByteBufAllocator;
import java.util.Map;

/**
 * The configuration of a {@link KcpChannel}, set and read by the options of {@link
 * KcpChannelOption} and, on a client, by those of its socket. Thread-safe.
 *
 * <p>In stream mode {@code RECVBUF_ALLOCATOR} limits the size of the buffers that are read. The
 * default, 64 KiB, is more than the largest, which have some 32 KiB.
 */
public final class KcpChannelConfig extends DefaultChannelConfig {

  private static final int MAX_LINGER_S = Integer.MAX_VALUE / 1000;

  private static final int READ_BYTES = 64 * 1024;

  private static final OptionTable<KcpChannelConfig> OPTIONS =
      new OptionTable<KcpChannelConfig>()
          .add(KcpChannelOption.CONV, KcpChannelConfig::conv, KcpChannelConfig::setConv)
          .add(
              KcpChannelOption.CONNECT_PROBE,
              KcpChannelConfig::isConnectProbe,
              (config, value) -> config.connectProbe = value)
          .add(KcpChannelOption.KEY_RING, KcpChannelConfig::keyRing, KcpChannelConfig::setKeyRing)
          .add(KcpChannelOption.FEC, KcpChannelConfig::fec, KcpChannelConfig::setFec)
          .add(KcpChannelOption.LANES, KcpChannelConfig::lanes, KcpChannelConfig::setLanes)
          .add(
              ChannelOption.ALLOW_HALF_CLOSURE,
              KcpChannelConfig::isAllowHalfClosure,
              (config, value) -> config.allowHalfClosure = value)
          .add(
              KcpChannelOption.TRACER,
              KcpChannelConfig::tracer,
              (config, value) -> config.tracer = value)
          .addOfTcp(ChannelOption.TCP_NODELAY, config -> true)
          .addOfTcp(ChannelOption.SO_KEEPALIVE, config -> config.kcp.keepAliveIntervalMs() > 0)
          .addOfTcp(
              ChannelOption.SO_LINGER, KcpChannelConfig::lingerS, KcpChannelConfig::setLingerS);

  private final KcpChannel kcpChannel;
  private final SocketOptions socketOptions;
  private final KcpSetting.Cache cache;
  private final OptionMistakes mistakes;

  private volatile KcpConfig kcp = KcpConfig.DEFAULT;
  private volatile int conv;
  private volatile boolean connectProbe;
  private volatile KeyRing keyRing = KeyRing.NONE;
  private volatile FecConfig fec = FecConfig.NONE;
  private volatile KcpTracerFactory tracer = KcpTracerFactory.NONE;
  private volatile boolean allowHalfClosure;
  private volatile LanesConfig lanes = LanesConfig.DEFAULT;

  /** The configuration of a client. */
  KcpChannelConfig(KcpChannel channel) {
    this(channel, new SocketOptions(), null, 0);
  }

  /** The configuration of an accepted channel, whose socket is its server's. */
  KcpChannelConfig(KcpChannel channel, KcpSetting.Cache cache, int conv) {
    this(channel, null, cache, conv);
  }

  private KcpChannelConfig(
      KcpChannel channel, SocketOptions socketOptions, KcpSetting.Cache cache, int conv) {
    super(channel, new FixedRecvByteBufAllocator(READ_BYTES));
    this.kcpChannel = channel;
    this.socketOptions = socketOptions;
    this.cache = cache;
    this.conv = conv;
    mistakes =
        new OptionMistakes(
            channel.parent() == null ? OptionMistakes.Target.CLIENT : OptionMistakes.Target.CHILD);
    setAllocator(PooledByteBufAllocator.DEFAULT);
  }

  /** The settings of the session. */
  public KcpConfig kcp() {
    return kcp;
  }

  int conv() {
    return conv;
  }

  boolean isConnectProbe() {
    return connectProbe;
  }

  /** The client's key ring, or that of the server that has accepted the channel. */
  KeyRing keyRing() {
    KcpServerChannel server = kcpChannel.parent();
    return server == null ? keyRing : server.config().keyRing();
  }

  /** The settings of FEC. */
  public FecConfig fec() {
    return fec;
  }

  /** The settings of lanes. */
  public LanesConfig lanes() {
    return lanes;
  }

  KcpTracerFactory tracer() {
    return tracer;
  }

  /** {@link ChannelOption#ALLOW_HALF_CLOSURE}. */
  public boolean isAllowHalfClosure() {
    return allowHalfClosure;
  }

  /** The options of the client's socket, or null if a server has accepted the channel. */
  SocketOptions socketOptions() {
    return socketOptions;
  }

  private void setConv(int conv) {
    if (kcpChannel.parent() != null) {
      throw new IllegalArgumentException(
          KcpChannelOption.CONV + ": " + conv + " (expected: unset, the channel was accepted)");
    }
    this.conv = conv;
  }

  /** In seconds, rounded up; -1, as with TCP, for the default. */
  private int lingerS() {
    int ms = kcp.lingerMs();
    return ms == KcpConfig.DEFAULT.lingerMs() ? -1 : (int) Math.ceil(ms / 1e3);
  }

  private void setLingerS(int seconds) {
    if (seconds > MAX_LINGER_S) {
      throw new IllegalArgumentException(
          ChannelOption.SO_LINGER + ": " + seconds + " (expected: <= " + MAX_LINGER_S + ")");
    }
    int ms = seconds < 0 ? KcpConfig.DEFAULT.lingerMs() : seconds * 1000;
    changeKcp(KcpChannelOption.LINGER, ms);
  }

  private synchronized void setKeyRing(KeyRing ring) {
    if (kcpChannel.parent() != null) {
      mistakes.unknown(KcpChannelOption.KEY_RING);
    }
    if (kcpChannel.endpoint() != null) {
      KcpServerChannelConfig.checkSuccessor(KcpChannelOption.KEY_RING, keyRing, ring);
    }
    keyRing = ring;
    kcpChannel.session().configChanged();
  }

  /** The reason why no session must begin with these settings, or null. */
  IllegalArgumentException mistake() {
    IllegalArgumentException first = mistakes.first();
    return first == null ? contradiction() : first;
  }

  /** The options of the session and of its lanes that contradict each other, or null. */
  private IllegalArgumentException contradiction() {
    Delivery delivery = kcp.delivery();
    if (delivery == Delivery.LANES && !kcp.extension()) {
      return new IllegalArgumentException("extension: false (expected: true with DELIVERY LANES)");
    }
    if (delivery != Delivery.LANES && lanes != LanesConfig.DEFAULT) {
      return new IllegalArgumentException(
          KcpChannelOption.LANES + ": set with DELIVERY " + delivery + " (expected: LANES)");
    }
    return null;
  }

  private synchronized void setFec(FecConfig fec) {
    checkRoom(kcp, fec, KcpChannelOption.MTU);
    FecConfig before = this.fec;
    this.fec = fec;
    try {
      kcpChannel.session().configChanged();
    } catch (RuntimeException | Error e) { // There may be no memory for smaller segments.
      fecRefused(fec, before);
      throw e;
    }
  }

  /** Reverts a refused change, so that the option reads as the setting in force. */
  synchronized void fecRefused(FecConfig refused, FecConfig inForce) {
    if (fec == refused) {
      fec = inForce;
    }
  }

  /** Reverts a refused change of the other settings. */
  synchronized void refused(KcpConfig refused, KcpConfig inForce) {
    if (kcp == refused) {
      kcp = inForce;
    }
  }

  private void setLanes(LanesConfig lanes) {
    if (kcpChannel.session().hasBegun() && lanes != this.lanes) {
      throw new IllegalStateException(
          KcpChannelOption.LANES + ": (expected: set before the session begins)");
    }
    this.lanes = lanes;
    kcpChannel.session().configChanged();
  }

  /** The headers of the layers around the ARQ count as part of the MTU. */
  private void checkRoom(KcpConfig kcp, FecConfig fec, Object mtu) {
    int cipherBytes = KcpServerChannelConfig.bytesAdded(keyRing());
    int leastMtuBytes = Session.overheadBytes(cipherBytes, fec) + Segment.HEADER_BYTES + 1;
    if (kcp.mtuBytes() < leastMtuBytes) {
      throw new IllegalArgumentException(
          mtu + ": " + kcp.mtuBytes() + " (expected: >= " + leastMtuBytes + ")");
    }
  }

  private synchronized <T> void changeKcp(ChannelOption<T> option, T value) {
    KcpConfig changed = changed(option, value);
    if (changed.mtuBytes() != kcp.mtuBytes()) {
      checkRoom(
          changed, fec, option.equals(KcpChannelOption.CONFIG) ? "mtuBytes" : KcpChannelOption.MTU);
    }
    KcpConfig before = kcp;
    kcp = changed;
    try {
      kcpChannel.session().configChanged();
    } catch (RuntimeException | Error e) { // The user's congestion control may throw.
      refused(changed, before);
      throw e;
    }
  }

  private <T> KcpConfig changed(ChannelOption<T> option, T value) {
    try {
      KcpConfig changed =
          cache == null
              ? KcpSetting.of(option).set().apply(kcp, value)
              : cache.change(kcp, option, value);
      if (kcpChannel.session().hasBegun()) {
        kcp.checkSuccessor(changed);
      }
      return changed;
    } catch (IllegalArgumentException e) {
      throw KcpSetting.refusal(option, e);
    }
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
    if (option.equals(KcpChannelOption.KEY_RING)) {
      mistakes.setKeyRing(option, () -> OPTIONS.set(this, option, value));
      return true;
    }
    if (OPTIONS.has(option)) {
      OPTIONS.set(this, option, value);
      return true;
    }
    return super.setOption(option, value)
        || (socketOptions != null && socketOptions.set(option, value))
        || mistakes.unknown(option);
  }

  @Override
  protected void autoReadCleared() {
    kcpChannel.reader().autoReadCleared();
  }
}
