package io.kcp4j.internal.recovery;

import io.kcp4j.KcpConfig;
import io.kcp4j.KcpCounters;
import io.kcp4j.KcpTracer;
import io.kcp4j.internal.buffer.SendRing;
import io.kcp4j.internal.buffer.TransmissionOrder;
import io.kcp4j.internal.wire.Time;

/**
 * Loss detection: which segments in flight are lost, and until when to wait for an acknowledgement.
 *
 * <p>A detector names segments by their index in the ring of the {@code SendBuffer}. It learns of
 * each transmission ({@link #sent}, {@link #retransmitted}) and of each datagram that acknowledges:
 * first of its ACKs ({@link #acknowledged}, {@link #endAcks}), then of its {@code una} ({@link
 * #unaAdvances}, {@link #acknowledgedByUna}, {@link #endInput}, {@link #resetBackOff}). What can be
 * done once for a datagram waits for these ends. A flush retransmits the segments that {@link
 * #nextLost} returns, as long as the pacer lets them leave.
 *
 * <p>This class keeps what every strategy needs: the unacknowledged segments in the order of their
 * last transmission, how often each was sent, its first and last timestamp, when it was sent last,
 * and when it times out. A strategy decides by the acknowledgements which segments are lost; only
 * the head of the order has to be looked at for that.
 *
 * <p>Timeouts differ between segments, since each backs off on its own, so a search for them goes
 * through all segments in flight, at a few nanoseconds for each. It begins only when its deadline
 * has passed, and when the pacer interrupts it, the next flush resumes it.
 */
public abstract class LossDetector {

  /** No segment. */
  public static final int NONE = TransmissionOrder.NONE;

  public final TransmissionOrder order = new TransmissionOrder();
  final RttEstimator rtt;

  private boolean noDelay;

  /** The ring of the {@code SendBuffer}, which reports when it replaces it. */
  public SendRing ring = SendRing.NONE;

  /** Null unless the congestion control uses delivery rates. Set by {@code SegmentEvents}. */
  public DeliveryRate rate;

  /**
   * No segment times out before this; while a search is unfinished, none of those behind its
   * cursor. Exact after a search that was not interrupted.
   */
  private long timeoutBoundUs = Time.NO_DEADLINE;

  private boolean searching;

  /** The bound that had passed when the unfinished search began. */
  private long searchBoundUs;

  private KcpTracer.LossCause cause;

  /** Whether the peer has acknowledged anything. Before that, only the oldest times out. */
  private boolean hasAcknowledged;

  LossDetector(RttEstimator rtt) {
    this.rtt = rtt;
  }

  /** The strategy that {@code config} asks for. */
  public static LossDetector of(
      KcpConfig config, RttEstimator rtt, Redundancy redundancy, KcpCounters counters) {
    return switch (config.lossDetection()) {
      case RACK -> new RackDetector(rtt, redundancy, counters);
      case FAST_RETRANSMIT -> new FastRetransmitDetector(rtt);
    };
  }

  /** Takes over settings that have changed. */
  public void configure(KcpConfig config) {
    noDelay = config.noDelay();
  }

  /** The peer has said how long it delays ACKs at most, and that it delays none at a gap. */
  public void peerMaxAckDelay(int us) {}

  /** The round-trip time has changed, though nothing has been acknowledged. */
  public void roundTripChanged() {}

  // Transmissions

  /**
   * The segments at the indices {@code from} up to, but not including, {@code to} are sent for the
   * first time, with the timestamp {@code ts}.
   */
  public void sent(int from, int to, int ts, long nowUs) {
    SendRing ring = this.ring;
    int timeoutUs = timeoutUs();
    long timesOutAtUs = nowUs + timeoutUs;
    for (int i = from; i < to; i++) {
      ring.transmissions[i] = 1;
      ring.firstTs[i] = ts;
      ring.lastTs[i] = ts;
      ring.sentAtUs[i] = nowUs;
      ring.rtoUs[i] = timeoutUs;
      ring.timesOutAtUs(i, timesOutAtUs);
    }
    order.append(from, to);
    timeoutBoundUs = Math.min(timeoutBoundUs, timesOutAtUs);
    if (rate != null) {
      rate.sent(ring, from, to, nowUs);
    }
  }

