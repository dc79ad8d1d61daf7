package io.kcp4j.session;

import io.kcp4j.EndReason;
import io.kcp4j.MemoryAccount;
import io.kcp4j.MemoryBudget;
import io.kcp4j.MemoryReserve;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * What happens when the sessions of a table need more memory than there is, so that they do not
 * wait for each other for ever: protocol.md 8.12.
 *
 * <p>Unvalidated sessions have a share of their own, and the oldest of them ends when it is used
 * up. Of validated sessions, those that were refused memory wait. One of a network that holds
 * little, and has waited longest, may use the reserve, which has room for a large message, until
 * its data has been read or it stops growing. A session that has grown by the reserve and then
 * stopped, or that has had it for too long, has stalled; one that has not grown has no use for the
 * reserve, or waits for readers. Of those that have stalled, the one that has received most ends if
 * the reserve is in use, or if all that wait have stalled. Nobody ends while no other session
 * waits. A network that holds more than its part while sessions of others wait loses those of its
 * sessions that make no progress. While sessions wait to send, those end whose peers take almost
 * nothing.
 */
final class MemoryPressure {

  /** What a session itself takes, approximately: its objects, channel and pipeline. */
  static final int SESSION_BYTES = 6 * 1024;

  /** Room for the segments of the largest first datagram, whatever their capacity. */
  private static final int FIRST_DATAGRAM_BYTES = 2 * 1_500;

  /**
   * An unvalidated session is younger than this for the round trip that validates it. It is refused
   * memory, so that its peer sends again, and does not end.
   */
  private static final long MIN_AGE_US = 200_000;

  // A session has the reserve for two probe timeouts without growing, and at least or at most this:
  // its peer decides how long a round trip seems to take.

  private static final long MIN_PATIENCE_US = 1_000_000;
  private static final long MAX_PATIENCE_US = 3_000_000;

  private static final int PROBE_TIMEOUTS = 2;

  /** By this part of what it holds a session has to grow. */
  private static final int GROWTH_PART = 16;

  /** A session from whose peer nothing arrives has stalled after this. */
  private static final long UNRESPONSIVE_US = 5_000_000;

  /** With room for this part of the limit more than was refused, no session has to wait. */
  private static final int FREE_PART = 64;

  /** The search for an unvalidated session that holds memory looks at so many. */
  private static final int MAX_SEARCHED = 64;

  private final SessionTable table;
  private final MemoryBudget budget;
  private final UnvalidatedSessions unvalidated;
  private final MemoryReserve reserve;

  /** What waits to be written to unvalidated sessions, in bytes. */
  private long waitingBytes;

  /** Whether an unvalidated session has been refused memory. */
  private boolean isShareUsedUp;

  /** The validated sessions that wait, in the order in which they have asked. */
  private final Map<Session, MemoryWait> waiting = new LinkedHashMap<>();

  /** The one that may use the reserve, or null. */
  private Session holder;

  /** When all that wait were looked at. */
  private long updatedAtUs;

  /** Whether one of those that had the reserve and have stalled has to end. */
  private boolean isEndDue;

  private final NetworkReclaim reclaim;
  private final SendReclaim sendReclaim;

  MemoryPressure(SessionTable table, MemoryBudget budget, UnvalidatedSessions unvalidated) {
    this.table = table;
    this.budget = budget;
    this.unvalidated = unvalidated;
    reserve = budget.limit().reserve();
    reclaim = new NetworkReclaim(table, budget.limit().networkParts());
    sendReclaim = new SendReclaim(table, budget);
  }

  // Unvalidated sessions

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

  // Sessions

  /**
   * Notes whether a session, which has received something, has been refused memory. If the turn of
   * another one is over, the next begins at once, so that this one can take in the rest of its
   * burst: its peer may have backed off, and send the next burst when its turn would be over.
   */
  void onInput(Session session, long nowUs) {
    MemoryAccount memory = session.kcp().memory();
    if (memory.isUnvalidated() && session.path().isValidated()) {
      table.moveToCommon(session, nowUs);
    }
    if (!session.path().isValidated() && budget.isUnvalidatedShareScarce()) {
      session.kcp().challengePath(); // It might have to give way before it is asked otherwise.
    }
    boolean isSending = memory.isShortToSend();
    int refusedBytes = memory.takeShortage();
    if (refusedBytes == 0 || !budget.hasUnvalidatedShare()) {
      return;
    }
    if (!session.path().isValidated()) {
      isShareUsedUp = true;
      session.kcp().challengePath();
    } else {
      MemoryWait wait = waiting.computeIfAbsent(session, s -> new MemoryWait());
      wait.refusedBytes = refusedBytes;
      wait.isSending = isSending;
      wait.isActive = !isSending;
      if (wait.isActive && session != holder && !isOverPart(session)) {
        passTurn(nowUs);
      }
    }
  }

