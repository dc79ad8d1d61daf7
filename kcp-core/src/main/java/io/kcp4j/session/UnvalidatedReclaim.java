package io.kcp4j.session;

import io.kcp4j.MemoryBudget;

/**
 * Takes memory back from sessions whose paths are not validated, when their share of the limit is
 * used up: the oldest that holds some ends. Protocol.md 8.12.
 */
final class UnvalidatedReclaim {

  /** The memory of a session itself, approximately: its objects, channel and pipeline. */
  static final int SESSION_BYTES = 6 * 1024;

  /** Room for the segments of the largest first datagram, whatever their capacity. */
  private static final int FIRST_DATAGRAM_BYTES = 2 * 1_500;

  /**
   * An unvalidated session is younger than this for the round trip that validates it. It is refused
   * memory, so that its peer sends again, and does not end.
   */
  private static final long MIN_AGE_US = 200_000;

  /** The most sessions that a search for one that holds memory looks at. */
  private static final int MAX_SEARCHED = 64;

  private final SessionTable table;
  private final MemoryBudget budget;
  private final UnvalidatedSessions sessions;

  /** The bytes that wait to be written to unvalidated sessions. */
  private long waitingBytes;

  /** Whether an unvalidated session has been refused memory. */
  private boolean isShareUsedUp;

  UnvalidatedReclaim(SessionTable table, MemoryBudget budget, UnvalidatedSessions sessions) {
    this.table = table;
    this.budget = budget;
    this.sessions = sessions;
  }

  /**
   * Whether there is room for a session that a peer begins, and for its first datagram, or {@link
   * #sessionToEvict} makes room.
   */
  boolean hasRoomForSession(int datagramBytes, long nowUs) {
    if (!budget.hasUnvalidatedShare()) {
      return true;
    }
    long missingBytes = SESSION_BYTES + 2L * datagramBytes - budget.unvalidatedRoomBytes();
    Session evicted = missingBytes > 0 ? evictable(nowUs) : null;
    return missingBytes <= 0
        || (evicted != null && evicted.kcp().memory().heldBytes() >= missingBytes);
  }

  /**
   * The session that gives way to one that begins now; null if none has to, or can. What it holds
   * is not left to other sessions first: they would use it up before the peer tries again.
   */
  Session sessionToEvict(long nowUs) {
    boolean isShort =
        budget.hasUnvalidatedShare() && budget.unvalidatedRoomBytes() < FIRST_DATAGRAM_BYTES;
    return isShort ? evictable(nowUs) : null;
  }

  /**
   * Counts what waits to be written to peers whose addresses may be forged. Nobody asks whether
   * there is room for it. It keeps no session from beginning, but some may have to give way.
   */
  void countWaiting(int bytes) {
    waitingBytes += bytes;
    isShareUsedUp |= isShareExceeded();
  }

  private boolean isShareExceeded() {
    return !budget.hasUnvalidatedRoomBeside(waitingBytes);
  }

  /** An unvalidated session has to give way. */
  void makeRoom() {
    isShareUsedUp = true;
  }

  /** Whether {@link #update} has anything to do. */
  boolean isActive() {
    return isShareUsedUp;
  }

  /** To be called at the end of a batch of input, and once a second. User code may run. */
  void update(long nowUs) {
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
    Session oldest = evictable(nowUs);
    if (oldest != null) {
      table.evict(oldest, nowUs);
    }
    return oldest != null;
  }

  private Session evictable(long nowUs) {
    return sessions.oldestHolding(SESSION_BYTES, MAX_SEARCHED, nowUs - MIN_AGE_US);
  }
}