  /**
   * The segment that {@link #nextLost} has returned last is sent again. Only a timeout backs off:
   * an acknowledgement of a later segment shows that the path works.
   */
  public void retransmitted(int index, int ts, long nowUs) {
    boolean isExtra = ring.isExtraDue(index) && cause == KcpTracer.LossCause.TIMEOUT;
    ring.extraDue(index, false);
    if (!isExtra || ring.transmissions[index] == 1) {
      ring.transmissions[index]++;
    }
    ring.lastTs[index] = ts;
    ring.sentAtUs[index] = nowUs;
    order.remove(index);
    order.append(index);
    int timeoutUs = timeoutUs();
    if (isExtra) {
      timeoutUs = ring.rtoUs[index];
    } else if (cause == KcpTracer.LossCause.TIMEOUT) {
      timeoutUs = rtt.backOff(ring.rtoUs[index], noDelay);
    }
    setTimeout(index, timeoutUs, nowUs);
  }

  private void setTimeout(int index, int timeoutUs, long nowUs) {
    ring.rtoUs[index] = timeoutUs;
    ring.timesOutAtUs(index, nowUs + timeoutUs);
    timeoutBoundUs = Math.min(timeoutBoundUs, nowUs + timeoutUs);
  }

  /** The timeout of a segment that is sent for the first time now, in microseconds. */
  public abstract int timeoutUs();

  /** How often the segment in flight at {@code index} has been sent. */
  public final int transmissions(int index) {
    return ring.transmissions[index];
  }

  /** The timestamp of the first transmission of the segment in flight at {@code index}. */
  public final int firstTs(int index) {
    return ring.firstTs[index];
  }

  /** The timestamp of the last transmission of the segment in flight at {@code index}. */
  public final int lastTs(int index) {
    return ring.lastTs[index];
  }

  /** When the segment in flight at {@code index} was sent last, in microseconds. */
  public final long sentAtUs(int index) {
    return ring.sentAtUs[index];
  }

  /** The segments sent and not acknowledged. */
  public final int unacknowledged() {
    return order.size();
  }

  /** Whether the segment at {@code index}, which was retransmitted in this flush, leaves twice. */
  public boolean isCopied(int index) {
    return false;
  }

  // Acknowledgements

  /**
   * Whether {@code ts} lies within the timestamps with which the segment in flight at {@code index}
   * was sent.
   */
  public final boolean wasSentAt(int index, int ts) {
    return isLastTransmission(index, ts)
        || (ts - ring.firstTs[index] >= 0 && ts - ring.lastTs[index] < 0);
  }

  /** Whether {@code ts} is that of the last transmission of the segment at {@code index}. */
  public final boolean isLastTransmission(int index, int ts) {
    return ts == ring.lastTs[index];
  }

  /**
   * The round-trip time that an ACK with the timestamp {@code ts} shows, in microseconds, at most
   * the largest retransmission timeout. Exact for the last transmission; of earlier ones only the
   * timestamp is known, in milliseconds.
   *
   * @param nowTs the timestamp of a segment that is sent now
   */
  public final int rttUs(int index, int ts, int nowTs, long nowUs) {
    long rttUs =
        isLastTransmission(index, ts)
            ? nowUs - ring.sentAtUs[index]
            : Integer.toUnsignedLong(nowTs - ts) * Time.US_PER_MS;
    return (int) Math.min(rttUs, RttEstimator.MAX_RTO_US);
  }

  /**
   * An ACK with the timestamp {@code ts} has come for the segment in flight at {@code index}.
   *
   * @param rttUs its {@link #rttUs}
   */
  public void acknowledged(int index, int ts, int rttUs, long nowUs) {
    order.remove(index);
    if (rate != null) {
      rate.acknowledged(ring, index, isEarlierArrived(index, ts, nowUs), nowUs);
    }
  }

  private boolean isEarlierArrived(int index, int ts, long nowUs) {
    return !isLastTransmission(index, ts)
        && (wasSentAt(index, ts) || isEarlierArrived(index, nowUs));
  }

