package io.kcp4j.internal.session;

import io.kcp4j.EndReason;
import io.kcp4j.KcpConfig;
import io.kcp4j.KcpCounter;
import io.kcp4j.KcpCounters;
import io.kcp4j.internal.scheduling.RateLimiter;
import io.kcp4j.internal.wire.Time;
import java.util.HashMap;
import java.util.Map;

/**
 * Keep-alive and idle timeout of one session: probes a peer from which nothing has been received
 * for the keep-alive interval, and ends the session when probes stay unanswered or when no payload
 * moves for the idle timeout: protocol.md 7.3. Before that the peer is reported as unresponsive. An
 * {@link UnreachablePort} is probed sooner.
 *
 * <p>One timer serves both. A received datagram does not rearm it: when it expires, it finds out
 * how long ago the last datagram was received, and waits for the rest of the interval.
 */
public final class KeepAlive extends TimerWheel.Timer {

  /**
   * To what the time of a probe is rounded down. Sweeps are late, on a busy machine by many
   * milliseconds; counted from there, a wait of a second would be rounded up to two.
   */
  private static final int PROBE_TIME_US = 200_000;

  /**
   * The timer has a resolution of a second. When it is later than this, in microseconds, the driver
   * has stalled, and what the peer has sent meanwhile may wait in the socket: no session ends
   * before that can be read.
   */
  private static final int STALL_US = 3_000_000;

  /** How long a session waits for that input after a stall, in microseconds. */
  private static final int READ_FIRST_US = 1_000_000;

  /** A peer that has answered before is probed after at most this many intervals. */
  private static final int MAX_INTERVALS = 4;

  private final Session session;

  /** The schedule of the table that the session is in, or null. */
  private Schedule schedule;

  private long lastReceivedAtUs;
  private long payloadMovedAtUs;

  /** Payload bytes that have moved either way, and unreliable datagrams. */
  private long payloadMoved;

  /** How many probes have been sent since the last datagram was received. */
  private int unansweredProbes;

  /** When the last of them was sent, a multiple of {@link #PROBE_TIME_US}. */
  private long probedAtUs;

  /** Whether a probe is to leave with the next flush; the wait for its answer begins then. */
  private boolean isProbePending;

  /** Whether the peer has ever answered a probe. */
  private boolean hasAnswered;

  /** Whether the peer has not answered for a probe interval, as was reported. */
  private boolean isUnresponsive;

  /** The time to which the first probe was deferred, if that is later than the last datagram. */
  private long deferredUntilUs;

  KeepAlive(Session session) {
    this.session = session;
  }

  private KcpConfig config() {
    return session.kcp().config();
  }

  /** The settings of the session have changed. */
  void reconfigured(KcpConfig before) {
    KcpConfig config = config();
    boolean isIntervalChanged = config.keepAliveIntervalMs() != before.keepAliveIntervalMs();
    boolean isIdleChanged = config.idleTimeoutMs() != before.idleTimeoutMs();
    if (isIntervalChanged) {
      deferredUntilUs = lastReceivedAtUs;
    }
    if (isIdleChanged && before.idleTimeoutMs() == 0) { // Else it is noted when payload moves.
      payloadMoved = countMoved();
      payloadMovedAtUs = Math.max(lastReceivedAtUs, payloadMovedAtUs);
    }
    if (isIntervalChanged
        || isIdleChanged
        || config.keepAliveProbeIntervalMs() != before.keepAliveProbeIntervalMs()
        || config.keepAliveProbes() != before.keepAliveProbes()) {
      rearm();
    }
  }

  void start(Schedule schedule, long nowUs) {
    this.schedule = schedule;
    lastReceivedAtUs = nowUs;
    deferredUntilUs = nowUs;
    payloadMovedAtUs = nowUs;
    rearm();
  }

  void stop() {
    schedule.wheel().cancel(this);
    schedule.forgetUnreachablePort(session);
    schedule = null;
  }

