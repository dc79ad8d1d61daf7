package io.kcp4j;

/**
 * Loss detection by time, after RACK (RFC 8985): a segment is lost when one that was sent after it
 * has arrived, and it is overdue by more than a reordering window (protocol.md 4.9). Where no later
 * one arrives, a probe timeout replaces the retransmission timeout (4.10).
 *
 * <p>KCP makes two things simpler than they are in TCP. An ACK echoes the timestamp of the
 * transmission that has arrived, so there is no retransmission ambiguity. And {@code una} says what
 * had arrived when the peer flushed, so that a lost ACK is not a lost segment.
 *
 * <p>The reordering window adapts. An ACK of an earlier transmission shows that a retransmission
 * was spurious, and how late the earlier one was. So does a {@code una} that covers a
 * retransmission sooner than any round trip takes: kcp-go's peers write no ACK of their own for
 * most segments below {@code una}. The window then widens, for some recoveries.
 */
final class RackDetector extends LossDetector {

  /** RFC 8985 has a quarter of the least round trip; timestamps count milliseconds. */
  private static final int MIN_WINDOW_US = 2_000;

  /** How much later than the latest original a segment may be: timestamps count milliseconds. */
  private static final int MARGIN_US = 1_000;

  /** RFC 8985 §6.2.4: how many recoveries the window stays wide. */
  private static final int WIDE_RECOVERIES = 16;

  /** At most so many segments in flight are thin traffic. Each of them has a timeout of its own. */
  static final int THIN_SEGMENTS = 16;

  /** A rise of the delay of acknowledgements is taken over at once, a fall by this fraction. */
  private static final int ACK_DELAY_SHIFT = 5;

  private final KcpCounters counters;
  private final MinRtt minRtt = new MinRtt();

  // The arrays of the ring.

  /** Which transmission of the session the last one of each segment was. */
  private int[] transmission;

  private int[] previousTs;

  /** Whether acknowledgements, not a timeout, caused the last retransmission. */
  private boolean[] lostByAcks;

  private int transmissions;

  /** The latest transmission that has arrived, and its round-trip time. */
  private int arrived;

  private int arrivedRttUs;

  private int windowUs = MIN_WINDOW_US;
  private int wideRecoveries;

  private int intervalUs;

  /** How long the peer holds acknowledgements back. */
  private int ackDelayUs;

  /** When segments were acknowledged last. */
  private long progressAtUs;

  RackDetector(RttEstimator rtt, KcpCounters counters) {
    super(rtt);
    this.counters = counters;
  }

  /** The peer's interval is not known: before it shows, it is taken to be the same. */
  @Override
  void configure(KcpConfig config) {
    super.configure(config);
    intervalUs = config.intervalMs() * Kcp.US_PER_MS;
    if (!rtt.hasSample()) {
      ackDelayUs = intervalUs;
    }
  }

  @Override
  void use(SendRing ring) {
    super.use(ring);
    transmission = ring.transmission;
    previousTs = ring.previousTs;
    lostByAcks = ring.lostByAcks;
  }

  // Transmissions

  @Override
  void sent(int index, int ts, long nowUs) {
    super.sent(index, ts, nowUs);
    transmission[index] = ++transmissions;
    lostByAcks[index] = false;
  }

  @Override
  void retransmitted(int index, int ts, long nowUs) {
    previousTs[index] = lastTs(index);
    lostByAcks[index] = cause() == LossCause.TIME_THRESHOLD;
    super.retransmitted(index, ts, nowUs);
    transmission[index] = ++transmissions;
  }

  /** RFC 8985 §7.2 and RFC 9002 §6.2.1: the probe timeout, with the peer's delay as measured. */
  @Override
  int timeoutUs() {
    if (!rtt.hasSample()) {
      return rtt.rtoUs();
    }
    int variationUs = Math.max(4 * rtt.rttVarUs(), MIN_WINDOW_US);
    long timeoutUs = (long) rtt.srttUs() + variationUs + ackDelayUs;
    return rtt.withinLimits(timeoutUs);
  }

  @Override
  boolean isThin() {
    return unacknowledged() <= THIN_SEGMENTS;
  }

