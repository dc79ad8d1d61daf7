package io.kcp4j.session;

import io.kcp4j.EndReason;
import io.kcp4j.scheduling.RateLimiter;
import java.util.HashMap;
import java.util.Map;

/**
 * The {@link KeepAlive} timers of all sessions of a table. They expire in {@link #sweep}, a bounded
 * number at a time, and probes of peers that have answered before are spread over time. Has the
 * {@link UnreachablePort}s of the sessions, too.
 */
final class KeepAliveSchedule {

  /** Timers have a resolution of a second; the wheel reaches four minutes ahead. */
  private static final int TICK_US = 1_000_000;

  private static final int SLOTS = 256;

  /**
   * The probes of peers that have answered before in a second, as far as they may wait: 100,000
   * idle sessions take less than a hundredth of a core.
   */
  private static final int PROBES_PER_SECOND = 500;

  /** Timers expire by the tick, so that one tick's worth of probes may leave at once. */
  private static final int PROBES_AT_ONCE = PROBES_PER_SECOND + 1;

  /**
   * How many timers expire in one sweep. Many thousands of probes at once would delay all other
   * sessions, and their answers would overflow the socket's receive buffer.
   */
  private static final int TIMERS_PER_SWEEP = 64;

  private final SessionTable table;
  private final TimerWheel wheel;
  private final RateLimiter probes;

  /**
   * Of sessions for which the system has received ICMP port unreachable. No field of the session,
   * since only clients have them.
   */
  private final Map<Session, UnreachablePort> unreachablePorts = new HashMap<>();

  KeepAliveSchedule(SessionTable table, long nowUs) {
    this.table = table;
    this.wheel = new TimerWheel(nowUs, TICK_US, SLOTS);
    this.probes = new RateLimiter(PROBES_PER_SECOND, PROBES_AT_ONCE, nowUs);
  }

  TimerWheel wheel() {
    return wheel;
  }

  /** Lets timers expire; returns whether some are left, for another sweep soon. */
  boolean sweep(long nowUs) {
    return wheel.advance(nowUs, TIMERS_PER_SWEEP);
  }

  /**
   * Takes the next time for a probe, in microseconds, {@code latestUs} at the latest; one that has
   * passed means now.
   */
  long takeProbeTime(long nowUs, long latestUs) {
    return probes.reserve(nowUs, latestUs);
  }

  /** Sends a probe with the session's next flush. */
  void probe(Session session) {
    session.fec().forget(); // Incomplete groups hold memory, and nothing completes them any more.
    session.kcp().probeKeepAlive();
    table.scheduleFlush(session);
  }

  /** The system reports by ICMP that nobody listens at the port of a session's peer. */
  void onPortUnreachable(Session session, long nowUs) {
    unreachablePorts
        .computeIfAbsent(session, key -> new UnreachablePort(key, nowUs))
        .onMessage(nowUs);
  }

  /** What the reports for a session have led to, or null if there were none. */
  UnreachablePort unreachablePort(Session session) {
    return unreachablePorts.isEmpty() ? null : unreachablePorts.get(session);
  }

  void forgetUnreachablePort(Session session) {
    UnreachablePort port = unreachablePorts.remove(session);
    if (port != null) {
      port.stop();
    }
  }

  void unresponsive(Session session) {
    table.handler().unresponsive(session);
  }

  void end(Session session, EndReason reason, long nowUs) {
    table.end(session, reason, nowUs);
  }
}
