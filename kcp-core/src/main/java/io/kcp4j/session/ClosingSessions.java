package io.kcp4j.session;

import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Sessions of a table that have no owner any more, and stay until the peer has answered how they
 * end, or for three probe timeouts.
 */
final class ClosingSessions {

  private static final int PROBE_TIMEOUTS = 3;

  /** A path with a long probe timeout does not hold a session for minutes. */
  private static final long MAX_US = 10_000_000;

  private final SessionTable table;
  private final TimerWheel deadlines;
  private final Map<Session, Closing> sessions = new HashMap<>();

  ClosingSessions(SessionTable table, TimerWheel deadlines) {
    this.table = table;
    this.deadlines = deadlines;
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

  void add(Session session, long nowUs) {
    Closing closing = new Closing(session);
    sessions.put(session, closing);
    long leftUs = (long) PROBE_TIMEOUTS * session.kcp().probeTimeoutUs();
    deadlines.arm(closing, nowUs + Math.min(leftUs, MAX_US));
  }

  void remove(Session session) {
    Closing closing = sessions.remove(session);
    if (closing != null) {
      deadlines.cancel(closing);
    }
  }

  /** Ends all; the table, which closes, need not remember them. */
  void endAll() {
    for (Session session : List.copyOf(sessions.keySet())) {
      table.endClosing(session, 0);
    }
  }
}
