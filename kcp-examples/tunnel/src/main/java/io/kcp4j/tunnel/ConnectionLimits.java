package io.kcp4j.tunnel;

import java.net.Inet6Address;
import java.net.InetAddress;
import java.util.ArrayDeque;
import java.util.HashMap;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;

/**
 * Limits the TCP connections of an end of the tunnel, because others decide on their number: of all
 * peers, of each address, of those whose addresses may be forged, and of those that the target has
 * not accepted yet. The peers of a server are its clients, those of a client are its TCP users.
 *
 * <p>The side that ends a TCP connection first keeps its port in TIME_WAIT (RFC 9293, 3.3.2). A
 * server has some 28,000 ports towards its target, which short connections would use up. So ports
 * have limits, too: in use or in TIME_WAIT, of all peers and of each address.
 *
 * <p>Thread-safe.
 */
final class ConnectionLimits {

  /** Connections of all sessions whose peers have not answered yet. */
  static final int MAX_UNANSWERED = 256;

  /** The same of one session. */
  static final int MAX_UNANSWERED_OF_SESSION = 4;

  /** Connections that the target has not accepted yet: the longest backlog of a Linux server. */
  static final int MAX_CONNECTING = 4096;

  /** Ports that are in use or in TIME_WAIT. Linux has 28,232 for one target. */
  static final int MAX_PORTS = 16_384;

  /** The same of one address. */
  static final int MAX_PORTS_OF_ADDRESS = 4096;

  /** As long as on Linux. */
  static final long TIME_WAIT_NS = TimeUnit.SECONDS.toNanos(60);

  /** A subscriber has 56 bits of an IPv6 address, or more. */
  private static final int IPV6_NETWORK_BYTES = 7;

  private final int max;
  private final int maxOfAddress;
  private final boolean isLoopbackLimited;
  private final LongSupplier clockNs;

  /** By {@link #network}. Such keys can be ordered, so may collide. */
  private final Map<Long, OfAddress> ofAddresses = new HashMap<>();

  /** What still counts because of ports in TIME_WAIT, in the order of time. */
  private final Queue<TimeWait> timeWaits = new ArrayDeque<>();

  private int open;
  private int portsInTimeWait;
  private int connecting;
  private int unanswered;

  /**
   * Makes limits.
   *
   * @param max the most connections
   * @param maxOfAddress the most of one IPv4 address, or of 56 bits of an IPv6 address
   */
  ConnectionLimits(int max, int maxOfAddress) {
    this(max, maxOfAddress, System::nanoTime);
  }

  /** The same with a clock of nanoseconds. */
  ConnectionLimits(int max, int maxOfAddress, LongSupplier clockNs) {
    this(max, maxOfAddress, true, clockNs);
  }

  private ConnectionLimits(
      int max, int maxOfAddress, boolean isLoopbackLimited, LongSupplier clockNs) {
    this.max = max;
    this.maxOfAddress = maxOfAddress;
    this.isLoopbackLimited = isLoopbackLimited;
    this.clockNs = clockNs;
  }

  /** The same, where all programs of this machine may together have {@code max} connections. */
  static ConnectionLimits exceptLoopback(int max, int maxOfAddress) {
    return new ConnectionLimits(max, maxOfAddress, false, System::nanoTime);
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
    endTimeWaits();
    int most = isLoopbackLimited || !peer.isLoopbackAddress() ? maxOfAddress : max;
    OfAddress ofAddress = ofAddresses.getOrDefault(network(peer), OfAddress.NONE);
    if (open >= max
        || open + portsInTimeWait >= Math.max(max, MAX_PORTS)
        || ofAddress.open >= most
        || ofAddress.ports() >= Math.max(most, MAX_PORTS_OF_ADDRESS)
        || connecting >= MAX_CONNECTING) {
      return false;
    }
    count(peer, 1, 0);
    connecting++;
    return true;
  }

  private void count(InetAddress peer, int opened, int inTimeWait) {
    open += opened;
    portsInTimeWait += inTimeWait;
    ofAddresses.compute(
        network(peer),
        (key, before) -> {
          OfAddress now = before == null ? OfAddress.NONE : before;
          now = new OfAddress(now.open + opened, now.portsInTimeWait + inTimeWait);
          return now.ports() == 0 ? null : now;
        });
  }

  /** The target has accepted a connection, or refused it. */
  synchronized void connected() {
    connecting--;
  }

  /** A connection has closed, or could not be opened. */
  synchronized void closed(InetAddress peer) {
    count(peer, -1, 0);
  }

  /** A connection has closed that this side has ended first: its port is in TIME_WAIT. */
  synchronized void closedFirst(InetAddress peer) {
    count(peer, -1, 1);
    afterTimeWait(() -> count(peer, 0, -1));
  }

  /** Counts a connection of a session whose peer has not answered; returns whether it may be. */
  synchronized boolean tryAddUnanswered() {
    endTimeWaits();
    if (unanswered >= MAX_UNANSWERED) {
      return false;
    }
    unanswered++;
    return true;
  }

  /** The peer of a session with this number of those connections has answered. */
  synchronized void removeUnanswered(int connections) {
    unanswered -= connections;
  }

  /** A session has ended with this number of those connections, whose ports go to TIME_WAIT. */
  synchronized void unansweredEnded(int connections) {
    if (connections > 0) {
      afterTimeWait(() -> removeUnanswered(connections));
    }
  }

  private void afterTimeWait(Runnable end) {
    timeWaits.add(new TimeWait(clockNs.getAsLong() + TIME_WAIT_NS, end));
  }

  private void endTimeWaits() {
    long nowNs = clockNs.getAsLong();
    while (!timeWaits.isEmpty() && timeWaits.peek().endNs - nowNs <= 0) {
      timeWaits.remove().end.run();
    }
  }

  /** How many connections are open or being opened. */
  synchronized int open() {
    return open;
  }

  /** How many ports are in TIME_WAIT. */
  synchronized int portsInTimeWait() {
    endTimeWaits();
    return portsInTimeWait;
  }

  private record OfAddress(int open, int portsInTimeWait) {

    static final OfAddress NONE = new OfAddress(0, 0);

    int ports() {
      return open + portsInTimeWait;
    }
  }

  private record TimeWait(long endNs, Runnable end) {}
}
