package io.kcp4j.session;

import io.kcp4j.scheduling.RateLimiter;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * The accepted sessions of a table whose paths are not validated, which may be those of forged
 * addresses. Their number is limited. Beyond half of the limit the table is under pressure, and so
 * it is if many have begun in a short time: honest clients are validated after a round trip.
 */
final class UnvalidatedSessions {

  static final int DEFAULT_LIMIT = 4096;

  /**
   * So many may begin in a second, and not be validated, before that is taken for a flood. During a
   * flood they are spread over the second: peers would wait while a hundred begin at once.
   */
  private static final int MAX_NEW_PER_SECOND = 128;

  private static final int SECOND_US = 1_000_000;

  /** The search for a session to evict skips so many at most. */
  private static final int MAX_SKIPPED = 64;

  private int limit = DEFAULT_LIMIT;

  /**
   * When a session was added, when it was put at its place, and whether it has taken a token of
   * {@link #begun}.
   */
  private record Entry(long addedAtUs, long putAtUs, boolean hasToken) {}

  /** The sessions, those first that are to be evicted. */
  private final Map<Session, Entry> sessions = new LinkedHashMap<>();

  private final RateLimiter begun = new RateLimiter(MAX_NEW_PER_SECOND, MAX_NEW_PER_SECOND);

  void limit(int sessions) {
    limit = sessions;
  }

  void add(Session session, long nowUs) {
    sessions.put(session, new Entry(nowUs, nowUs, begun.takeOrOwe(nowUs)));
  }

  /** Removes a session that has ended. */
  void remove(Session session) {
    sessions.remove(session);
  }

  /**
   * Removes a session that has been validated. It does not count as begun, if it began just now.
   */
  void validated(Session session, long nowUs) {
    Entry entry = sessions.remove(session);
    if (entry != null && entry.hasToken && nowUs - entry.addedAtUs < SECOND_US) {
      begun.giveBack();
    }
  }

  int size() {
    return sessions.size();
  }

  boolean isFull() {
    return sessions.size() >= limit;
  }

  boolean isUnderPressure(long nowUs) {
    return sessions.size() > limit / 2 || !begun.hasToken(nowUs);
  }

  /**
   * The session to evict, of at least one: the oldest to which nothing has come since it was
   * accepted, or skipped here. Clients that only send, and never validate their paths, send again
   * and again.
   */
  Session candidate() {
    for (int skipped = 0; ; skipped++) {
      Iterator<Map.Entry<Session, Entry>> first = sessions.entrySet().iterator();
      Map.Entry<Session, Entry> next = first.next();
      Session session = next.getKey();
      Entry entry = next.getValue();
      long receivedAtUs = session.keepAlive().lastReceivedAtUs();
      if (skipped == MAX_SKIPPED || receivedAtUs <= entry.putAtUs) {
        return session;
      }
      first.remove();
      sessions.put(session, new Entry(entry.addedAtUs, receivedAtUs, entry.hasToken));
    }
  }

  /**
   * The oldest session that holds more than {@code bytes}, or the oldest of all if none of the
   * first {@code most} does; null if there is none that began before {@code beforeUs}.
   */
  Session oldestHolding(int bytes, int most, long beforeUs) {
    Session oldest = null;
    int searched = 0;
    for (Map.Entry<Session, Entry> next : sessions.entrySet()) {
      Session session = next.getKey();
      if (next.getValue().addedAtUs < beforeUs) {
        if (session.heldBytes() > bytes) {
          return session;
        }
        oldest = oldest == null ? session : oldest;
      }
      if (++searched == most) {
        break;
      }
    }
    return oldest;
  }
}
