package io.kcp4j.session;

import io.kcp4j.EndReason;
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
   * The time between probes of peers that have answered before, as far as {@link KeepAlive} lets
   * them wait: 100,000 idle sessions take less than a hundredth of a core.
   */
  private static final int PROBE_SPACING_US = 2_000;

  /**
   * How many timers expire in one sweep. Many thousands of probes at once would delay all other
   * sessions, and their answers would overflow the socket's receive buffer.
   */
  private static final int TIMERS_PER_SWEEP = 64;

  private final SessionTable table;
  private final TimerWheel wheel;

  /**
   * Of sessions for which the system has received ICMP port unreachable. No field of the session,
   * since only clients have them.
   */
  private final Map<Session, UnreachablePort> unreachablePorts = new HashMap<>();

  /** The latest time that {@link #takeProbeTime} has returned. */
  private long lastProbeAtUs;

  KeepAliveSchedule(SessionTable table, long nowUs) {
    this.table = table;
    this.wheel = new TimerWheel(nowUs, TICK_US, SLOTS);
    this.lastProbeAtUs = nowUs;
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
   * passed means now. Timers expire by the tick, so one tick's worth of probes may leave at once.
   */
  long takeProbeTime(long nowUs, long latestUs) {
    long nextUs = Math.max(nowUs - TICK_US, lastProbeAtUs + PROBE_SPACING_US);
    if (nextUs > latestUs) {
      return latestUs;
    }
    lastProbeAtUs = nextUs;
    return nextUs;
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
