package io.kcp4j.internal.recovery;

import io.kcp4j.KcpConfig;
import io.kcp4j.KcpCounter;
import io.kcp4j.KcpCounters;
import io.kcp4j.KcpTracer.LossCause;
import io.kcp4j.LossDetection;
import io.kcp4j.internal.wire.Time;

/**
 * Loss detection by time, after RACK (RFC 8985), used with {@link LossDetection#RACK}, the default:
 * a segment is lost when one that was sent after it has arrived, and it is overdue by more than a
 * reordering window (protocol.md 4.9). This takes the place of fast retransmit. Where no later one
 * arrives, a probe timeout replaces the retransmission timeout (4.10).
 *
 * <p>KCP makes two things simpler than they are in TCP. An ACK echoes the timestamp of the
 * transmission that has arrived, so there is no retransmission ambiguity. And {@code una} says what
 * had arrived when the peer flushed, so that a lost ACK is not a lost segment.
 *
 * <p>An ACK of an earlier transmission shows that a retransmission was spurious, and how late the
 * earlier one was. So does a {@code una} that covers a retransmission sooner than any round trip
 * takes: peers write no ACK of their own for most segments below {@code una}. The reordering window
 * then widens or, after a timeout, the {@link ProbeTimeout} becomes longer.
 *
 * <p><b>Reordering window</b> (RFC 8985 §6.2.4): by how much earlier than one that has arrived a
 * segment must have been sent to count as lost. It follows how late segments are, and is narrow
 * again after some losses. Where only {@code una} tells that a segment was late, its ACK may have
 * been lost instead, which looks the same. That is believed only when it happens more often than
 * losses.
 *
 * <p>A peer may have said how long it delays ACKs at most (protocol.md 13.8), as QUIC's parameter
 * {@code max_ack_delay} does (RFC 9000 §18.2). It acknowledges segments at gaps at once.
 */
final class RackDetector extends LossDetector {

  /** Timestamps count milliseconds. */
  private static final int MARGIN_US = 1_000;

  /** RFC 8985 begins without a reordering window; timestamps count milliseconds. */
  static final int MIN_WINDOW_US = 2_000;

  /** RFC 8985 §6.2.4: how many recoveries the window stays wide. */
  private static final int WIDE_RECOVERIES = 16;

  /** This number of segments that are late as {@code una} tells are taken for lost ACKs. */
  private static final int LOST_ACKS = 2;

  /**
   * At most this is thin traffic, in bytes in flight: sixteen datagrams of 1400 bytes. Each segment
   * of it has a timeout of its own.
   */
  public static final int THIN_BYTES = 16 * 1400;

  /** With at most this in flight, a segment that acknowledgements show to be lost leaves twice. */
  private static final int COPIED_BYTES = 1 << 16;

  private final Redundancy redundancy;
  private final KcpCounters counters;
  private final ProbeTimeout timeout;

  private int bytesInFlight;
  private int transmissions;

  /** The bytes of the segments that the present datagram acknowledges. */
  private int acknowledgedBytes;

  /** The latest transmission that has arrived, and when it was sent. */
  private int arrived;

  private long arrivedSentAtUs;

  /** When that became known, and the latest that was known before. */
  private long arrivedAtUs = Long.MIN_VALUE;

  private int arrivedBefore;

  /** The reordering window, unless half a round trip is shorter. */
  private int windowUs = MIN_WINDOW_US;

  private int wideRecoveries;

  /** How often segments were late as {@code una} tells; each loss since takes one off. */
  private int lateByUna;

  private long lateByUnaAtUs;

  /** When segments were acknowledged last. */
  private long progressAtUs;

  /** When the head counts as lost: as of the last acknowledgement or retransmission. */
  private long headLostAtUs = Time.NO_DEADLINE;

  RackDetector(RttEstimator rtt, Redundancy redundancy, KcpCounters counters) {
    super(rtt);
    this.redundancy = redundancy;
    this.counters = counters;
    timeout = new ProbeTimeout(rtt, redundancy);
  }

  @Override
  public void configure(KcpConfig config) {
    super.configure(config);
    timeout.configure(config);
    updateHead();
  }

  // Transmissions

  @Override
  public void sent(int from, int to, int ts, long nowUs) {
    super.sent(from, to, ts, nowUs);
    int transmission = transmissions;
    int bytes = 0;
    for (int i = from; i < to; i++) {
      ring.transmissionNumber[i] = ++transmission;
      bytes += ring.bytes(i);
    }
    transmissions = transmission;
    bytesInFlight += bytes;
    timeout.sent(transmission);
  }

  @Override
  public void retransmitted(int index, int ts, long nowUs) {
    ring.previousTs[index] = lastTs(index);
    ring.lostByAcks(index, cause() == LossCause.TIME_THRESHOLD);
    super.retransmitted(index, ts, nowUs);
    ring.transmissionNumber[index] = ++transmissions;
    updateHead();
  }

