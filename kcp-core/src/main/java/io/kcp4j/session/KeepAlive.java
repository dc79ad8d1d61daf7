package io.kcp4j.session;

import io.kcp4j.EndReason;
import io.kcp4j.Kcp;
import io.kcp4j.KcpCounter;
import io.kcp4j.KcpCounters;

/**
 * Keep-alive and idle timeout of one session: probes a peer from which nothing has been received
 * for the keep-alive interval, and ends the session when probes stay unanswered or when no payload
 * moves for the idle timeout: protocol.md 7.3.
 *
 * <p>One timer serves both. A received datagram does not rearm it: when it expires, it finds out
 * how long ago the last datagram was received, and waits for the rest of the interval.
 */
final class KeepAlive extends TimerWheel.Timer {

  /** The default of {@link #intervalMs}. */
  static final int DEFAULT_INTERVAL_MS = 60_000;

  /**
   * At a loss of 10 % each way a probe stays unanswered with a probability of 0.19. All of these do
   * so once in 110,000 intervals; of three probes it would be once in 150.
   */
  private static final int MAX_UNANSWERED_PROBES = 7;

  /**
   * How long the first probe may stay unanswered, in milliseconds; each further one half as long
   * again, some 32 s in all. Never longer than the keep-alive interval.
   */
  private static final int FIRST_PROBE_WAIT_MS = 1_000;

  /**
   * The timer has a resolution of a second. When it is later than this, in milliseconds, the driver
   * has stalled, and what the peer has sent meanwhile may wait in the socket: no session ends
   * before that can be read.
   */
  private static final int STALL_MS = 3_000;

  /** How long a session waits for that input after a stall, in milliseconds. */
  private static final int READ_FIRST_MS = 1_000;

  /** A peer that has answered before is probed after at most this many intervals. */
  private static final int MAX_INTERVALS = 4;

  private final Session session;

  /** The schedule of the table that the session is in, or null. */
  private KeepAliveSchedule schedule;

  private int intervalMs = DEFAULT_INTERVAL_MS;
  private int idleTimeoutMs;
  private long lastReceivedAtMs;
  private long payloadMovedAtMs;

  /** Payload bytes that have moved either way, and unreliable datagrams. */
  private long payloadMoved;

  /** How many probes have been sent since the last datagram was received. */
  private int unansweredProbes;

  /** When the last of them was sent. */
  private long probedAtMs;

  /** Whether a probe is to leave with the next flush; the wait for its answer begins then. */
  private boolean isProbePending;

  /** Whether the peer has ever answered a probe. */
  private boolean hasAnswered;

  /** The time to which the first probe was deferred, if that is later than the last datagram. */
  private long deferredUntilMs;

  KeepAlive(Session session) {
    this.session = session;
  }

  /** Sets the interval, in milliseconds; 0 for no probes. */
  void intervalMs(int ms) {
    intervalMs = ms;
    deferredUntilMs = lastReceivedAtMs;
    rearm();
  }

  /** Sets the idle timeout, in milliseconds; 0 for none. */
  void idleTimeoutMs(int ms) {
    idleTimeoutMs = ms;
    rearm();
  }

  void start(KeepAliveSchedule schedule, long nowMs) {
    this.schedule = schedule;
    lastReceivedAtMs = nowMs;
    deferredUntilMs = nowMs;
    payloadMovedAtMs = nowMs;
    rearm();
  }

  void stop() {
    schedule.wheel().cancel(this);
    schedule = null;
  }

  /** A datagram that proves the peer alive has been received. */
  void onReceived(long nowMs) {
    lastReceivedAtMs = nowMs;
    if (unansweredProbes > 0 || isProbePending) {
      hasAnswered |= unansweredProbes > 0;
      unansweredProbes = 0;
      isProbePending = false;
      rearm();
    }
  }

  /** The session has been flushed, a pending probe with it. */
  void onFlushed(long nowMs) {
    if (isProbePending) {
      isProbePending = false;
      unansweredProbes++;
      probedAtMs = nowMs;
      rearm();
    }
    updateIdle(nowMs);
  }

  /** Notes whether payload or unreliable datagrams have moved since the last call. */
  void updateIdle(long nowMs) {
    KcpCounters counters = session.kcp().counters();
    long moved =
        counters.get(KcpCounter.PAYLOAD_BYTES_IN)
            + counters.get(KcpCounter.PAYLOAD_BYTES_OUT)
            + counters.get(KcpCounter.UNRELIABLE_IN)
            + counters.get(KcpCounter.UNRELIABLE_OUT);
    if (moved != payloadMoved) {
      payloadMoved = moved;
      payloadMovedAtMs = nowMs;
    }
  }

  private void rearm() {
    if (schedule == null) {
      return;
    }
    long nextMs = Math.min(probeAtMs(), idleAtMs());
    if (nextMs == Kcp.NO_DEADLINE) {
      schedule.wheel().cancel(this);
    } else {
      schedule.wheel().arm(this, nextMs);
    }
  }

  /** When the next probe is due or, after the last one, the end of the session. */
  private long probeAtMs() {
    if (intervalMs == 0 || isProbePending) {
      return Kcp.NO_DEADLINE;
    }
    return unansweredProbes == 0
        ? Math.max(lastReceivedAtMs + intervalMs, deferredUntilMs)
        : probedAtMs + probeWaitMs();
  }

  /** How long the last probe may stay unanswered. */
  private int probeWaitMs() {
    int waitMs = FIRST_PROBE_WAIT_MS;
    for (int i = 1; i < unansweredProbes; i++) {
      waitMs += waitMs / 2;
    }
    return Math.min(waitMs, intervalMs);
  }

  private long idleAtMs() {
    return idleTimeoutMs == 0 ? Kcp.NO_DEADLINE : payloadMovedAtMs + idleTimeoutMs;
  }

  @Override
  protected void expire(long nowMs) {
    if (nowMs >= idleAtMs()) {
      if (nowMs - idleAtMs() < STALL_MS) {
        schedule.end(session, EndReason.IDLE, nowMs);
        return;
      }
      payloadMovedAtMs = nowMs + READ_FIRST_MS - idleTimeoutMs;
    } else if (nowMs >= probeAtMs()) {
      if (unansweredProbes < MAX_UNANSWERED_PROBES) {
        probeUnlessDeferred(nowMs);
      } else if (nowMs - probeAtMs() < STALL_MS) {
        schedule.end(session, EndReason.KEEP_ALIVE_TIMEOUT, nowMs);
        return;
      } else {
        probedAtMs = nowMs + READ_FIRST_MS - probeWaitMs();
      }
    }
    rearm();
  }

  private void probeUnlessDeferred(long nowMs) {
    if (!defer(nowMs)) {
      isProbePending = true;
      schedule.probe(session);
    }
  }

  /**
   * Defers the first probe of a peer that has answered before, once, so that probes of many
   * sessions are spread over time. Returns whether the probe has to wait.
   */
  private boolean defer(long nowMs) {
    if (!hasAnswered || unansweredProbes > 0 || deferredUntilMs > lastReceivedAtMs) {
      return false;
    }
    long latestMs = lastReceivedAtMs + (long) MAX_INTERVALS * intervalMs;
    deferredUntilMs = schedule.takeProbeTime(nowMs, latestMs);
    return deferredUntilMs > nowMs;
  }
}
