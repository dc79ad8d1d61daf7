package io.kcp4j.internal.session;

import io.kcp4j.EndReason;
import io.kcp4j.KcpCounter;
import io.kcp4j.KcpCounters;
import io.kcp4j.internal.admission.DuplicateSessions;
import io.kcp4j.internal.admission.FirstPacket;
import io.kcp4j.internal.admission.UnvalidatedSessions;
import io.kcp4j.internal.arq.KcpContext;
import io.kcp4j.internal.crypto.PacketCipher;
import io.kcp4j.internal.path.SessionKey;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.LongConsumer;
import java.util.function.Predicate;

/**
 * How the sessions of a table begin, are validated, close and end. What knows a session because it
 * is in the table is told here that it leaves.
 *
 * <p>Sessions that their owners close stay for a time. At first a session may linger: its owner
 * waits until the peer has acknowledged everything. Then it has no owner any more, and stays until
 * the peer has answered how it ends, or for three probe timeouts. One that the peer has closed
 * stays for these.
 */
public final class SessionLifecycle {

  private static final int PROBE_TIMEOUTS = 3;

  /** A path with a long probe timeout does not hold a session for minutes. */
  private static final long MAX_CLOSING_US = 10_000_000;

  /**
   * The time without an answer is divided into this many parts. A peer that shows no sign of life
   * in a part is probed at its end. A stop of this process counts as one part.
   */
  private static final int LINGER_PARTS = 4;

  /**
   * A session that must end because of what a datagram contains.
   *
   * @param isReplaced whether the datagram begins the session that replaces it
   */
  private record PendingEnd(Session session, EndReason reason, boolean isReplaced) {}

  private final SessionTable.Handler handler;
  private final KcpContext context;
  private final KcpCounters counters;
  private final SessionDirectory directory;
  private final SessionIndex index;
  private final TimerWheel deadlines;
  public final UnvalidatedSessions unvalidated;
  private final MemoryReclaim reclaim;
  private final MemoryPressure pressure;
  private final KeepAlive.Schedule keepAlives;
  public final DuplicateSessions duplicates;
  private final SessionDriver driver;
  private final FlushQueue queue;

  /** How many validated sessions a remote address may have; 0 for any number. */
  private int convsPerAddress;

  private final List<PendingEnd> pendingEnds = new ArrayList<>(0);

  /** The timers of sessions that linger, or that have no owner any more. */
  private final Map<Session, TimerWheel.Timer> closing = new LinkedHashMap<>();

  private boolean isTableClosed;

  SessionLifecycle(
      SessionTable.Handler handler,
      KcpContext context,
      SessionDirectory directory,
      SessionIndex index,
      TimerWheel deadlines,
      PacketCipher cipher,
      FecLayer unprotected,
      int maxDatagramBytes,
      long nowUs) {
    this.handler = handler;
    this.context = context;
    this.counters = context.total();
    this.directory = directory;
    this.index = index;
    this.deadlines = deadlines;
    unvalidated = new UnvalidatedSessions(this, context.budget());
    reclaim = new MemoryReclaim(this, context.budget(), counters);
    pressure = new MemoryPressure(this, context.budget(), unvalidated, reclaim);
    keepAlives = new KeepAlive.Schedule(this, nowUs);
    duplicates = new DuplicateSessions(this, directory, counters);
    driver =
        new SessionDriver(
            handler, this, index, pressure, deadlines, cipher, unprotected, maxDatagramBytes);
    queue = driver.queue();
  }

  public UnvalidatedSessions unvalidated() {
    return unvalidated;
  }

  KeepAlive.Schedule keepAlives() {
    return keepAlives;
  }

  public DuplicateSessions duplicates() {
    return duplicates;
  }

  SessionDriver driver() {
    return driver;
  }

  /** The sessions for which a condition holds. Slow. */
  List<Session> sessions(Predicate<Session> condition) {
    return index.sessions(condition);
  }

  public boolean contains(Session session) {
    return queue.contains(session);
  }

  public void scheduleFlush(Session session) {
    queue.onWrite(session);
  }

  /**
   * Runs a task on the thread of this table: at once if that is the caller.
   *
   * @param task is given the time, in microseconds
   */
  public void run(SessionLifecycle caller, LongConsumer task, long nowUs) {
    if (caller == this) {
      task.accept(nowUs);
    } else {
      handler.execute(() -> task.accept(handler.readNowUs(nowUs)));
    }
  }

  // Begin and validation

