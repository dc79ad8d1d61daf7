package io.kcp4j.internal.session;

import io.kcp4j.EndReason;

/**
 * What ICMP port unreachable does to a session: protocol.md 7.8. Anyone can forge the message, and
 * the port of a server that restarts is closed for a moment. So the message ends no session by
 * itself, but starts a series of keep-alive probes. The session ends if nothing is received from
 * the peer while messages go on. Each probe draws a new one if nobody listens.
 *
 * <p>Of seven probes, an outage of 3 s takes up to five, and both others are lost by chance once in
 * 100 times at a loss of 5 % each way. Probes alone are too few for idle sessions. But nobody off
 * the path knows when datagrams leave: a message that none can have drawn shows a forger.
 *
 * <p>Made with the first message. Used by the thread of the table.
 */
final class UnreachablePort extends TimerWheel.Timer {

  /**
   * The time from the first message to the only probe, as long as the peer has never answered. A
   * server that restarts has this time to open its port.
   */
  private static final int CONNECT_WAIT_US = 500_000;

  /** The probes of a peer that has answered before. */
  private static final int PROBES = 7;

  /** The time from each of them to the next, also to that of another series. */
  private static final int WAIT_US = 750_000;

  /**
   * A message must be this recent when the last probe leaves, or come later. Hosts send them at a
   * limited rate, Linux one a second to an address.
   */
  private static final int RECENT_US = 2 * WAIT_US;

  /**
   * Messages that come within this time after a datagram has left, or within a probe timeout if
   * that is longer, may be drawn by it. Event loops may read them late.
   */
  private static final int MIN_DRAWN_US = 250_000;

  /**
   * When the timer is later than this, the driver has stalled, and what the peer has sent meanwhile
   * may wait in the socket: the session does not end before that can be read.
   */
  private static final int STALL_US = 100_000;

  private final Session session;

  /** Whether there is a series. */
  private boolean isOn;

  /** When the last message was received. */
  private long reportedAtUs;

  /** The probes of the series that have left. */
  private int probes;

  /** Whether a probe is to leave with the next flush. */
  private boolean isProbePending;

  /** When a probe left last, also of an earlier series. */
  private long probedAtUs;

  /** When datagrams may have left last. */
  private long flushedAtUs;

  /** The deadline of the timer. */
  private long dueAtUs;

  UnreachablePort(Session session, long nowUs) {
    this.session = session;
    probedAtUs = nowUs - WAIT_US;
    flushedAtUs = nowUs;
  }

  /** The system has received a message. */
  void onMessage(long nowUs) {
    if (session.kcp().isPeerDone()) {
      return;
    }
    if (!session.hasPeerAnswered()) {
      onConnectRefused(nowUs);
    } else if (nowUs - flushedAtUs > Math.max(MIN_DRAWN_US, session.kcp().probeTimeoutUs())) {
      stop(); // It is forged.
    } else {
      reportedAtUs = nowUs;
      if (!isOn) {
        begin(Math.max(nowUs, probedAtUs + WAIT_US));
      }
    }
  }

  private void onConnectRefused(long nowUs) {
    if (!isOn) {
      begin(nowUs + CONNECT_WAIT_US);
    } else if (probes > 0) {
      end(nowUs);
    }
  }

  private void begin(long probeAtUs) {
    isOn = true;
    probes = 0;
    arm(probeAtUs);
  }

  /** A datagram that proves the peer alive has been received. */
  void onReceived() {
    if (isOn) {
      stop();
    }
  }

  void stop() {
    isOn = false;
    isProbePending = false;
    session.table().deadlines().cancel(this);
  }

  /** The session has been flushed, a pending probe with it. */
  void onFlushed(long nowUs) {
    flushedAtUs = nowUs;
    if (!isProbePending) {
      return;
    }
    isProbePending = false;
    probes++;
    probedAtUs = nowUs;
    if (session.hasPeerAnswered()) { // Else the next message decides.
      arm(nowUs + waitUs());
    }
  }

  /** How long the last probe is waited for. */
  private int waitUs() {
    return probes < PROBES ? WAIT_US : session.kcp().probeTimeoutUs();
  }

  private void arm(long atUs) {
    dueAtUs = atUs;
    session.table().deadlines().arm(this, atUs);
  }

  @Override
  protected void expire(long nowUs) {
    boolean isStalled = nowUs - dueAtUs >= STALL_US;
    if (session.kcp().isPeerDone()) {
      stop();
    } else if (probes < PROBES) {
      probe(nowUs, isStalled);
    } else if (isStalled) {
      arm(nowUs + waitUs());
    } else if (reportedAtUs >= probedAtUs - RECENT_US) {
      end(nowUs);
    } else {
      stop();
    }
  }

  private void probe(long nowUs, boolean isStalled) {
    int unansweredUs = isStalled ? 0 : probes * WAIT_US;
    isProbePending = true;
    probedAtUs = nowUs;
    session.kcp().probeKeepAlive();
    session.table().scheduleFlush(session);
    session.keepAlive().probeUnanswered(unansweredUs);
  }

  private void end(long nowUs) {
    session.table().lifecycle().end(session, EndReason.PORT_UNREACHABLE, nowUs);
  }
}