  /** All ACKs of a datagram have been reported; there was at least one. */
  public void endAcks(long nowUs) {}

  /**
   * A datagram's {@code una} covers the segment at {@code index}, which was the oldest in flight
   * before the datagram. Its ACKs have been reported.
   */
  public void unaAdvances(int index, long nowUs) {}

  /**
   * The peer's {@code una} covers the segments in flight at the indices {@code from} up to, but not
   * including, {@code to}. Those without an ACK of their own are not marked as acknowledged yet.
   */
  public void acknowledgedByUna(int from, int to, long nowUs) {
    for (int i = from; i < to; i++) {
      if (!ring.isAcknowledged(i)) {
        order.remove(i);
        if (rate != null) {
          rate.acknowledged(ring, i, isEarlierArrived(i, nowUs), nowUs);
        }
      }
    }
  }

  /** All that a datagram acknowledges has been reported; there was at least one segment. */
  public void endInput(long nowUs) {
    if (!hasAcknowledged) {
      hasAcknowledged = true;
      countTimeoutsFrom(nowUs, timeoutUs());
    }
    if (order.size() == 0) {
      timeoutBoundUs = Time.NO_DEADLINE;
      searching = false;
    }
  }

  /**
   * Resets the back-off of the segment at {@code index}, the oldest in flight, as when {@code una}
   * has advanced: the peer has just made progress, so whatever made the timeouts grow is over, and
   * this one segment blocks the rest.
   */
  public final void resetBackOff(int index, long nowUs) {
    ring.rtoUs[index] = Math.min(ring.rtoUs[index], timeoutUs());
    if (timesOutAtUs(index) > nowUs + timeoutUs()) {
      setTimeout(index, timeoutUs(), nowUs);
    }
  }

  /** Resets the back-off of all segments in flight: an outage is over. */
  public final void resetBackOffs(long nowUs) {
    for (int i = order.head(); i != NONE; i = order.next(i)) {
      resetBackOff(i, nowUs);
    }
  }

  /**
   * Whether the segment in flight at {@code index}, which was sent again, is acknowledged now
   * without an ACK of its own, but sooner after its last transmission than any round trip takes: an
   * earlier one has arrived.
   */
  final boolean isEarlierArrived(int index, long nowUs) {
    return transmissions(index) > 1 && nowUs - sentAtUs(index) < rtt.minRttUs();
  }

  // Losses

  /**
   * The segment in flight at {@code index} leaves again at once, since its peer may have returned.
   * Its timeout does not back off, and but for the first time it does not count as a transmission:
   * the peer, or somebody who replays its packets, decides how often this happens.
   */
  public final void retransmitNow(int index, long nowUs) {
    ring.extraDue(index, true);
    expire(index, nowUs);
  }

  /** The caller retransmits such a segment, and not one of {@link #nextLost}. */
  public final void takeExtra() {
    cause = KcpTracer.LossCause.TIMEOUT;
  }

  /** The segment in flight at {@code index} times out at once. */
  public final void expire(int index, long nowUs) {
    ring.timesOutAtUs(index, nowUs);
    timeoutBoundUs = nowUs;
  }

  /**
   * Whether a segment counts as lost by the acknowledgements so far, so that it is to be
   * retransmitted at once.
   */
  public abstract boolean isLossDetected(long nowUs);

  /** Whether a segment will count as lost if there is nothing new to send at the next flush. */
  public boolean isLossSuspected() {
    return false;
  }

  /**
   * Why the head of the order counts as lost by acknowledgements, or null if it does not.
   *
   * @param newAllowed whether new segments may be sent in this flush
   */
  abstract KcpTracer.LossCause causeAtHead(boolean newAllowed, long nowUs);

  /**
   * Whether to ask for {@link #nextLost} in this flush.
   *
   * @param newAllowed whether new segments may be sent in this flush
   */
  public final boolean isSearchDue(boolean newAllowed, long nowUs) {
    return causeAtHead(newAllowed, nowUs) != null || nowUs >= timeoutDeadlineUs();
  }