  public void insert(Session session, long nowUs) {
    index.add(session);
    queue.add(session);
    session.keepAlive().start(keepAlives, nowUs);
    counters.add(KcpCounter.SESSIONS_OPENED, 1);
  }

  /** See {@link SessionTable#convsPerAddress}. */
  void convsPerAddress(int convs) {
    convsPerAddress = convs;
    if (convs > 0) {
      index.trackAddresses();
    }
  }

  /** The path of a session has been validated. */
  public void validated(Session session, long nowUs) {
    session.validatePath();
    if (!session.isClosing()) {
      directory.validated();
    }
    moveToCommon(session, nowUs);
    index.validated(session);
    Session oldest =
        convsPerAddress == 0 ? null : index.oldestBeyond(session.remote(), convsPerAddress);
    if (oldest != null) {
      endLater(oldest, EndReason.SUPERSEDED);
    }
  }

  /**
   * Counts what a session with a validated path holds in the common part of the memory. As long as
   * that has no room, the session stays with those that are not validated, and may be evicted.
   */
  void moveToCommon(Session session, long nowUs) {
    if (session.kcp().memory().validated()) {
      unvalidated.validated(session, nowUs);
    }
  }

  /**
   * Moves a session whose path was never validated to an address at which its peer has shown that
   * it receives.
   *
   * @return false if no session may begin there now, or if there is another one of that address and
   *     conversation id
   */
  public boolean move(Session session, InetSocketAddress remote, long nowUs) {
    if (!handler.isAccepting(remote, session.conv())
        || !index.addKey(session, new SessionKey(remote, session.conv()))) {
      return false;
    }
    session.moveTo(remote);
    validated(session, nowUs);
    counters.add(KcpCounter.SESSIONS_MOVED, 1);
    session.owner().moved(session);
    scheduleFlush(session);
    return true;
  }

  // Close

  /** See {@link SessionTable#linger}; {@code endsAtUs} is when the session ends in any case. */
  void linger(Session session, long timeoutUs, long endsAtUs, long nowUs) {
    if (contains(session)) {
      Linger linger = new Linger(session, timeoutUs, endsAtUs);
      closing.put(session, linger);
      linger.beginPart(nowUs);
      reclaim.addLingering(session, nowUs);
    }
  }

  private final class Linger extends TimerWheel.Timer {

    private final Session session;
    private final long partUs;
    private final long endsAtUs;
    private long partBeganAtUs;
    private int unresponsiveParts;

    Linger(Session session, long timeoutUs, long endsAtUs) {
      this.session = session;
      this.partUs = Math.max(1, timeoutUs / LINGER_PARTS);
      this.endsAtUs = endsAtUs;
    }

    void beginPart(long nowUs) {
      partBeganAtUs = nowUs;
      deadlines.arm(this, Math.min(nowUs + partUs, endsAtUs));
    }

    @Override
    protected void expire(long nowUs) {
      boolean isUnresponsive = session.keepAlive().lastReceivedAtUs() < partBeganAtUs;
      unresponsiveParts = isUnresponsive ? unresponsiveParts + 1 : 0;
      if (unresponsiveParts == LINGER_PARTS || nowUs >= endsAtUs) {
        end(session, EndReason.CLOSE_TIMEOUT, nowUs);
        return;
      }
      if (isUnresponsive) {
        session.keepAlive().probeNow();
      }
      beginPart(nowUs);
    }
  }

  /**
   * Closes a session whose owner reads and writes no more.
   *
   * @param type of what the peer is told
   * @param code that of an abort, or the final sequence number
   * @return whether the session stays in the table, without its owner
   */
  boolean close(Session session, int type, int code, long nowUs) {
    boolean stays = contains(session) && session.beginClosing(type, code, nowUs);
    if (stays) {
      if (session.path().isValidated()) {
        directory.validatedLeaves();
      }
      session.keepAlive().stop();
      stopClosing(session);
      Closing timer = new Closing(session);
      closing.put(session, timer);
      long leftUs = (long) PROBE_TIMEOUTS * session.kcp().probeTimeoutUs();
      deadlines.arm(timer, nowUs + Math.min(leftUs, MAX_CLOSING_US));
      scheduleFlush(session);
    } else {
      remove(session, nowUs);
      session.close();
    }
    return stays;
  }

  private final class Closing extends TimerWheel.Timer {

    private final Session session;

    Closing(Session session) {
      this.session = session;
    }

    @Override
    protected void expire(long nowUs) {
      endClosing(session, nowUs);
    }
  }

