package io.kcp4j.internal.send;

import io.kcp4j.internal.recovery.LossDetector;
import io.kcp4j.internal.wire.Time;

/**
 * An outage: segments have timed out, and nothing has been acknowledged for a probe timeout
 * (protocol.md 4.14). Timeouts back off exponentially (RFC 6298 §5.5), so that segments alone would
 * find the end of an outage late by up to half of its length. Small probes leave more often: the
 * challenges of the keep-alive (7.3), which every peer answers.
 *
 * <p>The outage ends with an acknowledgement, and with it the back-off of all segments. It also
 * ends with the answer to a probe. Then the oldest segments leave at once, before others that have
 * timed out: their acknowledgements show that the others are lost.
 *
 * <p>Made when the session has its first outage.
 */
public final class Outage {

  /** Probes leave at a distance of this fraction of the outage. */
  private static final int FRACTION = 16;

  /** The longest distance of probes, unless two timeouts take longer. */
  private static final int MAX_DISTANCE_US = 1_000_000;

  /** The shortest time between two copies of the oldest segment. */
  private static final int MIN_COPY_DISTANCE_US = 20_000;

  /** RFC 9002 §7.2: the initial window, with which Careful Resume (RFC 9959) begins, too. */
  private static final int MAX_SEGMENTS = 10;

  private final Sender sender;
  private final ProbeSlots slots;

  private boolean isOn;

  /** Whether a probe has left. */
  private boolean isProbing;

  /** When something was acknowledged last. */
  private long sinceUs;

  /**
   * Whether the peer has answered a probe, and acknowledged nothing since: it may have no memory.
   */
  private boolean hasAnswered;

  /** Whether segments may wait to leave before all others. */
  private boolean isOldestDue;

  /** When a probe leaves, or {@link Time#NO_DEADLINE}. */
  private long probeAtUs = Time.NO_DEADLINE;

  /** Whether {@link ProbeSlots} has assigned that time. */
  private boolean isReserved;

  Outage(Sender sender, ProbeSlots slots) {
    this.sender = sender;
    this.slots = slots;
  }

  /**
   * A segment has timed out, and nothing has been acknowledged for a timeout. A peer that may not
   * know the session, or whose address may be forged, is not probed.
   */
  void begin(long nowUs) {
    if (!isOn && sender.isFreshnessExpected()) {
      isOn = true;
      sinceUs = hasAnswered ? sinceUs : sender.userTimeout.progressAtUs();
      scheduleProbe(nowUs);
    }
  }

  /** Whether there is an outage that has lasted until its first probe. */
  boolean isProbing() {
    return isProbing;
  }

  private void scheduleProbe(long nowUs) {
    long distanceUs = Math.min((nowUs - sinceUs) / FRACTION, MAX_DISTANCE_US);
    probeAtUs = nowUs + Math.max(distanceUs, 2L * sender.losses.timeoutUs());
    isReserved = false;
  }

  /** When a probe is due, or {@link Time#NO_DEADLINE}. */
  long deadlineUs() {
    return probeAtUs;
  }

  /** A flush begins: requests a probe if one is due. */
  void beginFlush(long nowUs) {
    if (nowUs < deadlineUs()) {
      return;
    }
    if (!isReserved) {
      probeAtUs = slots.reserve(nowUs);
      isReserved = true;
    }
    if (nowUs >= probeAtUs) {
      isProbing = true;
      sender.rttProbe().send(nowUs);
      scheduleProbe(nowUs);
    }
  }

  /**
   * A datagram has been received that acknowledges nothing: the path may work again, and the oldest
   * segment times out. But the datagram may be a replayed one, and the first segment of all may
   * begin a session: that leaves at most once in a second.
   */
  public void onDatagramReceived(long nowUs) {
    if (!isProbing) {
      return;
    }
    int oldest = sender.buffer.index(sender.buffer.una());
    long distanceUs = Math.max(sender.rtt.srttUs(), MIN_COPY_DISTANCE_US);
    boolean isFirst = sender.buffer.una() == sender.firstSn;
    if (nowUs - sender.losses.sentAtUs(oldest) >= distanceUs
        && (!isFirst || sender.losses.ring.isRested(oldest, sender.timestamps.at(nowUs)))) {
      retransmitNow(oldest, nowUs);
    }
  }

  private void retransmitNow(int index, long nowUs) {
    isOldestDue = true;
    sender.losses.retransmitNow(index, nowUs);
  }

  /**
   * The peer has answered a probe. If it had answered one before, and has acknowledged nothing
   * since, the path works and the peer has no memory: its segments go on to back off.
   */
  public void onProbeAnswered(long nowUs) {
    if (!isOn || hasAnswered) {
      onDatagramReceived(nowUs);
      return;
    }
    end();
    hasAnswered = true;
    sender.userTimeout.progress(nowUs);
    sender.events.windowUpdated();
    sender.losses.countTimeoutsFrom(nowUs, sender.losses.timeoutUs()); // Others leave after these.
    sendOldest(nowUs);
  }

  /** The oldest segments leave at once, unless they may still be acknowledged. */
  private void sendOldest(long nowUs) {
    int segments = Math.min(MAX_SEGMENTS, Math.max(1, sender.window() / 2));
    int sn = sender.buffer.una();
    for (; segments > 0 && sn != sender.buffer.next(); sn++) {
      int index = sender.buffer.index(sn);
      if (sender.buffer.isAwaited(sn)
          && nowUs - sender.losses.sentAtUs(index) >= sender.rtt.srttUs()) {
        sender.losses.resetBackOff(index, nowUs);
        retransmitNow(index, nowUs);
        segments--;
      }
    }
  }

  /** The oldest of the segments that leave before all others, or {@link LossDetector#NONE}. */
  public int nextOldest() {
    int sn = sender.buffer.una();
    for (int i = 0; isOldestDue && i < MAX_SEGMENTS && sn != sender.buffer.next(); i++, sn++) {
      if (sender.buffer.isAwaited(sn) && sender.losses.ring.isExtraDue(sender.buffer.index(sn))) {
        return sender.buffer.index(sn);
      }
    }
    isOldestDue = false;
    return LossDetector.NONE;
  }

  /** Segments have been acknowledged. */
  public void onAcknowledged(long nowUs) {
    if (isOn || hasAnswered) {
      boolean wasProbing = isProbing;
      end();
      hasAnswered = false;
      sender.losses.resetBackOffs(nowUs);
      if (wasProbing) {
        sendOldest(nowUs);
      }
    }
  }

  private void end() {
    isOn = false;
    isProbing = false;
    probeAtUs = Time.NO_DEADLINE;
  }

  /**
   * Limits the rate of outage probes of all sessions of a thread, in the order of their requests.
   */
  public static final class ProbeSlots {

    /** A probe of 100 bytes each millisecond is at most 0.8 Mbit/s of a dead network. */
    private static final int DISTANCE_US = 1_000;

    private long nextAtUs = Long.MIN_VALUE;

    /** Reserves a probe, and returns when it may leave: {@code wantedAtUs} or later. */
    public long reserve(long wantedAtUs) {
      long atUs = Math.max(wantedAtUs, nextAtUs);
      nextAtUs = atUs + DISTANCE_US;
      return atUs;
    }
  }
}