  /** A datagram that proves the peer alive has been received. */
  void onReceived(long nowUs) {
    lastReceivedAtUs = nowUs;
    isUnresponsive = false;
    UnreachablePort port = unreachablePort();
    if (port != null) {
      port.onReceived();
    }
    if (unansweredProbes > 0 || isProbePending) {
      hasAnswered |= unansweredProbes > 0;
      unansweredProbes = 0;
      isProbePending = false;
      rearm();
    }
  }

  private UnreachablePort unreachablePort() {
    return schedule == null ? null : schedule.unreachablePort(session);
  }

  /** A probe has been unanswered for some time. */
  void probeUnanswered(long sinceUs) {
    if (sinceUs >= us(config().keepAliveProbeIntervalMs())) {
      reportUnresponsive();
    }
  }

  /** Sends a probe that is none of the series which can end the session. */
  void probeNow() {
    if (schedule != null) {
      schedule.probe(session);
    }
  }

  /** When a datagram was received last that proves the peer alive, in microseconds. */
  public long lastReceivedAtUs() {
    return lastReceivedAtUs;
  }

  /** The session has been flushed, a pending probe with it. */
  void onFlushed(long nowUs) {
    if (isProbePending) {
      isProbePending = false;
      unansweredProbes++;
      probedAtUs = nowUs - Math.floorMod(nowUs, PROBE_TIME_US);
      rearm();
    }
    UnreachablePort port = unreachablePort();
    if (port != null) {
      port.onFlushed(nowUs);
    }
    updateIdle(nowUs);
  }

  /**
   * A deadline of the session has passed: its segments may have been unacknowledged for too long.
   */
  void checkResponse(long nowUs) {
    long sinceUs = Math.max(lastReceivedAtUs, session.kcp().unacknowledgedSinceUs());
    if (nowUs - sinceUs >= us(config().keepAliveProbeIntervalMs()) && !session.kcp().isPeerDone()) {
      reportUnresponsive();
    }
  }

  private void reportUnresponsive() {
    if (!isUnresponsive && schedule != null) {
      isUnresponsive = true;
      session.owner().unresponsive(session);
    }
  }

  /** Whether the peer has been reported as unresponsive, and nothing was received from it since. */
  boolean isUnresponsive() {
    return isUnresponsive;
  }

  boolean hasIdleTimeout() {
    return config().idleTimeoutMs() > 0;
  }

  /** Notes whether payload or unreliable datagrams have moved since the last call. */
  void updateIdle(long nowUs) {
    if (!hasIdleTimeout()) {
      return;
    }
    long moved = countMoved();
    if (moved != payloadMoved) {
      payloadMoved = moved;
      payloadMovedAtUs = nowUs;
    }
  }

  private long countMoved() {
    KcpCounters counters = session.kcp().counters();
    return counters.get(KcpCounter.PAYLOAD_BYTES_IN)
        + counters.get(KcpCounter.PAYLOAD_BYTES_OUT)
        + counters.get(KcpCounter.UNRELIABLE_IN)
        + counters.get(KcpCounter.UNRELIABLE_OUT);
  }

  private void rearm() {
    if (schedule == null) {
      return;
    }
    long nextUs = Math.min(probeAtUs(), idleAtUs());
    if (nextUs == Time.NO_DEADLINE) {
      schedule.wheel().cancel(this);
    } else {
      schedule.wheel().arm(this, nextUs);
    }
  }

  /** When the next probe is due or, after the last one, the end of the session. */
  private long probeAtUs() {
    if (config().keepAliveIntervalMs() == 0 || isProbePending || session.kcp().isPeerDone()) {
      return Time.NO_DEADLINE;
    }
    return unansweredProbes == 0
        ? Math.max(lastReceivedAtUs + us(config().keepAliveIntervalMs()), deferredUntilUs)
        : probedAtUs + probeWaitUs();
  }

