package io.kcp4j.session;

import io.kcp4j.EndReason;
import io.kcp4j.Kcp;
import java.util.ArrayList;
import java.util.List;

/**
 * The sessions of a table that have received something since the batch began, and those that have
 * to be flushed: drives each once, whatever it waits for, as long as the output takes datagrams.
 * Keeps the sessions' deadlines on the timer wheel.
 *
 * <p>At the end of a batch of input every session that has received something delivers before any
 * session is flushed, so that answers leave together with acknowledgements.
 */
final class FlushQueue {

  /** What the queue knows of a session, and the timer of the session's deadline. */
  abstract static class Entry extends TimerWheel.Timer {

    /** The queue of the table that the session is in, or null. */
    private FlushQueue queue;

    private boolean isDeliveryPending;
    private boolean isFlushPending;

    // What the next flush is for.
    private boolean hasInput;
    private boolean hasWritten;
    private boolean isDue;

    @Override
    protected final void expire(long nowUs) {
      queue.onDeadline((Session) this);
    }
  }

  /** How often owners may write more in one turn, in all, when what they wrote has left. */
  private static final int MAX_REFILLS = 64;

  private final SessionTable table;
  private final SessionTable.Handler handler;
  private final TimerWheel deadlines;
  private final PacketOutput output;

  private final List<Session> pendingDeliveries = new ArrayList<>();

  /**
   * In the order in which the flushes were scheduled. There may be many while the output is
   * blocked, so nothing but a flush iterates over them.
   */
  private final List<Session> pendingFlushes = new ArrayList<>();

  /** Whether the queue will be flushed without a request. */
  private boolean inBatch;

  private boolean isFlushRequested;
  private boolean isOutputPending;

  FlushQueue(
      SessionTable table, SessionTable.Handler handler, TimerWheel deadlines, PacketOutput output) {
    this.table = table;
    this.handler = handler;
    this.deadlines = deadlines;
    this.output = output;
  }

  void add(Entry session) {
    session.queue = this;
  }

  void remove(Entry session) {
    deadlines.cancel(session);
    session.queue = null;
  }

  boolean contains(Entry session) {
    return session.queue == this;
  }

  // Input

  /** A batch of input has begun, which {@link #endBatch} ends. */
  void beginBatch() {
    inBatch = true;
  }

  /** The session has received a datagram of the ARQ. */
  void onDatagram(Session session) {
    scheduleDelivery(session);
    if (isQuiescent(session)) { // After a last acknowledgement, or a probe's answer.
      deadlines.cancel(session);
    } else {
      scheduleAfterInput(session);
    }
  }

  /** The session has received an unreliable datagram. */
  void onUnreliableDatagram(Session session) {
    scheduleDelivery(session);
    if (!isQuiescent(session)) { // Its owner may read, and open the receive window.
      scheduleAfterInput(session);
    }
  }

  private static boolean isQuiescent(Session session) {
    return session.kcp().isQuiescent()
        && session.fec().deadlineUs() == FecLayer.NO_DEADLINE
        && !session.hasUnreliableToSend(); // The path may allow for more now.
  }

  private void scheduleDelivery(Session session) {
    Entry entry = session;
    if (!entry.isDeliveryPending) {
      entry.isDeliveryPending = true;
      pendingDeliveries.add(session);
    }
  }

  private void scheduleAfterInput(Session session) {
    Entry entry = session;
    entry.hasInput = true;
    schedule(session);
  }

  /** Delivers what sessions have received, and then flushes. */
  void endBatch(long nowUs) {
    deliver(nowUs);
    flushPending(handler.readNowUs(nowUs));
  }

  /** If the handler throws for a session, those after it are delivered to with the next flush. */
  private void deliver(long nowUs) {
    int delivered = 0;
    boolean isDone = false;
    inBatch = true;
    try {
      while (delivered < pendingDeliveries.size()) {
        Session session = pendingDeliveries.get(delivered++);
        Entry entry = session;
        entry.isDeliveryPending = false;
        if (contains(entry)) {
          deliver(session, nowUs);
        }
      }
      isDone = true;
    } finally {
      pendingDeliveries.subList(0, delivered).clear();
      inBatch = false;
      if (!isDone) {
        requestFlush();
      }
    }
  }

  private void deliver(Session session, long nowUs) {
    if (session.isClosing()) {
      table.closingProgressed(session, nowUs);
    } else if (session.hasPeerReset()) {
      try {
        answerEnd(session, nowUs);
      } finally {
        table.end(session, EndReason.RESET, nowUs);
      }
    } else {
      handler.progressed(session, nowUs);
    }
    session.kcp().endDelivery();
  }

  // Output

  /** The session's owner has written to it, read from it, or asked for a probe. */
  void onWrite(Session session) {
    Entry entry = session;
    entry.hasWritten = true;
    schedule(session);
  }

  void onDeadline(Session session) {
    Entry entry = session;
    entry.isDue = true;
    schedule(session);
  }

  /** Schedules a flush of the session, whatever it has to send. */
  void schedule(Session session) {
    Entry entry = session;
    if (!entry.isFlushPending) {
      entry.isFlushPending = true;
      pendingFlushes.add(session);
    }
    if (!inBatch) {
      requestFlush();
    }
  }

  private void requestFlush() {
    if (!isFlushRequested) {
      isFlushRequested = true;
      handler.requestFlush();
    }
  }

  /** A datagram of no session was written, which leaves with the next flush. */
  void onOutput() {
    isOutputPending = true;
    if (!inBatch) {
      requestFlush();
    }
  }