  /** A session has left the table. */
  void remove(Session session) {
    boolean wasWaiting = waiting.remove(session) != null;
    if (session == holder) {
      endTurn();
    }
    if (wasWaiting && waiting.isEmpty()) {
      endWaits();
    }
  }

  /** Whether {@link #update} has anything to do. */
  boolean isActive() {
    return isShareUsedUp || !waiting.isEmpty() || reclaim.isActive() || sendReclaim.isActive();
  }

  /** To be called at the end of a batch of input, and once a second. User code may run. */
  void update(long nowUs) {
    if (isShareUsedUp) {
      boolean evicts = evictUnvalidated(nowUs);
      while (evicts && isShareExceeded()) {
        evicts = evictUnvalidated(nowUs);
      }
      isShareUsedUp = isShareExceeded(); // By sessions that are too young.
    }
    if (waiting.isEmpty()) {
      isEndDue = false;
    } else if (nowUs - updatedAtUs >= waiting.size()) {
      // Each datagram may end a batch, and many sessions may wait.
      updatedAtUs = nowUs;
      updateWaits(nowUs);
    }
    reclaim.update(nowUs);
    sendReclaim.update(nowUs);
  }

  private void updateWaits(long nowUs) {
    if (isMemoryFree()) {
      if (holder != null) {
        endTurn();
      }
      endWaits();
      return;
    }
    if (waiting.values().stream().anyMatch(wait -> wait.isSending)) {
      budget.limit().networkParts().awaitSending(nowUs);
    }
    if (holder != null) {
      updateTurn(waiting.get(holder), nowUs);
    }
    if (isEndDue) {
      isEndDue = false;
      endOne(nowUs);
    }
    waiting.keySet().removeIf(session -> session != holder && isReaderAwaited(session));
    passTurn(nowUs);
    if (waiting.isEmpty()) {
      endWaits();
    } else if (!waiting.keySet().stream().allMatch(this::isOverPart)) {
      budget.limit().networkParts().limitOthers(nowUs);
    }
  }

  private boolean isMemoryFree() {
    MemoryWait first = waiting.values().iterator().next();
    long bytes = first.refusedBytes + budget.limitBytes() / FREE_PART;
    return first.isSending ? budget.hasRoomToSend(bytes) : budget.hasRoomToReceive(bytes);
  }

  /** Returns whether there was one to evict. */
  private boolean evictUnvalidated(long nowUs) {
    Session oldest = evictable(nowUs);
    if (oldest != null) {
      table.evict(oldest, nowUs);
    }
    return oldest != null;
  }

  private Session evictable(long nowUs) {
    return unvalidated.oldestHolding(SESSION_BYTES, MAX_SEARCHED, nowUs - MIN_AGE_US);
  }

  /** There is memory for all: they are told that their windows are open. */
  private void endWaits() {
    isEndDue = false;
    List<Session> told = List.copyOf(waiting.keySet());
    waiting.clear();
    reserve.endWait(this);
    budget.endWait();
    told.forEach(this::advertise);
  }

  private void advertise(Session session) {
    session.kcp().memoryBecameFree();
    table.scheduleFlush(session);
  }

  private boolean isOverPart(Session session) {
    return budget.limit().networkParts().isOver(session.kcp().memory().network());
  }

  // The reserve

  /** Ends the turn of the holder if that is over, and begins the next one. */
  private void passTurn(long nowUs) {
    if (holder != null) {
      updateTurn(waiting.get(holder), nowUs);
    }
    if (holder != null || waiting.isEmpty() || reserve.isRefused(this, nowUs)) {
      return;
    }
    Session next = firstActive();
    if (next == null) {
      reserve.release(this);
    } else if (reserve.acquire(this, next.kcp().memory().network(), nowUs)) {
      holder = next;
      waiting.get(next).begin(next, nowUs);
      next.kcp().memory().reserve(true);
      table.moveToCommon(next, nowUs);
      advertise(next);
    }
  }