  /** The peer of a session without an owner has answered, or there is no more time for that. */
  void endClosing(Session session, long nowUs) {
    remove(session, nowUs);
    session.close();
    handler.closed(session);
  }

  private void stopClosing(Session session) {
    TimerWheel.Timer timer = closing.remove(session);
    if (timer != null) {
      deadlines.cancel(timer);
      reclaim.removeLingering(session);
    }
  }

  /** The table closes: sessions without an owner end, and are not remembered. */
  void closeTable() {
    isTableClosed = true;
    for (Session session : List.copyOf(closing.keySet())) {
      if (session.isClosing()) {
        endClosing(session, 0);
      } else {
        stopClosing(session);
      }
    }
  }

  // End

  public void end(Session session, EndReason reason, long nowUs) {
    if (reason == EndReason.MEMORY_SHORTAGE) {
      counters.add(KcpCounter.SESSIONS_SHORT_OF_MEMORY, 1);
    }
    if (session.isClosing()) {
      endClosing(session, nowUs);
      return;
    }
    if (!reason.isToldToPeer()) {
      remove(session, nowUs);
    }
    boolean isUnanswered = reason.isTimeout() && !session.hasPeerAnswered();
    try {
      session.owner().ended(session, isUnanswered ? EndReason.HANDSHAKE_TIMEOUT : reason);
    } finally {
      if (!session.isClosing()) {
        remove(session, nowUs);
      }
    }
  }

  /** Ends a session to make room for another. Its peer may begin it again at once. */
  public void evict(Session session, long nowUs) {
    counters.add(KcpCounter.SESSIONS_EVICTED, 1);
    if (session.isClosing()) {
      endClosing(session, nowUs);
      return;
    }
    index.forget(session);
    leave(session, nowUs);
    session.waitingToBeWritten(0);
    session.owner().ended(session, EndReason.EVICTED);
  }

  /**
   * Ends a session because of what a datagram contains, by {@link #endPending}: only after the
   * whole datagram has been taken in, because user code may run then.
   */
  void endLater(Session session, EndReason reason) {
    pendingEnds.add(new PendingEnd(session, reason, false));
  }

  /** Ends a session by {@link #endPending}, in whose place the present datagram begins another. */
  public void replaceLater(Session session) {
    pendingEnds.add(new PendingEnd(session, EndReason.SUPERSEDED, true));
  }

  /**
   * Ends the sessions that have to end by what was received, and have not ended yet. User code may
   * run.
   *
   * @return whether the datagram begins the session that replaces one of them
   */
  public boolean endPending(long nowUs) {
    boolean isReplaced = false;
    while (!pendingEnds.isEmpty()) {
      PendingEnd end = pendingEnds.remove(pendingEnds.size() - 1);
      isReplaced |= end.isReplaced;
      if (contains(end.session)) {
        driver.answerEnd(end.session, nowUs);
        end(end.session, end.reason, nowUs);
      }
    }
    return isReplaced;
  }

  /** See {@link SessionTable#remove}. */
  void remove(Session session, long nowUs) {
    if (contains(session)) {
      index.remove(session, nowUs);
      leave(session, nowUs);
    }
  }

  private void leave(Session session, long nowUs) {
    unvalidated.remove(session);
    duplicates.remove(session);
    forgetAuthenticated(session, nowUs);
    pressure.remove(session);
    queue.remove(session);
    if (!session.isClosing()) {
      session.keepAlive().stop();
      if (session.path().isValidated()) {
        directory.validatedLeaves();
      }
    }
    stopClosing(session);
    directory.leave();
    counters.add(KcpCounter.SESSIONS_CLOSED, 1);
  }

  /**
   * A session ends that an authenticated packet may have begun. The filter takes the packet over
   * before the session is forgotten, so that a replay finds one of them.
   */
  private void forgetAuthenticated(Session session, long nowUs) {
    FirstPacket first = directory.authenticated().first(session);
    if (first != null) {
      if (!isTableClosed) {
        directory.replayFilter(context.budget()).renew(session.conv(), first.nonce(), nowUs);
      }
      directory.authenticated().remove(session);
    }
  }

  // Memory

  /**
   * Sessions that wait for memory get some, or others end for them. To be called at the end of a
   * batch of input, and once a second. User code may run.
   */
  void relieveMemory(long nowUs) {
    if (unvalidated.isMemoryShort() || pressure.isActive() || reclaim.isActive()) {
      unvalidated.reclaim(nowUs);
      pressure.update(nowUs);
      reclaim.update(nowUs);
      queue.flushPending(nowUs);
    }
  }
}
