package io.kcp4j.internal.session;

import io.kcp4j.EndReason;
import io.kcp4j.internal.admission.UnvalidatedSessions;
import io.kcp4j.internal.memory.MemoryAccount;
import io.kcp4j.internal.memory.MemoryBudget;
import io.kcp4j.internal.memory.MemoryReserve;
import io.kcp4j.internal.memory.NetworkParts;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * What happens when the sessions of a table need more memory than there is, so that they do not
 * wait for each other for ever: protocol.md 8.12.
 *
 * <p>Validated sessions that were refused memory wait. One of a network that holds little, and has
 * waited longest, may use the reserve, which has room for a large message, until its data has been
 * read or it stops growing. A session has stalled if it has grown by the reserve and then stopped,
 * if it has had the reserve for too long, or if the reserve had no room for it. Any other session
 * that has not grown has no use for the reserve, or waits for readers. Of those that have stalled,
 * the one that has received most ends if the reserve is in use, or if all that wait have stalled.
 * Nobody ends while no other session waits.
 */
final class MemoryPressure {

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

  private final SessionLifecycle lifecycle;
  private final MemoryBudget budget;
  private final UnvalidatedSessions unvalidated;
  private final MemoryReclaim reclaim;
  private final MemoryReserve reserve;

  /** The validated sessions that wait, in the order in which they have asked. */
  private final Map<Session, MemoryWait> waiting = new LinkedHashMap<>();

  /** Those that wait no longer, and whose peers may not know that there is memory for more. */
  private final Set<Session> late = new LinkedHashSet<>();

  /** The one that may use the reserve, or null. */
  private Session holder;

  /** When all that wait were looked at. */
  private long updatedAtUs;

  /** Whether one of those that had the reserve and have stalled has to end. */
  private boolean isEndDue;

  MemoryPressure(
      SessionLifecycle lifecycle,
      MemoryBudget budget,
      UnvalidatedSessions unvalidated,
      MemoryReclaim reclaim) {
    this.lifecycle = lifecycle;
    this.budget = budget;
    this.unvalidated = unvalidated;
    this.reclaim = reclaim;
    reserve = budget.limit().reserve();
  }

  /**
   * Notes whether a session, which has received something, has been refused memory. If the turn of
   * another one is over, the next begins at once, so that this one can take in the rest of its
   * burst: its peer may have backed off, and send the next burst when its turn would be over.
   */
  void onInput(Session session, long nowUs) {
    MemoryAccount memory = session.kcp().memory();
    if (memory.isUnvalidated() && session.path().isValidated()) {
      lifecycle.moveToCommon(session, nowUs);
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
      unvalidated.makeRoom();
      session.kcp().challengePath();
    } else {
      MemoryWait wait = waiting.computeIfAbsent(session, s -> new MemoryWait());
      wait.refused(session, refusedBytes, isSending);
      if (wait.isActive && session != holder && !isOverPart(session)) {
        passTurn(nowUs);
      }
    }
  }

  /** A session has left the table. */
  void remove(Session session) {
    late.remove(session);
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
    return !waiting.isEmpty();
  }

  /** To be called at the end of a batch of input, and once a second. User code may run. */
  void update(long nowUs) {
    if (waiting.isEmpty()) {
      isEndDue = false;
    } else if (nowUs - updatedAtUs >= waiting.size()) {
      // Each datagram may end a batch, and many sessions may wait.
      updatedAtUs = nowUs;
      updateWaits(nowUs);
    }
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
    reclaim.await(waiting.keySet(), nowUs);
    if (holder != null) {
      updateTurn(waiting.get(holder), nowUs);
    }
    if (isEndDue) {
      isEndDue = false;
      endOne(nowUs);
    }
    waiting.entrySet().removeIf(wait -> wait.getKey() != holder && isWaitOver(wait));
    passTurn(nowUs);
    if (waiting.isEmpty()) {
      endWaits();
    } else {
      limitOthers(nowUs);
    }
  }

  private void limitOthers(long nowUs) {
    waiting.keySet().stream()
        .filter(session -> !isOverPart(session))
        .map(session -> session.kcp().memory().network())
        .reduce((one, other) -> one.equals(other) ? one : NetworkParts.SEVERAL)
        .ifPresent(network -> budget.limit().networkParts().limitOthers(network, nowUs));
  }

  private boolean isWaitOver(Map.Entry<Session, MemoryWait> wait) {
    boolean isOver = wait.getValue().isOver(wait.getKey());
    if (isOver) {
      late.add(wait.getKey());
    }
    return isOver || isReaderAwaited(wait.getKey());
  }