  /** How long the last probe may stay unanswered. */
  private long probeWaitUs() {
    long intervalUs = us(config().keepAliveIntervalMs());
    long waitUs = us(config().keepAliveProbeIntervalMs());
    for (int i = 1; i < unansweredProbes && waitUs < intervalUs; i++) {
      waitUs += waitUs / 2;
    }
    return Math.min(waitUs, intervalUs);
  }

  private long idleAtUs() {
    return config().idleTimeoutMs() == 0
        ? Time.NO_DEADLINE
        : payloadMovedAtUs + us(config().idleTimeoutMs());
  }

  private static long us(int ms) {
    return 1_000L * ms;
  }

  @Override
  protected void expire(long nowUs) {
    if (nowUs >= idleAtUs()) {
      if (nowUs - idleAtUs() < STALL_US) {
        schedule.end(session, EndReason.IDLE_TIMEOUT, nowUs);
        return;
      }
      payloadMovedAtUs = nowUs + READ_FIRST_US - us(config().idleTimeoutMs());
    } else if (nowUs >= probeAtUs()) {
      boolean isStalled = nowUs - probeAtUs() >= STALL_US;
      if (unansweredProbes < config().keepAliveProbes()) {
        probeUnlessDeferred(nowUs, isStalled);
      } else if (!isStalled) {
        endUnresponsive(nowUs);
        return;
      } else {
        probedAtUs = nowUs + READ_FIRST_US - probeWaitUs();
      }
    }
    rearm();
  }

  private void endUnresponsive(long nowUs) {
    reportUnresponsive(); // As yet unreported if a single probe has been sent.
    if (schedule != null) {
      schedule.end(session, EndReason.KEEP_ALIVE_TIMEOUT, nowUs);
    }
  }

  private void probeUnlessDeferred(long nowUs, boolean isStalled) {
    if (defer(nowUs)) {
      return;
    }
    boolean isUnanswered = unansweredProbes > 0 && !isStalled;
    isProbePending = true;
    schedule.probe(session);
    if (isUnanswered) {
      reportUnresponsive();
    }
  }

  /**
   * Defers the first probe of a peer that has answered before, once, so that probes of many
   * sessions are spread over time. Returns whether the probe has to wait.
   */
  private boolean defer(long nowUs) {
    if (!hasAnswered || unansweredProbes > 0 || deferredUntilUs > lastReceivedAtUs) {
      return false;
    }
    long latestUs = lastReceivedAtUs + MAX_INTERVALS * us(config().keepAliveIntervalMs());
    deferredUntilUs = schedule.takeProbeTime(nowUs, latestUs);
    return deferredUntilUs > nowUs;
  }

  /**
   * The {@link KeepAlive} timers of all sessions of a table. They expire in {@link #sweep}, a
   * bounded number at a time, and probes of peers that have answered before are spread over time.
   * Has the {@link UnreachablePort}s of the sessions, too.
   */
  static final class Schedule {

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

    private final SessionLifecycle lifecycle;
    private final TimerWheel wheel;
    private final RateLimiter probes;

    /**
     * Of sessions for which the system has received ICMP port unreachable. No field of the session,
     * since only clients have them.
     */
    private final Map<Session, UnreachablePort> unreachablePorts = new HashMap<>();

    Schedule(SessionLifecycle lifecycle, long nowUs) {
      this.lifecycle = lifecycle;
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
     * Takes the next time for a probe, in microseconds, {@code latestUs} at the latest; one that
     * has passed means now.
     */
    long takeProbeTime(long nowUs, long latestUs) {
      return probes.reserve(nowUs, latestUs);
    }

    /** Sends a probe with the session's next flush. */
    void probe(Session session) {
      session.fec().forget(); // Incomplete groups hold memory, and nothing completes them any more.
      session.kcp().probeKeepAlive();
      lifecycle.scheduleFlush(session);
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

    void end(Session session, EndReason reason, long nowUs) {
      lifecycle.end(session, reason, nowUs);
    }
  }
}
