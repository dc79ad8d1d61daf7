package io.kcp4j.session;

import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * The accepted sessions of a table whose paths are not validated, which may be those of forged
 * addresses. Their number is limited. Beyond half of the limit the table is under pressure.
 */
final class UnvalidatedSessions {

  static final int DEFAULT_LIMIT = 4096;

  /** The search for a session to evict skips so many at most. */
  private static final int MAX_SKIPPED = 64;

  private int limit = DEFAULT_LIMIT;

  /** The sessions, those first that are to be evicted, and when each was put there. */
  private final Map<Session, Long> sessions = new LinkedHashMap<>();

  void limit(int sessions) {
    limit = sessions;
  }

  void add(Session session, long nowUs) {
    sessions.put(session, nowUs);
  }

  /** Removes a session that has been validated, or has ended. */
  void remove(Session session) {
    sessions.remove(session);
  }

  int size() {
    return sessions.size();
  }

  boolean isFull() {
    return sessions.size() >= limit;
  }

  boolean isUnderPressure() {
    return sessions.size() > limit / 2;
  }

  /**
   * The session to evict, of at least one: the oldest to which nothing has come since it was
   * accepted, or skipped here. Clients that only send, and never validate their paths, send again
   * and again.
   */
  Session candidate() {
    for (int skipped = 0; ; skipped++) {
      Iterator<Map.Entry<Session, Long>> first = sessions.entrySet().iterator();
      Map.Entry<Session, Long> entry = first.next();
      Session session = entry.getKey();
      long receivedAtUs = session.keepAlive().lastReceivedAtUs();
      if (skipped == MAX_SKIPPED || receivedAtUs <= entry.getValue()) {
        return session;
      }
      first.remove();
      sessions.put(session, receivedAtUs);
    }
  }
}
