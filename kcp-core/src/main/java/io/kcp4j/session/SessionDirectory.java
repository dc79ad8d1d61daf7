package io.kcp4j.session;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * What the session tables of one endpoint have in common: how many sessions there may be at a time
 * and, where there are several tables, which of them each session is in. Thread-safe: the tables
 * may be on different threads. They come here when sessions come and go, and with packets that none
 * of their own sessions wants.
 *
 * <p>Of several sockets at one port the system chooses the one at which a peer's packets come in,
 * and chooses anew when a socket joins or leaves. A session stays where it was begun: its name
 * belongs to the first table that claims it, until that table has forgotten the session, a minute
 * after its end, or has closed. Other tables pass its packets on, and none begins it a second time:
 * protocol.md 8.5.
 */
public final class SessionDirectory {

  private final int maxSessions;
  private final AtomicInteger sessions = new AtomicInteger();

  /** Which table a name belongs to; null where there is but one. */
  private final Map<SessionKey, SessionTable> homes;

  private SessionDirectory(int maxSessions, Map<SessionKey, SessionTable> homes) {
    this.maxSessions = maxSessions;
    this.homes = homes;
  }

  /**
   * Makes the directory of a table that is alone.
   *
   * @param maxSessions strangers beyond this number are turned away; a table of clients has 0
   */
  public static SessionDirectory ofOne(int maxSessions) {
    return new SessionDirectory(maxSessions, null);
  }

  /**
   * Makes the directory of several tables.
   *
   * @param maxSessions strangers beyond this number, of all tables together, are turned away
   */
  public static SessionDirectory ofSeveral(int maxSessions) {
    return new SessionDirectory(maxSessions, new ConcurrentHashMap<>());
  }

  /** Whether strangers may ever begin a session. */
  boolean acceptsSessions() {
    return maxSessions > 0;
  }

  /** Counts a stranger's session if there is room for it. */
  boolean tryEnter() {
    return sessions.getAndUpdate(n -> n < maxSessions ? n + 1 : n) < maxSessions;
  }

  /** Counts a session that no stranger has begun. */
  void enter() {
    sessions.incrementAndGet();
  }

  /** One session less. */
  void leave() {
    sessions.decrementAndGet();
  }

  /** Whether a name, of which {@code claimant} has nothing, belongs to it from now on. */
  boolean claim(SessionKey name, SessionTable claimant) {
    if (homes == null) {
      return true;
    }
    SessionTable home = homes.putIfAbsent(name.copy(), claimant);
    return home == null || home == claimant;
  }

  /** The name belongs to nobody any more, if it has belonged to this table. */
  void release(SessionKey name, SessionTable home) {
    if (homes != null) {
      homes.remove(name, home);
    }
  }

  /** Which other table a name belongs to, or null if to none. */
  SessionTable otherHome(SessionKey name, SessionTable asking) {
    SessionTable home = homes == null ? null : homes.get(name);
    return home == asking ? null : home;
  }

  /** How many names belong to a table. */
  int names() {
    return homes == null ? 0 : homes.size();
  }
}
