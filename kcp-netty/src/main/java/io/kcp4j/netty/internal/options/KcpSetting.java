package io.kcp4j.netty.internal.options;

import io.kcp4j.KcpConfig;
import io.kcp4j.netty.KcpChannelOption;
import io.netty.channel.ChannelOption;
import java.util.HashMap;
import java.util.Map;
import java.util.function.BiFunction;
import java.util.function.Function;

/**
 * A channel option that stands for a setting of {@link KcpConfig}, or for all of them.
 *
 * @param get reads the setting
 * @param set makes a configuration with another value, or throws {@link IllegalArgumentException}
 */
public record KcpSetting<T>(Function<KcpConfig, T> get, BiFunction<KcpConfig, T, KcpConfig> set) {

  public static final Map<ChannelOption<?>, KcpSetting<?>> ALL = all();

  /**
   * Shares one {@link KcpConfig} among the children of a server, which have the same options.
   * Thread-safe.
   */
  public static final class Cache {

    /** More entries mean that the settings differ between children, and sharing is useless. */
    private static final int MAX_ENTRIES = 256;

    private record Change(KcpConfig from, ChannelOption<?> option, Object value) {}

    private final Map<Change, KcpConfig> results = new HashMap<>();

    public synchronized <T> KcpConfig change(KcpConfig from, ChannelOption<T> option, T value) {
      if (results.size() >= MAX_ENTRIES) {
        results.clear();
      }
      return results.computeIfAbsent(
          new Change(from, option, value), change -> of(option).set.apply(from, value));
    }
  }

  @SuppressWarnings("unchecked") // The map holds for each option a setting of its type.
  public static <T> KcpSetting<T> of(ChannelOption<T> option) {
    return (KcpSetting<T>) ALL.get(option);
  }

  private static Map<ChannelOption<?>, KcpSetting<?>> all() {
    Map<ChannelOption<?>, KcpSetting<?>> all = new HashMap<>();
    all.put(KcpChannelOption.CONFIG, new KcpSetting<KcpConfig>(c -> c, (c, value) -> value));
    add(all, KcpChannelOption.DELIVERY, KcpConfig::delivery, KcpConfig.Builder::delivery);
    add(all, KcpChannelOption.MTU, KcpConfig::mtuBytes, KcpConfig.Builder::mtuBytes);
    add(all, KcpChannelOption.SEND_WINDOW, KcpConfig::sendWindow, KcpConfig.Builder::sendWindow);
    add(
        all,
        KcpChannelOption.RECEIVE_WINDOW,
        KcpConfig::receiveWindow,
        KcpConfig.Builder::receiveWindow);
    add(
        all,
        KcpChannelOption.CONGESTION_CONTROL,
        KcpConfig::congestionControl,
        KcpConfig.Builder::congestionControl);
    add(all, KcpChannelOption.RATE_LIMIT, KcpConfig::rateLimit, KcpConfig.Builder::rateLimit);
    add(
        all,
        KcpChannelOption.IDLE_TIMEOUT,
        KcpConfig::idleTimeoutMs,
        KcpConfig.Builder::idleTimeoutMs);
    add(
        all,
        KcpChannelOption.KEEP_ALIVE_INTERVAL,
        KcpConfig::keepAliveIntervalMs,
        KcpConfig.Builder::keepAliveIntervalMs);
    add(
        all,
        KcpChannelOption.KEEP_ALIVE_PROBES,
        KcpConfig::keepAliveProbes,
        KcpConfig.Builder::keepAliveProbes);
    add(
        all,
        KcpChannelOption.USER_TIMEOUT,
        KcpConfig::userTimeoutMs,
        KcpConfig.Builder::userTimeoutMs);
    add(all, KcpChannelOption.LINGER, KcpConfig::lingerMs, KcpConfig.Builder::lingerMs);
    return Map.copyOf(all);
  }

  private static <T> void add(
      Map<ChannelOption<?>, KcpSetting<?>> all,
      ChannelOption<T> option,
      Function<KcpConfig, T> get,
      BiFunction<KcpConfig.Builder, T, KcpConfig.Builder> set) {
    all.put(
        option,
        new KcpSetting<>(get, (config, value) -> set.apply(config.toBuilder(), value).build()));
  }

  /**
   * The refusal of a value that an option was set to. It names the option in place of the setting
   * that {@link KcpConfig} names, unless {@link KcpChannelOption#CONFIG} was set.
   */
  public static IllegalArgumentException refusal(
      ChannelOption<?> option, IllegalArgumentException ofConfig) {
    if (option.equals(KcpChannelOption.CONFIG)) {
      return ofConfig;
    }
    String message = ofConfig.getMessage();
    return new IllegalArgumentException(option + message.substring(message.indexOf(':')), ofConfig);
  }
}
