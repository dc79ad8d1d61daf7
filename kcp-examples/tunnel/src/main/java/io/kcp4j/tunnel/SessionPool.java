package io.kcp4j.tunnel;

import io.netty.channel.Channel;
import io.netty.channel.ChannelFuture;
import io.netty.channel.EventLoop;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;

/**
 * The KCP sessions of a client on one event loop, which new connections use in turn. A session is
 * connected when a connection needs it, and again after it has ended or expired. An expired session
 * closes when its last connection has closed, or after a limit. Used by its event loop.
 */
final class SessionPool {

  /**
   * How long sessions are used.
   *
   * @param autoExpireS for new connections, in seconds; 0 means without limit
   * @param scavengeTtlS after that, for open connections, in seconds
   */
  record Lifetime(int autoExpireS, int scavengeTtlS) {}

  private static final class PooledSession {

    final ChannelFuture connected;
    final long expiresAtNs;
    int connections;
    boolean isExpired;

    PooledSession(ChannelFuture connected, long expiresAtNs) {
      this.connected = connected;
      this.expiresAtNs = expiresAtNs;
    }

    Channel channel() {
      return connected.channel();
    }

    void closeIfUnused() {
      if (isExpired && connections == 0) {
        channel().close();
      }
    }
  }

  private final EventLoop loop;
  private final Supplier<ChannelFuture> connector;
  private final Lifetime lifetime;
  private final PooledSession[] sessions;
  private int next;

  /**
   * Makes a pool without sessions.
   *
   * @param connector connects a session, on this event loop
   * @param size how many sessions to use
   */
  SessionPool(EventLoop loop, Supplier<ChannelFuture> connector, int size, Lifetime lifetime) {
    this.loop = loop;
    this.connector = connector;
    this.lifetime = lifetime;
    sessions = new PooledSession[size];
  }

  /**
   * The session for another connection, which may still be connecting.
   *
   * @param connection the channel of the connection
   */
  ChannelFuture take(Channel connection) {
    int i = next;
    next = (next + 1) % sessions.length;
    PooledSession session = sessions[i];
    if (session == null || !session.channel().isOpen() || isExpired(session)) {
      if (session != null) {
        expire(session);
      }
      session = new PooledSession(connector.get(), expiry());
      sessions[i] = session;
    }
    PooledSession used = session;
    used.connections++;
    connection
        .closeFuture()
        .addListener(
            closed -> {
              used.connections--;
              used.closeIfUnused();
            });
    return used.connected;
  }

  /** The next connection gets a new session in place of this one. */
  void discard(ChannelFuture connected) {
    for (int i = 0; i < sessions.length; i++) {
      if (sessions[i] != null && sessions[i].connected == connected) {
        expire(sessions[i]);
        sessions[i] = null;
      }
    }
  }

  private long expiry() {
    return System.nanoTime() + TimeUnit.SECONDS.toNanos(lifetime.autoExpireS());
  }

  private boolean isExpired(PooledSession session) {
    return lifetime.autoExpireS() > 0 && System.nanoTime() - session.expiresAtNs >= 0;
  }

  private void expire(PooledSession session) {
    session.isExpired = true;
    session.closeIfUnused();
    if (session.channel().isOpen()) {
      loop.schedule(() -> session.channel().close(), lifetime.scavengeTtlS(), TimeUnit.SECONDS);
    }
  }
}
