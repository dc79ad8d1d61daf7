package io.kcp4j.session;

import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.function.Consumer;

/**
 * The keys of sessions that were closed within the last minute. A peer that has not noticed
 * retransmits its first segment, which would begin a second session and execute a request twice.
 * Bounded; the oldest key is forgotten first: protocol.md 7.5.
 */
final class ClosedSessions {

  private static final int REMEMBERED_US = 60_000_000;

  private static final int MAX_REMEMBERED = 65_536;

  private final Map<SessionKey, ClosedSession> sessions = new LinkedHashMap<>();
  private final Consumer<SessionKey> forgotten;

  /** Makes an empty set, which calls {@code forgotten} for each key that it forgets. */
  ClosedSessions(Consumer<SessionKey> forgotten) {
    this.forgotten = forgotten;
  }

  /**
   * Adds the key of a session that is closed.
   *
   * @param session the session; null if there was none: its peer was ignored
   */
  void add(SessionKey key, Session session, long nowUs) {
    forget(nowUs);
    sessions.remove(key); // Moves to the end: the oldest come first.
    if (sessions.size() == MAX_REMEMBERED) {
      SessionKey oldest = sessions.keySet().iterator().next();
      sessions.remove(oldest);
      forgotten.accept(oldest);
    }
    long peerToken = session == null ? 0 : session.closedPeerToken();
    int incarnation = session == null ? 0 : session.peerIncarnation();
    sessions.put(key, new ClosedSession(peerToken, incarnation, nowUs + REMEMBERED_US));
  }

  /** The session of a key that was closed within the last minute, or null. */
  ClosedSession find(SessionKey key, long nowUs) {
    ClosedSession session = sessions.get(key);
    return session == null || nowUs >= session.forgetAtUs() ? null : session;
  }

  /** Whether the key is remembered, for however long already. */
  boolean remembers(SessionKey key) {
    return sessions.containsKey(key);
  }

  /** Removes the key of a session that begins again. */
  void remove(SessionKey key) {
    sessions.remove(key);
  }

  /** Forgets the keys that have been remembered for a minute. */
  void forget(long nowUs) {
    Iterator<Map.Entry<SessionKey, ClosedSession>> oldestFirst = sessions.entrySet().iterator();
    while (oldestFirst.hasNext()) {
      Map.Entry<SessionKey, ClosedSession> oldest = oldestFirst.next();
      if (nowUs < oldest.getValue().forgetAtUs()) {
        return;
      }
      oldestFirst.remove();
      forgotten.accept(oldest.getKey());
    }
  }

  /** Forgets all keys. */
  void clear() {
    sessions.keySet().forEach(forgotten);
    sessions.clear();
  }

  int size() {
    return sessions.size();
  }
}