  @Override
  public int timeoutUs() {
    return timeout.us();
  }

  @Override
  public void peerMaxAckDelay(int us) {
    timeout.peerMaxAckDelay(us);
  }

  @Override
  public void roundTripChanged() {
    timeout.update();
  }

  /** Whether little is in flight: the next acknowledgement may be far away. */
  boolean isThin() {
    return bytesInFlight <= THIN_BYTES;
  }

  @Override
  public boolean isCopied(int index) {
    int limit = ring.isLostByAcks(index) ? COPIED_BYTES : THIN_BYTES;
    return bytesInFlight <= limit && redundancy.isForRetransmissions();
  }

  /**
   * While many segments are in flight, their timeouts count from the last acknowledgement, if that
   * is later: the next one is likely to show what is lost.
   */
  @Override
  public long timesOutAtUs(int index) {
    long timesOutAtUs = super.timesOutAtUs(index);
    if (isThin()) {
      return timesOutAtUs;
    }
    long sinceProgressUs = Math.min(timeoutUs(index), timeout.us()); // Without a back-off.
    return Math.max(timesOutAtUs, progressAtUs + sinceProgressUs);
  }

  // Acknowledgements

  @Override
  public void acknowledged(int index, int ts, int rttUs, long nowUs) {
    if (isLastTransmission(index, ts)) {
      if (ring.transmissionNumber[index] - arrived > 0) {
        arrived(index, nowUs);
      } else if (isReordered(index, arrived, rttUs)) {
        reordered(rttUs - arrivedRttUs());
      }
      if (transmissions(index) > 1) {
        recovered(index);
      }
    } else if (wasSentAt(index, ts)) {
      int spurious = ts == firstTs(index) ? transmissions(index) - 1 : 1;
      spurious(index, spurious, rttUs, true, nowUs);
    }
    super.acknowledged(index, ts, rttUs, nowUs);
    acknowledgedBytes += ring.bytes(index);
  }

  @Override
  public void endAcks(long nowUs) {
    if (arrivedAtUs == nowUs) {
      rtt.sampleMinRtt(arrivedRttUs(), nowUs);
    }
    progressed(nowUs);
  }

  @Override
  public void acknowledgedByUna(int from, int to, long nowUs) {
    int known = arrivedAtUs == nowUs ? arrivedBefore : arrived;
    int bytes = 0;
    for (int i = from; i < to; i++) {
      if (ring.isAcknowledged(i)) {
        continue;
      }
      bytes += ring.bytes(i);
      if (isEarlierArrived(i, nowUs)) {
        earlierCovered(i, nowUs);
      } else if (ring.transmissionNumber[i] - known < 0) {
        olderCovered(i, known, nowUs);
      }
    }
    acknowledgedBytes += bytes;
    super.acknowledgedByUna(from, to, nowUs);
  }

  private void olderCovered(int index, int known, long nowUs) {
    long rttUs = nowUs - sentAtUs(index);
    if (isReordered(index, known, rttUs) && wasLateByUna(nowUs)) {
      reordered(rttUs - arrivedRttUs());
    }
  }

  @Override
  public void endInput(long nowUs) {
    timeout.update();
    super.endInput(nowUs);
    progressed(nowUs);
    updateHead();
  }

  private void earlierCovered(int index, long nowUs) {
    long sinceSentUs = nowUs - sentAtUs(index);
    long betweenUs = (long) (lastTs(index) - ring.previousTs[index]) * Time.US_PER_MS;
    boolean wasLate = ring.isLostByAcks(index) && wasLateByUna(nowUs);
    spurious(index, 1, sinceSentUs + betweenUs, wasLate, nowUs);
  }

  /**
   * RFC 8985 §6.2.3: whether a segment was sent once and arrives after a later one, and later than
   * the window allows for.
   *
   * @param known the latest transmission that was known to have arrived before
   */
  private boolean isReordered(int index, int known, long rttUs) {
    return transmissions(index) == 1
        && ring.transmissionNumber[index] - known < 0
        && !isAllowed(rttUs - arrivedRttUs());
  }

  private void arrived(int index, long nowUs) {
    if (nowUs != arrivedAtUs) {
      arrivedBefore = arrived;
      arrivedAtUs = nowUs;
    }
    arrived = ring.transmissionNumber[index];
    arrivedSentAtUs = sentAtUs(index);
  }

  /** The round-trip time of the latest transmission that has arrived. */
  private int arrivedRttUs() {
    return (int) Math.min(arrivedAtUs - arrivedSentAtUs, RttEstimator.MAX_RTO_US);
  }

