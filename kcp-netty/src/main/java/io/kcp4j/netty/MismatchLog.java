package io.kcp4j.netty;

import io.kcp4j.KcpCounter;
import java.net.InetSocketAddress;
import java.util.EnumMap;
import java.util.Map;

/**
 * The log lines about datagrams that show that the settings of a peer do not match: one of each
 * kind in ten seconds, because anybody can send such datagrams. Used by one thread.
 */
final class MismatchLog {

  private final Map<KcpCounter, LogLimit> limits = new EnumMap<>(KcpCounter.class);

  /**
   * Returns the log line about a datagram.
   *
   * @param kind the counter that has counted it
   * @return null if a line of this kind was logged within the last ten seconds
   */
  String line(KcpCounter kind, InetSocketAddress source, long nowUs) {
    if (!limits.computeIfAbsent(kind, first -> new LogLimit()).tryAcquire(nowUs)) {
      return null;
    }
    InetSocketAddress remote = Ipv6Scope.withoutZero(source);
    return switch (kind) {
      case OPEN_FAILED ->
          "no key opens a packet from "
              + remote
              + ": its KEY_RING has another key or cipher than the one here";
      case UNSEALED -> remote + " sends plaintext: the peer needs a KEY_RING, as set here";
      case NOT_KCP ->
          remote + " sends no KCP segments: the peer has a KEY_RING, and none is set here";
      case FRAGMENT_IN_STREAM ->
          remote + " sends fragments: its DELIVERY is MESSAGE, here it is STREAM";
      case DELIVERY_MISMATCHED ->
          remote + " has another DELIVERY than is set here: set the same on both sides";
      default -> throw new AssertionError(kind);
    };
  }
}
