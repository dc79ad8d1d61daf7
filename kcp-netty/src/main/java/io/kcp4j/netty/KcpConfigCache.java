package io.kcp4j.netty;

import io.kcp4j.KcpConfig;
import io.netty.channel.ChannelOption;
import java.util.HashMap;
import java.util.Map;

/**
 * Lets the children of a server, which all get the same options, share one {@link KcpConfig}.
 * Thread-safe.
 */
final class KcpConfigCache {

  /** More are the mark of settings that differ from child to child, where sharing is in vain. */
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