  /**
   * The next segment that is lost, or {@link #NONE}. The caller retransmits it before it asks
   * again.
   *
   * @param newAllowed as for {@link #isSearchDue}, which holds
   * @param oldest the segment in flight with the lowest sequence number
   */
  public final int nextLost(boolean newAllowed, int oldest, long nowUs) {
    KcpTracer.LossCause atHead = causeAtHead(newAllowed, nowUs);
    if (atHead != null) {
      cause = atHead;
      return order.head();
    }
    if (cause != KcpTracer.LossCause.TIMEOUT && nowUs < timeoutDeadlineUs()) {
      return NONE;
    }
    cause =
        KcpTracer.LossCause
            .TIMEOUT; // The search that has begun is continued until it returns NONE.
    int index = hasAcknowledged ? nextTimedOut(nowUs) : oldestIfTimedOut(oldest, nowUs);
    if (index == NONE) {
      cause = null;
    }
    return index;
  }

  /** Why the segment counts as lost that {@link #nextLost} has returned last. */
  public final KcpTracer.LossCause cause() {
    return cause;
  }

  /**
   * When to ask for {@link #nextLost} though no acknowledgement comes, in microseconds, or {@link
   * Time#NO_DEADLINE}. Never later than a segment is lost.
   */
  public long deadlineUs() {
    return timeoutDeadlineUs();
  }

  private long timeoutDeadlineUs() {
    return searching && !order.isCursorAtEnd() ? searchBoundUs : timeoutBoundUs;
  }

  /** When the segment in flight at {@code index} times out, in microseconds. */
  public long timesOutAtUs(int index) {
    return ring.timesOutAtUs(index);
  }

  /** The timeout that the segment in flight at {@code index} was sent with, in microseconds. */
  public final int timeoutUs(int index) {
    return ring.rtoUs[index];
  }

  /**
   * No segment in flight times out before its timeout, and {@code leastUs}, have passed from now
   * on.
   */
  public final void countTimeoutsFrom(long nowUs, int leastUs) {
    for (int i = order.head(); i != NONE; i = order.next(i)) {
      long timesOutAtUs = nowUs + Math.max(timeoutUs(i), leastUs);
      ring.timesOutAtUs(i, Math.max(ring.timesOutAtUs(i), timesOutAtUs));
      timeoutBoundUs = Math.min(timeoutBoundUs, timesOutAtUs(i));
    }
  }

  /**
   * Before the first acknowledgement, the round-trip time may be far longer than the timeout. RFC
   * 6298 §5.4 and RFC 9002 §6.2.4 send only the oldest segment, or one probe.
   */
  private int oldestIfTimedOut(int oldest, long nowUs) {
    timeoutBoundUs = timesOutAtUs(oldest);
    return timeoutBoundUs <= nowUs ? oldest : NONE;
  }

  /**
   * The next segment that has timed out, or {@link #NONE}. Resumes where the last call stopped,
   * whose segment has been transmitted or acknowledged since. Begins anew when a segment behind the
   * cursor has timed out.
   */
  private int nextTimedOut(long nowUs) {
    if (!searching) {
      searchBoundUs = timeoutBoundUs;
      searching = true;
      order.cursor(NONE);
    }
    int i = order.cursor();
    if (i == NONE || timeoutBoundUs <= nowUs) {
      i = order.head();
      timeoutBoundUs = Time.NO_DEADLINE;
    } else if (order.isCursorAtEnd()) {
      i = NONE;
    }
    for (; i != NONE; i = order.next(i)) {
      long timesOutAtUs = timesOutAtUs(i);
      if (timesOutAtUs <= nowUs) {
        order.cursor(i);
        return i;
      }
      timeoutBoundUs = Math.min(timeoutBoundUs, timesOutAtUs);
    }
    searching = false;
    return NONE;
  }

  // The ring

  /**
   * Goes on with the arrays of a larger ring, into which the fields of each segment have been
   * copied.
   *
   * @param una a sequence number not above any in flight
   */
  public final void grow(int una, int oldMask, SendRing larger) {
    order.grow(una, oldMask, larger.capacity - 1, larger.links);
    ring = larger;
  }

  /** Goes on without arrays; nothing is in flight. */
  public final void releaseRing() {
    order.clear();
    ring = SendRing.NONE;
  }
}
