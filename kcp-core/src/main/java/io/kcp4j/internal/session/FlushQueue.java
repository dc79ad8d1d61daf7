package io.kcp4j.internal.session;

import io.kcp4j.internal.wire.Time;
import java.util.ArrayList;
import java.util.List;

/**
 * The sessions of a table that have received something since the batch began, and those that have
 * to be flushed: has its {@link Driver} drive each once, whatever it waits for, as long as the
 * output takes datagrams. Keeps the sessions' deadlines on the timer wheel.
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

    /** Whether the session has received something since the last flush. */
    final boolean hasInput() {
      return hasInput;
    }

    /** Whether the owner has written or read since the last flush. */
    final boolean hasWritten() {
      return hasWritten;
    }

    /** Whether the deadline has passed since the last flush. */
    final boolean isDue() {
      return isDue;
    }

    @Override
    protected final void expire(long nowUs) {
      isDue = true;
      queue.schedule((Session) this);
    }
  }

  /** What happens to the sessions in the queue. */
  interface Driver {

    /** Tells the owner of a session what has been received. */
    void deliver(Session session, long nowUs);

    /**
     * Flushes a session for what its {@link Entry} says.
     *
     * @return the time after that, which differs only if the owner was called
     */
    long flush(Session session, long nowUs);
  }

  /** How often owners may write more in one turn, in all, when what they wrote has left. */
  private static final int MAX_REFILLS = 64;

  private final SessionTable.Handler handler;
  private final Driver driver;
  private final TimerWheel deadlines;

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

  FlushQueue(SessionTable.Handler handler, Driver driver, TimerWheel deadlines) {
    this.handler = handler;
    this.driver = driver;
    this.deadlines = deadlines;
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

  /**
   * Sets when the session has to be flushed at the latest.
   *
   * @param deadlineUs the time, in microseconds; {@link Time#NO_DEADLINE} for never
   */
  void deadline(Entry session, long deadlineUs) {
    if (deadlineUs == Time.NO_DEADLINE) {
      deadlines.cancel(session);
    } else {
      deadlines.arm(session, deadlineUs);
    }
  }

  // Input

  /** A batch of input has begun, which {@link #endBatch} ends. */
  void beginBatch() {
    inBatch = true;
  }

  /**
   * The session has received something.
   *
   * @param mayFlush whether that may let something leave
   */
  void onInput(Session session, boolean mayFlush) {
    Entry entry = session;
    if (!entry.isDeliveryPending) {
      entry.isDeliveryPending = true;
      pendingDeliveries.add(session);
    }
    if (mayFlush) {
      entry.hasInput = true;
      schedule(session);
    }
  }

  /** Delivers what sessions have received, and then flushes. */
  void endBatch(long nowUs) {
    deliver(nowUs);
    flushPending(handler.readNowUs(nowUs));
  }

  /** If the driver throws for a session, those after it are delivered to with the next flush. */
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
          driver.deliver(session, nowUs);
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

  // Output

  /** The session's owner has written to it, read from it, or asked for a probe. */
  void onWrite(Session session) {
    Entry entry = session;
    entry.hasWritten = true;
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

  /** What the session had to be flushed for has been written. */
  void onFlushed(Entry session) {
    session.isDue = false;
    session.hasWritten = false;
    session.hasInput = false;
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
          timeUs = driver.flush(session, timeUs);
          if (reports > 0
              && contains(entry)
              && !session.isClosing()
              && session.owner().flushed(session)) {
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
}