  /**
   * Of sessions that are refused memory now and whose readers go on, the one whose network is next;
   * of those the first. Null if there is none.
   */
  private Session firstActive() {
    return waiting.entrySet().stream()
        .filter(next -> next.getValue().isActive && !isReaderAwaited(next.getKey()))
        .map(Map.Entry::getKey)
        .min(Comparator.comparing(this::nextTurnUs))
        .orElse(null);
  }

  private long nextTurnUs(Session session) {
    return reserve.nextTurnUs(session.kcp().memory().network());
  }

  private void endTurn() {
    holder.kcp().memory().reserve(false);
    holder = null;
    reserve.release(this);
  }

  private void updateTurn(MemoryWait turn, long nowUs) {
    Session session = holder;
    if (MemoryWait.datagrams(session) != turn.datagrams) {
      turn.datagrams = MemoryWait.datagrams(session);
      turn.datagramAtUs = nowUs;
    }
    boolean hasDelivered = MemoryWait.delivered(session) != turn.deliveredBytes;
    boolean holdsNoMore = session.kcp().memory().undeliveredBytes() <= turn.undeliveredBytes;
    boolean isDone = hasDelivered && (holdsNoMore || budget.isReserveFree());
    if (isReaderAwaited(session) || isDone) {
      endTurn();
      waiting.remove(session);
      return;
    }
    long leastBytes = Math.max(1, session.kcp().memory().receiveBytes() / GROWTH_PART);
    if (turn.growth(session) >= leastBytes) {
      turn.isStalled = false;
      turn.grown(session, nowUs);
    }
    long timeoutsUs = (long) PROBE_TIMEOUTS * session.kcp().probeTimeoutUs();
    long patienceUs = Math.max(MIN_PATIENCE_US, Math.min(MAX_PATIENCE_US, timeoutsUs));
    if (nowUs - turn.grownAtUs >= patienceUs || turn.isTooLong(nowUs)) {
      passOn(session, turn, patienceUs, nowUs);
    }
  }

  /** Whether it is the application that has to go on, by reading. */
  static boolean isReaderAwaited(Session session) {
    return session.kcp().hasUnread();
  }

  /** The session has not grown enough: another one that waits to receive may use the reserve. */
  private void passOn(Session session, MemoryWait turn, long patienceUs, long nowUs) {
    if (session.kcp().memory().undeliveredBytes() == 0) { // It needs nothing any more.
      endTurn();
      waiting.remove(session);
      return;
    }
    boolean isAwaitedElsewhere = reserve.isAwaited(this, nowUs);
    if (!isAwaitedElsewhere && !isAnotherReceiving(turn)) {
      if (turn.growth(session) > 0) {
        turn.grown(session, nowUs); // Its link is slow, or it loses much.
      }
      return;
    }
    if (session.kcp().memory().undeliveredBytes() <= turn.undeliveredBytes) {
      endTurn(); // It has no use for the reserve, or readers have to make it free.
      waiting.remove(session);
      return;
    }
    long silentUs = nowUs - turn.datagramAtUs;
    boolean isAwaited =
        !turn.isTooLong(nowUs)
            && silentUs >= patienceUs / 2 // Its peer pauses, and does not send duplicates.
            && silentUs < UNRESPONSIVE_US;
    if (isAwaited && budget.roomBytesWithReserve() < budget.limit().reserveBytes() / 2) {
      return; // There would be little left for another one, which might count as stalled.
    }
    turn.isActive = false;
    turn.isStalled |= !isAwaited;
    if (!turn.isStalled && !isAwaitedElsewhere && firstActive() == null) {
      return;
    }
    endTurn();
    waiting.remove(session);
    waiting.put(session, turn); // Behind the others.
    boolean haveAllStalled =
        !isAwaitedElsewhere && waiting.values().stream().allMatch(wait -> wait.isStalled);
    isEndDue |= turn.isStalled && (haveAllStalled || !budget.isReserveFree());
  }

  private boolean isAnotherReceiving(MemoryWait turn) {
    return waiting.values().stream().anyMatch(wait -> wait != turn && !wait.isSending);
  }

  /** Of the sessions that have stalled, the one that has received most ends. */
  private void endOne(long nowUs) {
    waiting.keySet().stream()
        .filter(session -> waiting.get(session).isStalled)
        .max(Comparator.comparingInt(session -> session.kcp().memory().receiveBytes()))
        .ifPresent(session -> table.end(session, EndReason.MEMORY_SHORTAGE, nowUs));
  }
}
