package io.kcp4j.session;

import java.util.concurrent.atomic.AtomicInteger;

/**
 * How many sessions there may be at a time in one table, or in several together. Thread-safe:
 * tables on different threads may share one, and touch it only when sessions come and go.
 */
public final class SessionDirectory {

  private final int maxSessions;
  private final AtomicInteger sessions = new AtomicInteger();

  /**
   * Makes a limit.
   *
   * @param maxSessions strangers beyond this number are turned away; tables of clients have 0
   */
  public SessionDirectory(int maxSessions) {
    this.maxSessions = maxSessions;
  }

  /** Whether strangers may ever begin a session. */
  boolean admitsStrangers() {
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
}
