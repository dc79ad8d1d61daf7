package io.kcp4j.netty;

import io.kcp4j.KcpConfig;
import io.kcp4j.KcpMode;
import io.netty.channel.ChannelOption;
import java.util.HashMap;
import java.util.Map;
import java.util.function.BiFunction;
import java.util.function.Function;
import java.util.function.Supplier;

/**
 * A channel option that stands for a setting of {@link KcpConfig}.
 *
 * @param get reads the setting
 * @param set makes a configuration with another value, or throws {@link IllegalArgumentException}
 */
record KcpSetting<T>(Function<KcpConfig, T> get, BiFunction<KcpConfig, T, KcpConfig> set) {

  static final Map<ChannelOption<?>, KcpSetting<?>> ALL = all();

  /**
   * Shares one {@link KcpConfig} among the children of a server, which have the same options.
   * Thread-safe.
   */
  static final class Cache {

    /** More entries mean that the settings differ between children, and sharing is useless. */
    private static final int MAX_ENTRIES = 256;

    private record Change(KcpConfig from, ChannelOption<?> option, Object value) {}

    private final Map<Change, KcpConfig> results = new HashMap<>();

    synchronized <T> KcpConfig change(KcpConfig from, ChannelOption<T> option, T value) {
      if (results.size() >= MAX_ENTRIES) {
        results.clear();
      }
      return results.computeIfAbsent(
          new Change(from, option, value), change -> of(option).set.apply(from, value));
    }
  }

  @SuppressWarnings("unchecked") // The map holds for each option a setting of its type.
  static <T> KcpSetting<T> of(ChannelOption<T> option) {
    return (KcpSetting<T>) ALL.get(option);
  }

  private static Map<ChannelOption<?>, KcpSetting<?>> all() {
    Map<ChannelOption<?>, KcpSetting<?>> all = new HashMap<>();
    all.put(KcpChannelOption.CONFIG, new KcpSetting<KcpConfig>(c -> c, (c, value) -> value));
    add(all, KcpChannelOption.MODE, KcpSetting::mode, KcpConfig.Builder::mode);
    add(all, KcpChannelOption.DELIVERY, KcpConfig::delivery, KcpConfig.Builder::delivery);
    add(all, KcpChannelOption.SEND_WINDOW, KcpConfig::sendWindow, KcpConfig.Builder::sendWindow);
    add(
        all,
        KcpChannelOption.RECEIVE_WINDOW,
        KcpConfig::receiveWindow,
        KcpConfig.Builder::receiveWindow);
    add(all, KcpChannelOption.MTU, KcpConfig::mtuBytes, KcpConfig.Builder::mtuBytes);
    add(all, KcpChannelOption.NODELAY, KcpConfig::noDelay, KcpConfig.Builder::noDelay);
    add(all, KcpChannelOption.INTERVAL, KcpConfig::intervalMs, KcpConfig.Builder::intervalMs);
    add(
        all,
        KcpChannelOption.LOSS_DETECTION,
        KcpConfig::lossDetection,
        KcpConfig.Builder::lossDetection);
    add(
        all,
        KcpChannelOption.FAST_RETRANSMIT,
        KcpConfig::fastRetransmit,
        KcpConfig.Builder::fastRetransmit);
    add(
        all,
        KcpChannelOption.EARLY_RETRANSMIT,
        KcpConfig::earlyRetransmit,
        KcpConfig.Builder::earlyRetransmit);
    add(
        all,
        KcpChannelOption.CONGESTION_CONTROL,
        KcpConfig::congestionControl,
        KcpConfig.Builder::congestionControl);
    add(all, KcpChannelOption.MIN_RTO, KcpConfig::minRtoMs, KcpConfig.Builder::minRtoMs);
    add(all, KcpChannelOption.WRITE_DELAY, KcpConfig::writeDelay, KcpConfig.Builder::writeDelay);
    add(all, KcpChannelOption.ACK_NO_DELAY, KcpConfig::ackNoDelay, KcpConfig.Builder::ackNoDelay);
    add(all, KcpChannelOption.DEAD_LINK, KcpConfig::deadLink, KcpConfig.Builder::deadLink);
    add(
        all,
        KcpChannelOption.USER_TIMEOUT,
        KcpConfig::userTimeoutMs,
        KcpConfig.Builder::userTimeoutMs);
    add(
        all,
        KcpChannelOption.WRITE_STALL_TIMEOUT,
        KcpConfig::zeroWindowTimeoutMs,
        KcpConfig.Builder::zeroWindowTimeoutMs);
    add(all, KcpChannelOption.SEND_QUEUE, KcpConfig::sendQueue, KcpConfig.Builder::sendQueue);
    add(
        all,
        KcpChannelOption.MAX_FRAGMENTS,
        KcpConfig::maxFragments,
        KcpConfig.Builder::maxFragments);
    add(all, KcpChannelOption.RATE_LIMIT, KcpConfig::rateLimit, KcpConfig.Builder::rateLimit);
    add(all, KcpChannelOption.MAX_BURST, KcpConfig::maxBurst, KcpConfig.Builder::maxBurst);
    return Map.copyOf(all);
  }

  private static <T> void add(
      Map<ChannelOption<?>, KcpSetting<?>> all,
      ChannelOption<T> option,
      Function<KcpConfig, T> get,
      BiFunction<KcpConfig.Builder, T, KcpConfig.Builder> set) {
    BiFunction<KcpConfig, T, KcpConfig> change =
        (config, value) -> change(option, () -> set.apply(config.toBuilder(), value).build());
    all.put(option, new KcpSetting<>(get, change));
  }

  /** Names the option as well as the setting of {@link KcpConfig} that refuses a value. */
  private static KcpConfig change(ChannelOption<?> option, Supplier<KcpConfig> change) {
    try {
      return change.get();
    } catch (IllegalArgumentException e) {
      throw new IllegalArgumentException(option + ": " + e.getMessage(), e);
    }
  }

  private static KcpMode mode(KcpConfig config) {
    for (KcpMode mode : KcpMode.values()) {
      if (config.noDelay() == mode.noDelay()
          && config.intervalMs() == mode.intervalMs()
          && config.fastRetransmit() == mode.fastRetransmit()) {
        return mode;
      }
    }
    return null;
  }
}
