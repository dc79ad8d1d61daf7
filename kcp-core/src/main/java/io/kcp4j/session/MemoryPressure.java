package io.kcp4j.session;

import io.kcp4j.EndReason;
import io.kcp4j.KcpCounter;
import io.kcp4j.MemoryAccount;
import io.kcp4j.MemoryBudget;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * What happens when the sessions of a table need more memory than there is, so that they do not
 * wait for each other for ever: protocol.md 8.10.
 *
 * <p>Unvalidated sessions have a share of their own, and the oldest of them ends when it is used
 * up. Of validated sessions, those that were refused memory wait in the order of the refusals. The
 * first one whose network holds no more than its part may use the reserve, which has room for a
 * large message, until its data has been read or it stops growing. A session that could not even
 * grow then has stalled. The stalled session that holds most ends when all that wait have had the
 * reserve and no network holds more than its part; such a network loses the session that holds most
 * there first.
 */
final class MemoryPressure {

  /** What a session itself takes, approximately: its objects, channel and pipeline. */
  static final int SESSION_BYTES = 6 * 1024;

  /**
   * An unvalidated session is younger than this for the round trip that validates it. It is refused
   * memory, so that its peer sends again, and does not end.
   */
  private static final long MIN_AGE_US = 200_000;

  /** A session has the reserve for two probe timeouts, and at least this, without growing. */
  private static final long MIN_TURN_US = 1_000_000;

  private static final int PROBE_TIMEOUTS = 2;

  /** By this part of what it holds a session has to grow. */
  private static final int GROWTH_PART = 16;

  /** A session from whose peer nothing arrives has stalled after this. */
  private static final long SILENCE_US = 5_000_000;

  /** With room for this part of the limit more than was refused, no session has to wait. */
  private static final int FREE_PART = 64;

  /** The search for an unvalidated session that holds memory looks at so many. */
  private static final int MAX_SEARCHED = 64;

  private final SessionTable table;
  private final MemoryBudget budget;
  private final UnvalidatedSessions unvalidated;

  /** Whether an unvalidated session has been refused memory. */
  private boolean isShareUsedUp;

  /** The validated sessions that wait, in the order in which they have asked. */
  private final Map<Session, Wait> waiting = new LinkedHashMap<>();

  /** The one that may use the reserve, or null. */
  private Session holder;

  MemoryPressure(SessionTable table, MemoryBudget budget, UnvalidatedSessions unvalidated) {
    this.table = table;
    this.budget = budget;
    this.unvalidated = unvalidated;
  }

  /** A session that was refused memory. */
  private static final class Wait {

    int refusedBytes;

    /** Whether it had the reserve and did not grow. */
    boolean isStalled;

    // When it has got the reserve, or has grown last:

    long grownAtUs;
    long grownBytes;
    long deliveredBytes;

    // What its peer has sent:

    long datagrams;
    long datagramAtUs;

    void begin(Session session, long nowUs) {
      grown(session, nowUs);
      deliveredBytes = delivered(session);
      datagrams = datagrams(session);
      datagramAtUs = nowUs;
    }

    void grown(Session session, long nowUs) {
      grownAtUs = nowUs;
      grownBytes = taken(session);
    }

    private static long delivered(Session session) {
      return session.kcp().counters().get(KcpCounter.PAYLOAD_BYTES_IN);
    }

    private static long taken(Session session) {
      return session.kcp().memory().receiveBytes() + delivered(session);
    }

    private static long datagrams(Session session) {
      return session.kcp().counters().get(KcpCounter.DATAGRAMS_IN);
    }
  }

  // Unvalidated sessions

  /** Whether there is room for a session that a peer begins, and for its first datagram. */
  boolean hasRoomForSession(int datagramBytes) {
    return !budget.hasUnvalidatedShare()
        || budget.unvalidatedRoomBytes() >= SESSION_BYTES + 2L * datagramBytes;
  }

  /** An unvalidated session has to give way. */
  void makeRoom() {
    isShareUsedUp = true;
  }

  // Sessions

  /** Notes whether a session, which has received something, has been refused memory. */
  void onInput(Session session) {
    MemoryAccount memory = session.kcp().memory();
    int refusedBytes = memory.takeShortage();
    if (refusedBytes == 0 || !budget.hasUnvalidatedShare()) {
      return;
    }
    if (memory.isUnvalidated()) {
      isShareUsedUp = true;
      session.kcp().challengePath();
    } else {
      waiting.computeIfAbsent(session, s -> new Wait()).refusedBytes = refusedBytes;
    }
  }

  /** A session has left the table. */
  void remove(Session session) {
    waiting.remove(session);
    if (session == holder) {
      endTurn();
    }
  }

  /** Whether {@link #update} has anything to do. */
  boolean isActive() {
    return isShareUsedUp || !waiting.isEmpty();
  }