  /**
   * While many segments are in flight, their timeouts count from the last acknowledgement, if that
   * is later: the next one is likely to show what is lost.
   */
  @Override
  long timesOutAtUs(int index) {
    long timesOutAtUs = super.timesOutAtUs(index);
    return isThin() ? timesOutAtUs : Math.max(timesOutAtUs, progressAtUs + timeoutUs(index));
  }

  // Acknowledgements

  @Override
  void acknowledged(int index, int ts, int rttUs, long nowUs) {
    if (isLastTransmission(index, ts)) {
      arrived(index, rttUs);
      minRtt.sample(rttUs, nowUs);
      if (lostByAcks[index]) {
        recovered();
      }
    } else if (wasSentAt(index, ts)) {
      int spurious = ts == firstTs(index) ? transmissions(index) - 1 : 1;
      spurious(index, spurious, rttUs - arrivedRttUs);
    }
    super.acknowledged(index, ts, rttUs, nowUs);
    progressed(nowUs);
  }

  @Override
  void acknowledgedByUna(int index, long nowUs) {
    if (transmissions(index) > 1) {
      retransmissionCovered(index, nowUs - sentAtUs(index));
    }
    super.acknowledgedByUna(index, nowUs);
    progressed(nowUs);
  }

  private void retransmissionCovered(int index, long sinceSentUs) {
    if (sinceSentUs < minRtt.us()) {
      long betweenUs = (long) (lastTs(index) - previousTs[index]) * Kcp.US_PER_MS;
      spurious(index, 1, sinceSentUs + betweenUs - arrivedRttUs);
    } else if (lostByAcks[index]) {
      recovered();
    }
  }

  private void arrived(int index, int rttUs) {
    if (transmission[index] - arrived > 0) {
      arrived = transmission[index];
      arrivedRttUs = rttUs;
    }
  }

  /** A retransmission has turned out to be needed. */
  private void recovered() {
    if (wideRecoveries > 0 && --wideRecoveries == 0) {
      windowUs = MIN_WINDOW_US;
    }
  }

  /**
   * Retransmissions of the segment at {@code index} were spurious.
   *
   * @param lateUs how much later than expected the earlier transmission has arrived
   */
  private void spurious(int index, int retransmissions, long lateUs) {
    counters.add(KcpCounter.SPURIOUSLY_RETRANSMITTED, retransmissions);
    if (lostByAcks[index]) {
      long widerUs = Math.min(lateUs + MARGIN_US, rtt.srttUs() / 2);
      windowUs = (int) Math.max(windowUs, widerUs);
      wideRecoveries = WIDE_RECOVERIES;
    }
  }

  private void progressed(long nowUs) {
    progressAtUs = nowUs;
    if (unacknowledged() == THIN_SEGMENTS) {
      restartTimeouts();
    }
  }

  /**
   * The oldest segment that {@code una} covers has waited for the acknowledgement longer than the
   * newest. Acknowledgements of many segments leave sooner than those of the few that may follow.
   */
  @Override
  void unaAdvances(int index, int rttSampleUs, long nowUs) {
    if (rttSampleUs < 0 || transmissions(index) > 1) {
      return;
    }
    long delayUs = Math.max(nowUs - sentAtUs(index) - rttSampleUs, 0);
    if (!isThin()) {
      ackDelayUs = Math.max(ackDelayUs, intervalUs);
    } else if (delayUs > ackDelayUs) {
      ackDelayUs = (int) Math.min(delayUs, RttEstimator.MAX_RTO_US);
    } else {
      ackDelayUs -= (int) (ackDelayUs - delayUs) >> ACK_DELAY_SHIFT;
    }
  }

  // Losses

  @Override
  boolean isLossDetected(long nowUs) {
    return nowUs >= headLostAtUs();
  }

  @Override
  LossCause causeAtHead(boolean newAllowed, long nowUs) {
    return isLossDetected(nowUs) ? LossCause.TIME_THRESHOLD : null;
  }

  /** When the head counts as lost, or {@link Kcp#NO_DEADLINE} if no later one has arrived. */
  private long headLostAtUs() {
    int head = order.head();
    return head == NONE || transmission[head] - arrived >= 0
        ? Kcp.NO_DEADLINE
        : sentAtUs(head) + arrivedRttUs + windowUs;
  }

  @Override
  long deadlineUs() {
    return Math.min(super.deadlineUs(), headLostAtUs());
  }
}
