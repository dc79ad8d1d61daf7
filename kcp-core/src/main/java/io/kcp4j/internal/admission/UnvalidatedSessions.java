package io.kcp4j.internal.admission;

import io.kcp4j.internal.memory.MemoryBudget;
import io.kcp4j.internal.scheduling.RateLimiter;
import io.kcp4j.internal.session.Session;
import io.kcp4j.internal.session.SessionLifecycle;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * The accepted sessions of a table whose paths are not validated, which may be those of forged
 * addresses. Their number is limited. Beyond half of the limit the table is under pressure, and so
 * it is if many have begun in a short time: honest clients are validated after a round trip.
 *
 * <p>Their memory is limited, too, to a share of that of all sessions: protocol.md 8.12. When the
 * share is used up, the oldest session that holds some is evicted.
 */
public final class UnvalidatedSessions {

  public static final int DEFAULT_LIMIT = 4096;

  /** The memory of a session itself, approximately: its objects, channel and pipeline. */
  public static final int SESSION_BYTES = 6 * 1024;

  /**
   * The sessions that may begin in a second, and not be validated, before that is taken for a
   * flood. During a flood they are spread over the second: peers would wait while a hundred begin
   * at once.
   */
  private static final int MAX_NEW_PER_SECOND = 128;

  private static final int SECOND_US = 1_000_000;

  /** The most sessions that the search for one to evict skips. */
  private static final int MAX_SKIPPED = 64;

  /** Room for the segments of the largest first datagram, whatever their capacity. */
  private static final int FIRST_DATAGRAM_BYTES = 2 * 1_500;

  /**
   * An unvalidated session is younger than this for the round trip that validates it. It is refused
   * memory, so that its peer sends again, and does not end.
   */
  private static final long MIN_AGE_US = 200_000;

  /** The most sessions that a search for one that holds memory looks at. */
  private static final int MAX_SEARCHED = 64;

  private final SessionLifecycle lifecycle;
  private final MemoryBudget budget;
  private int limit = DEFAULT_LIMIT;

  /**
   * When a session was added, when it was put at its place, and whether it has taken a token of
   * {@link #begun}.
   */
  private record Entry(long addedAtUs, long putAtUs, boolean hasToken) {}

  /** The sessions, those first that are to be evicted. */
  private final Map<Session, Entry> sessions = new LinkedHashMap<>();

  private final RateLimiter begun = new RateLimiter(MAX_NEW_PER_SECOND, MAX_NEW_PER_SECOND);

  /** The bytes that wait to be written to the sessions. */
  private long waitingBytes;

  /** Whether a session has been refused memory. */
  private boolean isShareUsedUp;

  public UnvalidatedSessions(SessionLifecycle lifecycle, MemoryBudget budget) {
    this.lifecycle = lifecycle;
    this.budget = budget;
  }

  public void limit(int sessions) {
    limit = sessions;
  }

  void add(Session session, long nowUs) {
    sessions.put(session, new Entry(nowUs, nowUs, begun.takeOrOwe(nowUs)));
  }

  /** Removes a session that has ended. */
  public void remove(Session session) {
    sessions.remove(session);
  }

  /**
   * Removes a session that has been validated. It does not count as begun, if it began just now.
   */
  public void validated(Session session, long nowUs) {
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

  // Memory

  /**
   * Whether there is room for a session that a peer begins, and for its first datagram, or {@link
   * #sessionToEvict} makes room.
   */
  boolean hasRoomForSession(int datagramBytes, long nowUs) {
    if (!budget.hasUnvalidatedShare()) {
      return true;
    }
    long missingBytes = SESSION_BYTES + 2L * datagramBytes - budget.unvalidatedRoomBytes();
    Session evicted = missingBytes > 0 ? oldestHolding(nowUs) : null;
    return missingBytes <= 0
        || (evicted != null && evicted.kcp().memory().heldBytes() >= missingBytes);
  }

  /**
   * The session that is evicted for one that begins now; null if none has to be, or can. What it
   * holds is not left to other sessions first: they would use it up before the peer tries again.
   */
  Session sessionToEvict(long nowUs) {
    boolean isShort =
        budget.hasUnvalidatedShare() && budget.unvalidatedRoomBytes() < FIRST_DATAGRAM_BYTES;
    return isShort ? oldestHolding(nowUs) : null;
  }

  /**
   * Counts what waits to be written to peers whose addresses may be forged. Nobody asks whether
   * there is room for it. It keeps no session from beginning, but some may be evicted.
   */
  public void countWaiting(int bytes) {
    waitingBytes += bytes;
    isShareUsedUp |= isShareExceeded();
  }

  private boolean isShareExceeded() {
    return !budget.hasUnvalidatedRoomBeside(waitingBytes);
  }

  /** A session has to be evicted. */
  public void makeRoom() {
    isShareUsedUp = true;
  }

  /** Whether {@link #reclaim} has anything to do. */
  public boolean isMemoryShort() {
    return isShareUsedUp;
  }

  /**
   * Evicts sessions as long as their share of the memory is used up. To be called at the end of a
   * batch of input, and once a second. User code may run.
   */
  public void reclaim(long nowUs) {
    if (isShareUsedUp) {
      boolean evicts = evict(nowUs);
      while (evicts && isShareExceeded()) {
        evicts = evict(nowUs);
      }
      isShareUsedUp = isShareExceeded(); // By sessions that are too young.
    }
  }

  /** Returns whether there was one to evict. */
  private boolean evict(long nowUs) {
    Session oldest = oldestHolding(nowUs);
    if (oldest != null) {
      lifecycle.evict(oldest, nowUs);
    }
    return oldest != null;
  }

  /**
   * The oldest session that holds more than the session itself, or the oldest of all if none of the
   * first does; null if all are too young.
   */
  Session oldestHolding(long nowUs) {
    Session oldest = null;
    int searched = 0;
    for (Map.Entry<Session, Entry> next : sessions.entrySet()) {
      Session session = next.getKey();
      if (next.getValue().addedAtUs < nowUs - MIN_AGE_US) {
        if (session.heldBytes() > SESSION_BYTES) {
          return session;
        }
        oldest = oldest == null ? session : oldest;
      }
      if (++searched == MAX_SEARCHED) {
        break;
      }
    }
    return oldest;
  }
}
