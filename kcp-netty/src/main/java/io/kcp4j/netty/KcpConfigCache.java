package io.kcp4j.netty;

import io.kcp4j.KcpConfig;
import io.netty.channel.ChannelOption;
import java.util.HashMap;
import java.util.Map;

/**
 * Shares one {@link KcpConfig} among the children of a server, which have the same options.
 * Thread-safe.
 */
final class KcpConfigCache {

  /** More entries mean that the settings differ between children, and sharing is useless. */
  private static final int MAX_ENTRIES = 256;

  private record Change(KcpConfig from, ChannelOption<?> option, Object value) {}

  private final Map<Change, KcpConfig> results = new HashMap<>();

  synchronized <T> KcpConfig change(KcpConfig from, ChannelOption<T> option, T value) {
    if (results.size() >= MAX_ENTRIES) {
      results.clear();
    }
    return results.computeIfAbsent(
        new Change(from, option, value), change -> KcpSetting.of(option).set().apply(from, value));
  }
}
