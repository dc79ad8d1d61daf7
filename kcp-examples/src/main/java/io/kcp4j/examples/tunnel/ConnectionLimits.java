package io.kcp4j.examples.tunnel;

import java.net.Inet6Address;
import java.net.InetAddress;
import java.util.HashMap;
import java.util.Map;

/**
 * Limits the TCP connections of an end of the tunnel, because others decide on their number: of all
 * peers, of each address, of those whose addresses may be forged, and of those that the target has
 * not accepted yet. The peers of a server are its clients, those of a client are its TCP users.
 * Thread-safe.
 */
final class ConnectionLimits {

  /** Connections of all sessions whose peers have not answered yet. */
  static final int MAX_UNANSWERED = 256;

  /** The same of one session. */
  static final int MAX_UNANSWERED_OF_SESSION = 4;

  /** Connections that the target has not accepted yet: the longest backlog of a Linux server. */
  static final int MAX_CONNECTING = 4096;

  /** A subscriber has 56 bits of an IPv6 address, or more. */
  private static final int IPV6_NETWORK_BYTES = 7;

  private final int max;
  private final int maxOfAddress;
  private final boolean isLoopbackLimited;

  /** By {@link #network}. Such keys can be ordered, so may collide. */
  private final Map<Long, Integer> ofAddresses = new HashMap<>();

  private int open;
  private int connecting;
  private int unanswered;

  /**
   * Makes limits.
   *
   * @param max the most connections
   * @param maxOfAddress the most of one IPv4 address, or of 56 bits of an IPv6 address
   */
  ConnectionLimits(int max, int maxOfAddress) {
    this(max, maxOfAddress, true);
  }

  private ConnectionLimits(int max, int maxOfAddress, boolean isLoopbackLimited) {
    this.max = max;
    this.maxOfAddress = maxOfAddress;
    this.isLoopbackLimited = isLoopbackLimited;
  }

  /** The same, where all programs of this machine may together have {@code max} connections. */
  static ConnectionLimits exceptLoopback(int max, int maxOfAddress) {
    return new ConnectionLimits(max, maxOfAddress, false);
  }

  /** The bytes of an IPv4 address, or of the network of an IPv6 address behind a 1. */
  private static long network(InetAddress address) {
    byte[] bytes = address.getAddress();
    boolean isIpv6 = address instanceof Inet6Address;
    long network = isIpv6 ? 1 : 0;
    for (int i = 0; i < (isIpv6 ? IPV6_NETWORK_BYTES : bytes.length); i++) {
      network = network << Byte.SIZE | (bytes[i] & 0xff);
    }
    return network;
  }

  /** Counts a connection that is about to be opened for a peer; returns whether it may be. */
  synchronized boolean tryOpen(InetAddress peer) {
    long network = network(peer);
    int ofAddress = ofAddresses.getOrDefault(network, 0);
    int most = isLoopbackLimited || !peer.isLoopbackAddress() ? maxOfAddress : max;
    if (open >= max || ofAddress >= most || connecting >= MAX_CONNECTING) {
      return false;
    }
    ofAddresses.put(network, ofAddress + 1);
    open++;
    connecting++;
    return true;
  }

  /** The target has accepted a connection, or refused it. */
  synchronized void connected() {
    connecting--;
  }

  /** A connection has closed, or could not be opened. */
  synchronized void closed(InetAddress peer) {
    open--;
    ofAddresses.computeIfPresent(network(peer), (key, count) -> count == 1 ? null : count - 1);
  }

  /** Counts a connection of a session whose peer has not answered; returns whether it may be. */
  synchronized boolean tryAddUnanswered() {
    if (unanswered >= MAX_UNANSWERED) {
      return false;
    }
    unanswered++;
    return true;
  }

  /** The peer of a session with so many of those connections has answered, or it has ended. */
  synchronized void removeUnanswered(int connections) {
    unanswered -= connections;
  }

  /** How many connections are open or being opened. */
  synchronized int open() {
    return open;
  }
}