  /** Flushes every session with a pending flush, as long as the output takes datagrams. */
  void flushPending(long nowUs) {
    isFlushRequested = false;
    long timeUs = nowUs;
    if (!pendingDeliveries.isEmpty() && !inBatch) {
      deliver(nowUs);
      timeUs = handler.readNowUs(nowUs);
    }
    if (pendingFlushes.isEmpty() && !isOutputPending) {
      return;
    }
    inBatch = true;
    int flushed = 0;
    int reports = pendingFlushes.size() + MAX_REFILLS;
    try {
      while (flushed < pendingFlushes.size() && handler.isOutputWritable()) {
        Session session = pendingFlushes.get(flushed++);
        Entry entry = session;
        entry.isFlushPending = false;
        if (contains(entry)) {
          timeUs = flush(session, timeUs);
          if (reports > 0 && contains(entry) && !session.isClosing() && handler.flushed(session)) {
            reports--;
            timeUs = handler.readNowUs(timeUs);
          }
        }
      }
    } finally {
      pendingFlushes.subList(0, flushed).clear();
      inBatch = false;
      isOutputPending = false;
      if (!pendingFlushes.isEmpty()) {
        requestFlush();
      }
      handler.flushOutput();
    }
  }

  /** Returns the time after the flush, which differs only if the handler was called. */
  private long flush(Session session, long nowUs) {
    Kcp kcp = session.kcp();
    boolean wasReceivable = kcp.isReceivable();
    boolean wasSendBlocked = kcp.isSendDeferred();
    try {
      write(session, nowUs);
    } catch (RuntimeException | Error e) { // For want of memory: the session will be tried again.
      deadlines.arm(session, nowUs + 1_000L * kcp.config().intervalMs());
      throw e;
    }
    session.keepAlive().onFlushed(nowUs);
    Entry entry = session;
    boolean wasDue = entry.isDue;
    entry.isDue = false;
    entry.hasWritten = false;
    entry.hasInput = false;
    if (kcp.failure() != null) {
      table.end(session, EndReason.of(kcp.failure()), nowUs);
      return handler.readNowUs(nowUs);
    }
    if (session.isUnknownToPeer(nowUs)) {
      table.end(session, EndReason.SESSION_UNKNOWN, nowUs);
      return handler.readNowUs(nowUs);
    }
    if (session.isRefused(nowUs)) {
      table.end(session, EndReason.REFUSED, nowUs);
      return handler.readNowUs(nowUs);
    }
    if (session.isWithoutLanes() && !session.isClosing()) {
      table.end(session, EndReason.LANES_UNSUPPORTED, nowUs);
      return handler.readNowUs(nowUs);
    }
    rearm(session);
    if (session.isClosing()) {
      return nowUs;
    }
    if (wasDue) {
      session.keepAlive().checkResponse(nowUs);
      if (!contains(session)) {
        return handler.readNowUs(nowUs);
      }
    }
    boolean delivers = !wasReceivable && kcp.isReceivable();
    if (delivers || (wasSendBlocked && kcp.isSendable()) || kcp.takeSendRetry()) {
      handler.progressed(session, nowUs); // What moves on was blocked, mostly for want of memory.
      if (delivers && contains(session)) {
        onWrite(session); // Its receive window may have opened.
      }
      return handler.readNowUs(nowUs);
    }
    return nowUs;
  }

  private void write(Session session, long nowUs) {
    Kcp kcp = session.kcp();
    Entry entry = session;
    outputTo(session, nowUs);
    boolean isLimited = !session.path().isValidated();
    if (!isLimited) {
      session.flushUnreliable(output);
    }
    boolean isRepairDue = session.fec().deadlineUs() <= nowUs;
    if (isRepairDue) {
      output.repair();
    }
    if (entry.isDue && !(isRepairDue && nowUs < kcp.nextDeadline())) {
      kcp.flush(nowUs, output);
    }
    if (entry.hasWritten) {
      kcp.afterSend(nowUs, output);
    }
    if (entry.hasInput) {
      kcp.afterInput(nowUs, output);
    }
    if (isLimited) { // Acknowledgements take what the limit allows for first.
      session.flushUnreliable(output);
    }
    kcp.charge(output.addedBytes(), output.unpacedBytes(), nowUs);
  }

  /** Answers what the peer says about the end of a session that is about to be closed. */
  void answerEnd(Session session, long nowUs) {
    if (session.isEndAnswerDue() && handler.isOutputWritable()) {
      flushNow(session, nowUs);
    }
  }

  /** Flushes a session that is about to be closed, whatever it waits for. */
  void flushNow(Session session, long nowUs) {
    outputTo(session, nowUs);
    session.flushUnreliable(output);
    session.kcp().flush(nowUs, output);
    output.endGroup();
    handler.flushOutput();
  }

  private void outputTo(Session session, long nowUs) {
    Kcp kcp = session.kcp();
    int mtuBytes = kcp.maxPacketBytes();
    Path path = session.path();
    path.beginOutput(nowUs);
    session.fec().beginOutput(kcp);
    output.to(handler.output(path.remote()), path, session.fec(), mtuBytes, nowUs);
  }

  private void rearm(Session session) {
    long deadlineUs = Math.min(session.kcp().nextDeadline(), session.fec().deadlineUs());
    if (deadlineUs == Kcp.NO_DEADLINE) {
      deadlines.cancel(session);
    } else {
      deadlines.arm(session, deadlineUs);
    }
  }
}
