package io.kcp4j.session;

import io.kcp4j.EndReason;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Sessions of a table that their owners close. At first a session may linger: its owner waits until
 * the peer has acknowledged everything. Then it has no owner any more, and stays until the peer has
 * answered how it ends, or for three probe timeouts. One that the peer has closed stays for these.
 */
final class ClosingSessions {

  private static final int PROBE_TIMEOUTS = 3;

  /** A path with a long probe timeout does not hold a session for minutes. */
  private static final long MAX_US = 10_000_000;

  /**
   * The time without an answer is divided into this many parts. A peer that shows no sign of life
   * in a part is probed at its end. A stop of this process counts as one part.
   */
  private static final int PARTS = 4;

  private final SessionTable table;
  private final TimerWheel deadlines;
  private final MemoryReclaim reclaim;
  private final Map<Session, TimerWheel.Timer> sessions = new LinkedHashMap<>();

  ClosingSessions(SessionTable table, TimerWheel deadlines, MemoryReclaim reclaim) {
    this.table = table;
    this.deadlines = deadlines;
    this.reclaim = reclaim;
  }

  private final class Closing extends TimerWheel.Timer {

    private final Session session;

    Closing(Session session) {
      this.session = session;
    }

    @Override
    protected void expire(long nowUs) {
      table.endClosing(session, nowUs);
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
      this.partUs = Math.max(1, timeoutUs / PARTS);
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
      if (unresponsiveParts == PARTS || nowUs >= endsAtUs) {
        table.end(session, EndReason.CLOSE_TIMEOUT, nowUs);
        return;
      }
      if (isUnresponsive) {
        session.keepAlive().probeNow();
      }
      beginPart(nowUs);
    }
  }

  /**
   * A session lingers, until its owner closes it or until it ends.
   *
   * @param timeoutUs how long the peer may be unresponsive
   * @param endsAtUs when the session ends in any case
   */
  void linger(Session session, long timeoutUs, long endsAtUs, long nowUs) {
    Linger linger = new Linger(session, timeoutUs, endsAtUs);
    sessions.put(session, linger);
    linger.beginPart(nowUs);
    reclaim.addLingering(session, nowUs);
  }

  /** The owner of a session has closed it. */
  void add(Session session, long nowUs) {
    remove(session);
    Closing closing = new Closing(session);
    sessions.put(session, closing);
    long leftUs = (long) PROBE_TIMEOUTS * session.kcp().probeTimeoutUs();
    deadlines.arm(closing, nowUs + Math.min(leftUs, MAX_US));
  }

  void remove(Session session) {
    TimerWheel.Timer timer = sessions.remove(session);
    if (timer != null) {
      deadlines.cancel(timer);
      reclaim.removeLingering(session);
    }
  }

  /** Ends all that have no owner; the table, which closes, need not remember them. */
  void endAll() {
    for (Session session : List.copyOf(sessions.keySet())) {
      if (session.isClosing()) {
        table.endClosing(session, 0);
      } else {
        remove(session);
      }
    }
  }
}
