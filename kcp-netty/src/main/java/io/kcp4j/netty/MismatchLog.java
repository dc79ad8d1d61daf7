package io.kcp4j.netty;

import io.kcp4j.KcpCounter;
import java.net.InetSocketAddress;
import java.util.EnumMap;
import java.util.Map;

/**
 * Words for what datagrams show of peers whose settings are not ours: one line for each kind in ten
 * seconds, since anybody can send such datagrams. Belongs to an endpoint and its thread.
 */
final class MismatchLog {

  private final Map<KcpCounter, LogLimit> limits = new EnumMap<>(KcpCounter.class);

  /**
   * What to log about a datagram.
   *
   * @param kind what has counted it
   * @return null if nothing: a line of this kind has just been logged
   */
  String line(KcpCounter kind, InetSocketAddress remote, long nowMs) {
    if (!limits.computeIfAbsent(kind, first -> new LogLimit()).passes(nowMs)) {
      return null;
    }
    return switch (kind) {
      case OPEN_FAILED -> "no key opens a packet of " + remote + ": it has another key or cipher";
      case UNSEALED -> remote + " sends in plaintext, and we have keys: it needs a KEY_RING";
      case NOT_KCP -> remote + " sends what is not KCP: it has a KEY_RING, and we have none";
      case FRAGMENT_IN_STREAM ->
          remote + " sends fragments into a stream: its DELIVERY is MESSAGE, ours is STREAM";
      default -> throw new AssertionError(kind);
    };
  }
}