  /**
   * Retransmissions of the segment at {@code index} were spurious: an earlier transmission has
   * arrived, and was acknowledged after {@code rttUs}.
   *
   * @param wasLate whether the segment was late, not its ACK lost
   */
  private void spurious(int index, int retransmissions, long rttUs, boolean wasLate, long nowUs) {
    counters.add(KcpCounter.SPURIOUSLY_RETRANSMITTED, retransmissions);
    redundancy.retransmissionSpurious();
    if (!ring.isLostByAcks(index)) {
      timeout.sampleAckTime(rttUs, nowUs);
      timeout.spurious(transmissions);
    } else if (wasLate) {
      widenWindow(rttUs - arrivedRttUs() + MARGIN_US);
    }
  }

  /** The retransmission of the segment at {@code index} was needed. */
  private void recovered(int index) {
    redundancy.retransmissionNeeded();
    if (ring.isLostByAcks(index)) {
      narrowWindow();
    }
    timeout.needed(transmissions);
  }

  private void progressed(long nowUs) {
    boolean wasThin = isThin();
    bytesInFlight -= acknowledgedBytes;
    acknowledgedBytes = 0;
    progressAtUs = nowUs;
    if (!wasThin && isThin()) { // Timeouts have counted from the last acknowledgement.
      countTimeoutsFrom(nowUs, 0);
    }
  }

  /**
   * The oldest segment that {@code una} covers has waited longest for an acknowledgement. Those of
   * many segments leave sooner than those of the few that may follow.
   */
  @Override
  public void unaAdvances(int index, long nowUs) {
    if (transmissions(index) == 1 && !rtt.isSentBeforeStop(sentAtUs(index))) {
      long waitedUs = nowUs - sentAtUs(index);
      long leastUs = isThin() ? 0 : timeout.assumedAckTimeUs();
      timeout.sampleAckTime(Math.max(waitedUs, leastUs), nowUs);
    }
  }

  // The reordering window

  /** The reordering window, in microseconds: at most half a round trip, which may have shrunk. */
  int windowUs() {
    return Math.max(MIN_WINDOW_US, Math.min(windowUs, rtt.srttUs() / 2));
  }

  /** Whether a segment may be {@code lateUs} late without counting as lost. */
  boolean isAllowed(long lateUs) {
    return lateUs + MARGIN_US <= windowUs();
  }

  /**
   * Whether a segment was late that {@code una} has shown to have arrived. Several at the same time
   * count once.
   */
  private boolean wasLateByUna(long nowUs) {
    if (nowUs != lateByUnaAtUs) {
      lateByUnaAtUs = nowUs;
      lateByUna++;
    }
    return lateByUna > LOST_ACKS;
  }

  /**
   * A reordered segment was {@code lateUs} late. RFC 8985 makes the window a quarter of the round
   * trip then, which is far too wide for most; no wider here.
   */
  private void reordered(long lateUs) {
    widenWindow(Math.min(lateUs + MARGIN_US, rtt.minRttUs() / 4));
  }

  /** The window has to be this wide, as far as half a round trip allows. */
  void widenWindow(long atLeastUs) {
    windowUs = (int) Math.max(windowUs(), Math.min(atLeastUs, rtt.srttUs() / 2));
    wideRecoveries = WIDE_RECOVERIES;
  }

  /** A retransmission has turned out to be needed. */
  private void narrowWindow() {
    lateByUna = Math.max(lateByUna - 1, 0);
    if (wideRecoveries > 0 && --wideRecoveries == 0) {
      windowUs = MIN_WINDOW_US;
    }
  }

  // Losses

  @Override
  public boolean isLossDetected(long nowUs) {
    return nowUs >= headLostAtUs;
  }

  @Override
  LossCause causeAtHead(boolean newAllowed, long nowUs) {
    return isLossDetected(nowUs) ? LossCause.TIME_THRESHOLD : null;
  }

  private void updateHead() {
    int head = order.head();
    boolean isOlder = head != NONE && ring.transmissionNumber[head] - arrived < 0;
    headLostAtUs = isOlder ? lostAtUs(head) : Time.NO_DEADLINE;
  }

  /**
   * When the segment at {@code index} counts as lost, of which a later one has arrived: at once if
   * that was sent later by the reordering window. Else when it is overdue by the window (RFC 8985
   * §6.2.5). A peer that may delay the ACK of a segment that closes a gap, as kcp-go does, has the
   * time for one more acknowledgement.
   */
  private long lostAtUs(int index) {
    long windowEndsAtUs = sentAtUs(index) + windowUs();
    if (windowEndsAtUs <= arrivedSentAtUs) {
      return arrivedAtUs;
    }
    long overdueAtUs = windowEndsAtUs + arrivedRttUs();
    return timeout.isPeerMaxAckDelayKnown()
        ? overdueAtUs
        : Math.max(overdueAtUs, sentAtUs(index) + timeout.ackTimeUs() + MARGIN_US);
  }

  @Override
  public long deadlineUs() {
    return Math.min(super.deadlineUs(), headLostAtUs);
  }
}
