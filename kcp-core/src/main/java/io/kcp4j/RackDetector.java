package io.kcp4j;

/**
 * Loss detection by time, after RACK (RFC 8985), used with {@link LossDetection#TIME}, the default:
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
 * takes: peers write no ACK of their own for most segments below {@code una}. The {@link
 * ReorderingWindow} then widens or, after a timeout, {@link LongestTime} and {@link TimeoutMargin}
 * learn of it.
 *
 * <p>A peer may have said how long it delays ACKs at most (protocol.md 13.8), as QUIC's parameter
 * {@code max_ack_delay} does (RFC 9000 §18.2). It acknowledges segments at gaps at once.
 */
final class RackDetector extends LossDetector {

  /** Timestamps count milliseconds. */
  private static final int MARGIN_US = 1_000;

  /**
   * The least timeout, unless another is configured. A deadline that is nearer than the next tick
   * of the system's scheduler, 4 ms at 250 Hz, makes each wait for I/O expensive; Linux's TCP has
   * two ticks. Stalls of a few milliseconds are common, too.
   */
  private static final int MIN_TIMEOUT_US = 6_000;

  /** RFC 9002 §6.1.2 has a millisecond; the timers of both sides have that resolution. */
  private static final int MIN_VARIATION_US = 2_000;

  /**
   * At most so much in flight is thin traffic: sixteen datagrams of 1400 bytes. Each segment of it
   * has a timeout of its own.
   */
  static final int THIN_BYTES = 16 * 1400;

  /** With at most this in flight, a segment that acknowledgements show to be lost leaves twice. */
  private static final int COPIED_BYTES = 1 << 16;

  /**
   * After so many segments the margin may shrink. Acknowledgements alone do not cause that, since
   * they may be forged.
   */
  private static final int MARGIN_REVIEW_SEGMENTS = 32;

  /** How many samples are needed before the measured time replaces the assumed one. */
  private static final int KNOWN_ACK_TIMES = 16;

  private static final int UNKNOWN = -1;

  private final Redundancy redundancy;
  private final KcpCounters counters;
  private final LongestTime ackTime = new LongestTime();
  private final ReorderingWindow window;
  private final TimeoutMargin timeoutMargin;

  // Copies of what these know, so that most ACKs do not need them: each costs a cache miss.

  private int marginUs = TimeoutMargin.MIN_US;
  private int ackTimeUs;

  /** Beyond which time {@link LongestTime} changes. */
  private int ackTimeCountsAboveUs;

  // The samples of this period, and of the one before, each at most KNOWN_ACK_TIMES.

  private byte ackTimes;
  private byte ackTimesBefore;
  private long ackTimePeriodEndsAtUs;

  /** How long the peer delays ACKs at most; {@link #UNKNOWN} if it has not said so. */
  private int maxAckDelayUs = UNKNOWN;

  private int bytesInFlight;
  private int transmissions;
  private int marginReviewedAt;

  /** The bytes of the segments that the present datagram acknowledges. */
  private int acknowledgedBytes;

  /** The latest transmission that has arrived, and when it was sent. */
  private int arrived;

  private long arrivedSentAtUs;

  /** When that became known, and the latest that was known before. */
  private long arrivedAtUs = Long.MIN_VALUE;

  private int arrivedBefore;

  private int intervalUs;
  private int minTimeoutUs;

  /** The timeout of segments that are sent now: as of the last acknowledgement. */
  private int timeoutUs;

  /** When segments were acknowledged last. */
  private long progressAtUs;

  /** When the head counts as lost: as of the last acknowledgement or retransmission. */
  private long headLostAtUs = Kcp.NO_DEADLINE;

  RackDetector(RttEstimator rtt, Redundancy redundancy, KcpCounters counters) {
    super(rtt);
    this.redundancy = redundancy;
    this.counters = counters;
    window = new ReorderingWindow(rtt);
    timeoutMargin = new TimeoutMargin(redundancy);
  }

  @Override
  void configure(KcpConfig config) {
    super.configure(config);
    intervalUs = config.intervalMs() * Kcp.US_PER_MS;
    int minMs = config.minRtoMs();
    minTimeoutUs = minMs == 0 ? MIN_TIMEOUT_US : minMs * Kcp.US_PER_MS;
    timeoutUs = probeTimeoutUs();
    updateHead();
  }

  // Transmissions

