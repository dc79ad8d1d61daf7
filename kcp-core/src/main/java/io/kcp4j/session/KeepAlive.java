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
   * How long the first probe may stay unanswered, in microseconds; each further one half as long
   * again, some 32 s in all. Never longer than the keep-alive interval.
   */
  private static final int FIRST_PROBE_WAIT_US = 1_000_000;

  /**
   * To what the time of a probe is rounded down. Sweeps are up to a millisecond late; counted from
   * there, a wait of a second would be rounded up to two.
   */
  private static final int PROBE_TIME_US = 1_000;

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
  private KeepAliveSchedule schedule;

  private long intervalUs = 1_000L * DEFAULT_INTERVAL_MS;
  private long idleTimeoutUs;
  private long lastReceivedAtUs;
  private long payloadMovedAtUs;

  /** Payload bytes that have moved either way, and unreliable datagrams. */
  private long payloadMoved;

  /** How many probes have been sent since the last datagram was received. */
  private int unansweredProbes;

  /** When the last of them was sent, in whole milliseconds. */
  private long probedAtUs;

  /** Whether a probe is to leave with the next flush; the wait for its answer begins then. */
  private boolean isProbePending;

  /** Whether the peer has ever answered a probe. */
  private boolean hasAnswered;

  /** The time to which the first probe was deferred, if that is later than the last datagram. */
  private long deferredUntilUs;

  KeepAlive(Session session) {
    this.session = session;
  }

  /** Sets the interval, in milliseconds; 0 for no probes. */
  void intervalMs(int ms) {
    intervalUs = 1_000L * ms;
    deferredUntilUs = lastReceivedAtUs;
    rearm();
  }

  /** Sets the idle timeout, in milliseconds; 0 for none. */
  void idleTimeoutMs(int ms) {
    idleTimeoutUs = 1_000L * ms;
    rearm();
  }

  void start(KeepAliveSchedule schedule, long nowUs) {
    this.schedule = schedule;
    lastReceivedAtUs = nowUs;
    deferredUntilUs = nowUs;
    payloadMovedAtUs = nowUs;
    rearm();
  }

  void stop() {
    schedule.wheel().cancel(this);
    schedule = null;
  }

  /** A datagram that proves the peer alive has been received. */
  void onReceived(long nowUs) {
    lastReceivedAtUs = nowUs;
    if (unansweredProbes > 0 || isProbePending) {
      hasAnswered |= unansweredProbes > 0;
      unansweredProbes = 0;
      isProbePending = false;
      rearm();
    }
  }

  /** The session has been flushed, a pending probe with it. */
  void onFlushed(long nowUs) {
    if (isProbePending) {
      isProbePending = false;
      unansweredProbes++;
      probedAtUs = nowUs - Math.floorMod(nowUs, PROBE_TIME_US);
      rearm();
    }
    updateIdle(nowUs);
  }

  /** Notes whether payload or unreliable datagrams have moved since the last call. */
  void updateIdle(long nowUs) {
    KcpCounters counters = session.kcp().counters();
    long moved =
        counters.get(KcpCounter.PAYLOAD_BYTES_IN)
            + counters.get(KcpCounter.PAYLOAD_BYTES_OUT)
            + counters.get(KcpCounter.UNRELIABLE_IN)
            + counters.get(KcpCounter.UNRELIABLE_OUT);
    if (moved != payloadMoved) {
      payloadMoved = moved;
      payloadMovedAtUs = nowUs;
    }
  }

  private void rearm() {
    if (schedule == null) {
      return;
    }
    long nextUs = Math.min(probeAtUs(), idleAtUs());
    if (nextUs == Kcp.NO_DEADLINE) {
      schedule.wheel().cancel(this);
    } else {
      schedule.wheel().arm(this, nextUs);
    }
  }

  /** When the next probe is due or, after the last one, the end of the session. */
  private long probeAtUs() {
    if (intervalUs == 0 || isProbePending) {
      return Kcp.NO_DEADLINE;
    }
    return unansweredProbes == 0
        ? Math.max(lastReceivedAtUs + intervalUs, deferredUntilUs)
        : probedAtUs + probeWaitUs();
  }

  /** How long the last probe may stay unanswered. */
  private long probeWaitUs() {
    long waitUs = FIRST_PROBE_WAIT_US;
    for (int i = 1; i < unansweredProbes; i++) {
      waitUs += waitUs / 2;
    }
    return Math.min(waitUs, intervalUs);
  }

  private long idleAtUs() {
    return idleTimeoutUs == 0 ? Kcp.NO_DEADLINE : payloadMovedAtUs + idleTimeoutUs;
  }

  @Override
  protected void expire(long nowUs) {
    if (nowUs >= idleAtUs()) {
      if (nowUs - idleAtUs() < STALL_US) {
        schedule.end(session, EndReason.IDLE, nowUs);
        return;
      }
      payloadMovedAtUs = nowUs + READ_FIRST_US - idleTimeoutUs;
    } else if (nowUs >= probeAtUs()) {
      if (unansweredProbes < MAX_UNANSWERED_PROBES) {
        probeUnlessDeferred(nowUs);
      } else if (nowUs - probeAtUs() < STALL_US) {
        schedule.end(session, EndReason.KEEP_ALIVE_TIMEOUT, nowUs);
        return;
      } else {
        probedAtUs = nowUs + READ_FIRST_US - probeWaitUs();
      }
    }
    rearm();
  }

  private void probeUnlessDeferred(long nowUs) {
    if (!defer(nowUs)) {
      isProbePending = true;
      schedule.probe(session);
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
    long latestUs = lastReceivedAtUs + MAX_INTERVALS * intervalUs;
    deferredUntilUs = schedule.takeProbeTime(nowUs, latestUs);
    return deferredUntilUs > nowUs;
  }
}