  private boolean isMemoryFree() {
    MemoryWait first = waiting.values().iterator().next();
    long bytes = first.refusedBytes + budget.limitBytes() / FREE_PART;
    return first.isSending ? budget.hasRoomToSend(bytes) : budget.hasRoomToReceive(bytes);
  }

  /** There is memory for all: they are told that their windows are open. */
  private void endWaits() {
    isEndDue = false;
    late.addAll(waiting.keySet());
    waiting.clear();
    List<Session> told = List.copyOf(late);
    late.clear();
    reserve.endWait(this);
    budget.endWait();
    told.forEach(this::advertise);
  }

  private void advertise(Session session) {
    session.kcp().memoryBecameFree();
    lifecycle.scheduleFlush(session);
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
    next = next == null ? firstIncomplete() : next;
    if (next == null) {
      reserve.release(this);
    } else if (reserve.acquire(this, next.kcp().memory().network(), nowUs)) {
      holder = next;
      waiting.get(next).begin(next, nowUs);
      next.kcp().memory().reserve(true);
      lifecycle.moveToCommon(next, nowUs);
      advertise(next);
    }
  }

  /**
   * Of sessions that are refused memory now and whose readers go on, the one whose network is next;
   * of those the first. Null if there is none. Those that hold nothing come last while even the
   * reserve has no room for them: the others may make some free, or show that they have stalled.
   */
  private Session firstActive() {
    long roomBytes = budget.roomBytesWithReserve();
    return waiting.entrySet().stream()
        .filter(next -> next.getValue().isActive && !isReaderAwaited(next.getKey()))
        .map(Map.Entry::getKey)
        .min(
            Comparator.comparing((Session next) -> canOnlyWait(next, roomBytes))
                .thenComparing(this::nextTurnUs))
        .orElse(null);
  }

  private boolean canOnlyWait(Session session, long roomBytes) {
    return session.kcp().memory().undeliveredBytes() == 0
        && waiting.get(session).refusedBytes > roomBytes;
  }

  /**
   * The first session that had the reserve and lacks something: all of its data may have arrived
   * and been acknowledged, with no memory to put it in order. Nothing more arrives then.
   */
  private Session firstIncomplete() {
    return waiting.keySet().stream()
        .filter(next -> !waiting.get(next).isSending && !isReaderAwaited(next))
        .filter(next -> next.kcp().memory().undeliveredBytes() > 0)
        .findFirst()
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
    } else if (turn.isToBeTold(nowUs)) {
      turn.toldAtUs = nowUs;
      advertise(session);
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
    if (session.kcp().memory().undeliveredBytes() == 0) { // It needs nothing, or its peer is late.
      endWait(session);
      return;
    }
    boolean isAwaitedElsewhere = reserve.isAwaited(this, nowUs);
    if (!isAwaitedElsewhere && !isAnotherReceiving(turn)) {
      if (turn.growth(session) > 0) {
        turn.grown(session, nowUs); // Its link is slow, or it loses much.
      }
      return;
    }
    boolean hasGrown = session.kcp().memory().undeliveredBytes() > turn.undeliveredBytes;
    if (!hasGrown && (!turn.isRefused || doReadersHoldReserve())) {
      endWait(session); // It has no use for the reserve, or readers have to go on.
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

  /** The holder waits no longer, until it is refused memory again. */
  private void endWait(Session session) {
    endTurn();
    waiting.remove(session);
    late.add(session);
  }

  /** Whether sessions whose readers have to go on hold what is missing of the reserve. */
  private boolean doReadersHoldReserve() {
    long unreadBytes =
        lifecycle.sessions(MemoryPressure::isReaderAwaited).stream()
            .mapToLong(session -> session.kcp().memory().receiveBytes())
            .sum();
    long roomBytes = Math.max(0, budget.roomBytesWithReserve());
    return unreadBytes + roomBytes >= budget.limit().reserveBytes();
  }

  private boolean isAnotherReceiving(MemoryWait turn) {
    return waiting.values().stream().anyMatch(wait -> wait != turn && !wait.isSending);
  }

  /** Of the sessions that have stalled, the one that has received most ends. */
  private void endOne(long nowUs) {
    waiting.keySet().stream()
        .filter(session -> waiting.get(session).isStalled)
        .max(Comparator.comparingInt(session -> session.kcp().memory().receiveBytes()))
        .ifPresent(session -> lifecycle.end(session, EndReason.MEMORY_SHORTAGE, nowUs));
  }
}