  @Override
  void sent(int from, int to, int ts, long nowUs) {
    super.sent(from, to, ts, nowUs);
    int transmission = transmissions;
    int bytes = 0;
    for (int i = from; i < to; i++) {
      ring.transmissionNumber[i] = ++transmission;
      bytes += ring.bytes(i);
    }
    transmissions = transmission;
    bytesInFlight += bytes;
    if (transmissions - marginReviewedAt >= MARGIN_REVIEW_SEGMENTS) {
      reviewMargin();
    }
  }

  private void reviewMargin() {
    marginReviewedAt = transmissions;
    timeoutMargin.transmitted(transmissions);
    marginUs = timeoutMargin.us();
    timeoutUs = probeTimeoutUs();
  }

  @Override
  void retransmitted(int index, int ts, long nowUs) {
    ring.previousTs[index] = lastTs(index);
    ring.lostByAcks(index, cause() == LossCause.TIME_THRESHOLD);
    super.retransmitted(index, ts, nowUs);
    ring.transmissionNumber[index] = ++transmissions;
    updateHead();
  }

  /**
   * RFC 8985 §7.2 and RFC 9002 §6.2.1: the probe timeout. They add the longest delay that the peer
   * may choose for an ACK; here it is measured. KCP's minimum of 30 ms or more holds only if it is
   * configured.
   */
  private int probeTimeoutUs() {
    if (!rtt.hasSample()) {
      return rtt.rtoUs();
    }
    int variationUs = Math.max(4 * rtt.rttVarUs(), Math.max(marginUs, MIN_VARIATION_US));
    long timeoutUs = Math.max(rtt.srttUs() + (long) variationUs, ackTimeUs() + (long) marginUs);
    return (int) Math.min(Math.max(timeoutUs, minTimeoutUs), RttEstimator.MAX_RTO_US);
  }

  @Override
  int timeoutUs() {
    return timeoutUs;
  }

  private int ackTimeUs() {
    boolean isKnown = ackTimes + ackTimesBefore >= KNOWN_ACK_TIMES;
    int us = isKnown ? ackTimeUs : Math.max(ackTimeUs, assumedAckTimeUs());
    return maxAckDelayUs == UNKNOWN ? us : Math.min(us, assumedAckTimeUs());
  }

  /** If the peer's longest delay is not known, it is taken to be the interval of this side. */
  private int assumedAckTimeUs() {
    int delayUs = maxAckDelayUs == UNKNOWN ? intervalUs : maxAckDelayUs;
    return Math.min(rtt.srttUs() + delayUs, RttEstimator.MAX_RTO_US);
  }

  @Override
  void peerMaxAckDelay(int us) {
    maxAckDelayUs = us;
  }

  @Override
  void roundTripChanged() {
    timeoutUs = probeTimeoutUs();
  }

  /** Whether little is in flight: the next acknowledgement may be far away. */
  boolean isThin() {
    return bytesInFlight <= THIN_BYTES;
  }

  @Override
  boolean isCopied(int index) {
    int limit = ring.isLostByAcks(index) ? COPIED_BYTES : THIN_BYTES;
    return bytesInFlight <= limit && redundancy.isForRetransmissions();
  }

  /**
   * While many segments are in flight, their timeouts count from the last acknowledgement, if that
   * is later: the next one is likely to show what is lost.
   */
  @Override
  long timesOutAtUs(int index) {
    long timesOutAtUs = super.timesOutAtUs(index);
    long sinceProgressUs = Math.min(timeoutUs(index), timeoutUs); // Without a back-off.
    return isThin() ? timesOutAtUs : Math.max(timesOutAtUs, progressAtUs + sinceProgressUs);
  }

  // Acknowledgements

