package io.kcp4j.session;

import java.net.InetSocketAddress;
import java.util.Arrays;

/**
 * The key of a session: remote address and conversation id. Comparable, so that a hash map stays
 * fast with keys that somebody has chosen to collide: it keeps them in a tree.
 */
final class SessionKey implements Comparable<SessionKey> {

  private InetSocketAddress remote;
  private int conv;

  SessionKey(InetSocketAddress remote, int conv) {
    set(remote, conv);
  }

  /** Changes this key, which must not be in a map. */
  void set(InetSocketAddress remote, int conv) {
    this.remote = remote;
    this.conv = conv;
  }

  SessionKey copy() {
    return new SessionKey(remote, conv);
  }

  InetSocketAddress remote() {
    return remote;
  }

  int conv() {
    return conv;
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof SessionKey key && conv == key.conv && remote.equals(key.remote);
  }

  @Override
  public int hashCode() {
    // The golden ratio spreads conversation ids that differ only in a few bits.
    return 31 * remote.hashCode() + conv * 0x9e3779b9;
  }

  @Override
  public int compareTo(SessionKey other) {
    int order = Integer.compare(conv, other.conv);
    if (order == 0) {
      order = Integer.compare(remote.getPort(), other.remote.getPort());
    }
    return order != 0
        ? order
        : Arrays.compare(remote.getAddress().getAddress(), other.remote.getAddress().getAddress());
  }

  @Override
  public String toString() {
    return "conv " + conv + " at " + remote;
  }
}