  /** To be called at the end of a batch of input, and once a second. User code may run. */
  void update(long nowUs) {
    if (isShareUsedUp) {
      isShareUsedUp = false;
      evictUnvalidated(nowUs);
    }
    if (waiting.isEmpty()) {
      return;
    }
    if (isMemoryFree()) {
      if (holder != null) {
        endTurn();
      }
      endWaits();
      return;
    }
    if (holder != null) {
      updateTurn(waiting.get(holder), nowUs);
    }
    waiting.keySet().removeIf(session -> session != holder && isReaderAwaited(session));
    if (holder == null && !waiting.isEmpty() && budget.limit().acquireReserve(budget)) {
      beginTurn(nowUs);
    }
    if (!waiting.isEmpty()) {
      budget.waitFor(first().kcp().memory().network());
    } else {
      endWaits();
    }
  }

  private boolean isMemoryFree() {
    int refusedBytes = waiting.values().iterator().next().refusedBytes;
    return budget.hasRoomToReceive(refusedBytes + budget.limitBytes() / FREE_PART);
  }

  private void evictUnvalidated(long nowUs) {
    long beforeUs = nowUs - MIN_AGE_US;
    Session oldest = unvalidated.oldestHolding(SESSION_BYTES, MAX_SEARCHED, beforeUs);
    if (oldest != null) {
      table.evict(oldest, nowUs);
    }
  }

  /** There is memory for all: they are told that their windows are open. */
  private void endWaits() {
    List<Session> told = List.copyOf(waiting.keySet());
    waiting.clear();
    budget.endWait();
    told.forEach(this::advertise);
  }

  private void advertise(Session session) {
    session.kcp().memoryBecameFree();
    table.scheduleFlush(session);
  }

  private Session first() {
    return waiting.keySet().iterator().next();
  }

  // The reserve

  private void beginTurn(long nowUs) {
    holder =
        waiting.keySet().stream()
            .filter(session -> !budget.isOverPart(session.kcp().memory().network(), 0))
            .findFirst()
            .orElse(first());
    waiting.get(holder).begin(holder, nowUs);
    holder.kcp().memory().reserve(true);
    advertise(holder);
  }

  private void endTurn() {
    holder.kcp().memory().reserve(false);
    holder = null;
    budget.limit().releaseReserve(budget);
  }

  private void updateTurn(Wait turn, long nowUs) {
    Session session = holder;
    if (Wait.datagrams(session) != turn.datagrams) {
      turn.datagrams = Wait.datagrams(session);
      turn.datagramAtUs = nowUs;
    }
    boolean hasDelivered = Wait.delivered(session) != turn.deliveredBytes;
    if (isReaderAwaited(session) || (hasDelivered && budget.isReserveFree())) {
      endTurn();
      waiting.remove(session);
      return;
    }
    long leastBytes = Math.max(1, session.kcp().memory().receiveBytes() / GROWTH_PART);
    if (Wait.taken(session) - turn.grownBytes >= leastBytes) {
      turn.isStalled = false;
      turn.grown(session, nowUs);
    }
    long patienceUs = Math.max(MIN_TURN_US, (long) PROBE_TIMEOUTS * session.kcp().probeTimeoutUs());
    if (nowUs - turn.grownAtUs >= patienceUs) {
      passOn(session, turn, nowUs);
    }
  }

  /** Whether it is the application that has to go on, by reading. */
  private static boolean isReaderAwaited(Session session) {
    return session.kcp().hasUnread();
  }

  private void passOn(Session session, Wait turn, long nowUs) {
    boolean hasArrived = turn.datagramAtUs > turn.grownAtUs;
    if (!hasArrived && nowUs - turn.datagramAtUs < SILENCE_US && waiting.size() == 1) {
      return; // Nobody else waits.
    }
    turn.isStalled |= hasArrived || nowUs - turn.datagramAtUs >= SILENCE_US;
    endTurn();
    waiting.remove(session);
    waiting.put(session, turn); // Behind the others.
    if (waiting.values().stream().allMatch(wait -> wait.isStalled)) {
      endOne(nowUs);
    }
  }

  /** All that wait have had the reserve in vain: others hold the memory, or they do themselves. */
  private void endOne(long nowUs) {
    int network = budget.networkOverPart(first().kcp().memory().network());
    Session ended =
        network >= 0
            ? table.sessions(session -> session.kcp().memory().network() == network).stream()
                .max(byHeldBytes())
                .orElse(null)
            : new ArrayList<>(waiting.keySet()).stream().max(byHeldBytes()).orElse(null);
    if (ended != null) {
      table.end(ended, EndReason.MEMORY_SHORTAGE, nowUs);
    }
    waiting.values().forEach(wait -> wait.isStalled = false);
  }

  private static Comparator<Session> byHeldBytes() {
    return Comparator.comparingInt(session -> session.kcp().memory().heldBytes());
  }
}