  @Override
  void acknowledged(int index, int ts, int rttUs, long nowUs) {
    if (isLastTransmission(index, ts)) {
      if (ring.transmissionNumber[index] - arrived > 0) {
        arrived(index, nowUs);
      } else if (isReordered(index, arrived, rttUs)) {
        window.reordered(rttUs - arrivedRttUs());
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
  void endAcks(long nowUs) {
    if (arrivedAtUs == nowUs) {
      rtt.sampleMinRtt(arrivedRttUs(), nowUs);
    }
    progressed(nowUs);
  }

  @Override
  void acknowledgedByUna(int from, int to, long nowUs) {
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
    if (isReordered(index, known, rttUs) && window.wasLateByUna(nowUs)) {
      window.reordered(rttUs - arrivedRttUs());
    }
  }

  @Override
  void endInput(long nowUs) {
    timeoutUs = probeTimeoutUs();
    super.endInput(nowUs);
    progressed(nowUs);
    updateHead();
  }

  private void earlierCovered(int index, long nowUs) {
    long sinceSentUs = nowUs - sentAtUs(index);
    long betweenUs = (long) (lastTs(index) - ring.previousTs[index]) * Kcp.US_PER_MS;
    boolean wasLate = ring.isLostByAcks(index) && window.wasLateByUna(nowUs);
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
        && !window.allowsFor(rttUs - arrivedRttUs());
  }

  /** The reordering window, in microseconds. */
  int windowUs() {
    return window.us();
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
      sampleAckTime(rttUs, nowUs);
      timeoutMargin.transmitted(transmissions);
      timeoutMargin.spurious();
      marginUs = timeoutMargin.us();
    } else if (wasLate) {
      window.retransmittedSpuriously(rttUs - arrivedRttUs());
    }
  }

  /** The retransmission of the segment at {@code index} was needed. */
  private void recovered(int index) {
    redundancy.retransmissionNeeded();
    if (ring.isLostByAcks(index)) {
      window.recovered();
    }
    timeoutMargin.transmitted(transmissions);
    timeoutMargin.needed();
    marginUs = timeoutMargin.us();
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
  void unaAdvances(int index, long nowUs) {
    if (transmissions(index) == 1 && !rtt.isSentBeforeStop(sentAtUs(index))) {
      long waitedUs = nowUs - sentAtUs(index);
      sampleAckTime(isThin() ? waitedUs : Math.max(waitedUs, assumedAckTimeUs()), nowUs);
    }
  }

  private void sampleAckTime(long sampleUs, long nowUs) {
    if (nowUs >= ackTimePeriodEndsAtUs) {
      beginAckTimePeriod(nowUs);
    }
    ackTimes = (byte) Math.min(ackTimes + 1, KNOWN_ACK_TIMES);
    if (sampleUs > ackTimeCountsAboveUs) {
      ackTime.sample(sampleUs);
      ackTimeChanged();
    }
  }

  private void beginAckTimePeriod(long nowUs) {
    boolean isNext = nowUs - ackTimePeriodEndsAtUs < LongestTime.PERIOD_US;
    ackTime.beginPeriod(isNext);
    ackTimesBefore = isNext ? ackTimes : 0;
    ackTimes = 0;
    ackTimePeriodEndsAtUs = nowUs + LongestTime.PERIOD_US;
    ackTimeChanged();
  }

  private void ackTimeChanged() {
    ackTimeUs = ackTime.us();
    ackTimeCountsAboveUs = ackTime.thirdUs();
  }

  // Losses

  @Override
  boolean isLossDetected(long nowUs) {
    return nowUs >= headLostAtUs;
  }

  @Override
  LossCause causeAtHead(boolean newAllowed, long nowUs) {
    return isLossDetected(nowUs) ? LossCause.TIME_THRESHOLD : null;
  }

  private void updateHead() {
    int head = order.head();
    boolean isOlder = head != NONE && ring.transmissionNumber[head] - arrived < 0;
    headLostAtUs = isOlder ? lostAtUs(head) : Kcp.NO_DEADLINE;
  }

  /**
   * When the segment at {@code index} counts as lost, of which a later one has arrived: at once if
   * that was sent later by the reordering window. Else when it is overdue by the window (RFC 8985
   * §6.2.5). A peer that may delay the ACK of a segment that closes a gap, as kcp-go does, has the
   * time for one more acknowledgement.
   */
  private long lostAtUs(int index) {
    long windowEndsAtUs = sentAtUs(index) + window.us();
    if (windowEndsAtUs <= arrivedSentAtUs) {
      return arrivedAtUs;
    }
    long overdueAtUs = windowEndsAtUs + arrivedRttUs();
    return maxAckDelayUs == UNKNOWN
        ? Math.max(overdueAtUs, sentAtUs(index) + ackTimeUs() + MARGIN_US)
        : overdueAtUs;
  }

  @Override
  long deadlineUs() {
    return Math.min(super.deadlineUs(), headLostAtUs);
  }
}
