package io.kcp4j;

/**
 * KCP's own loss detection. A segment is lost when enough segments that were sent after it have
 * been acknowledged (fast retransmit, protocol.md 4.4), when one has and nothing new may be sent
 * (early retransmit, 4.5), or when its retransmission timeout has passed (4.3).
 *
 * <p>The skip counts are in {@link TransmissionOrder}; only its head has to be looked at. Timeouts
 * differ between segments, since each backs off on its own, so a search for them goes through all
 * segments in flight. It begins only when {@link #deadlineUs} has passed, and when the pacer
 * interrupts it, the next flush resumes it: a search costs a few nanoseconds for each segment in
 * flight, in however many flushes.
 */
final class SkipCountDetector extends LossDetector {

  private final RttEstimator rtt;

  private int fastThreshold;
  private int earlyThreshold;
  private boolean noDelay;

  // The arrays of the ring.

  private int[] rtoUs;
  private long[] retransmitAtUs;

  /**
   * No segment times out before this; while a search is unfinished, none of those behind its
   * cursor. Exact after a search that was not interrupted.
   */
  private long timeoutBoundUs = Kcp.NO_DEADLINE;

  private boolean searching;

  /** The bound that had passed when the unfinished search began. */
  private long searchBoundUs;

  private LossCause cause;

  SkipCountDetector(RttEstimator rtt) {
    this.rtt = rtt;
  }

  @Override
  void configure(KcpConfig config) {
    fastThreshold = config.fastRetransmit();
    earlyThreshold = config.earlyRetransmit() ? Math.min(1, fastThreshold) : fastThreshold;
    noDelay = config.noDelay();
  }

  @Override
  void use(SendRing ring) {
    super.use(ring);
    rtoUs = ring.rtoUs;
    retransmitAtUs = ring.retransmitAtUs;
  }

  // Transmissions

  @Override
  void sent(int index, int ts, long nowUs) {
    super.sent(index, ts, nowUs);
    setTimeout(index, rtt.rtoUs(), nowUs);
  }

  /** Only a timeout backs off: an acknowledgement of a later segment shows that the path works. */
  @Override
  void retransmitted(int index, int ts, long nowUs) {
    super.retransmitted(index, ts, nowUs);
    int timeoutUs = cause == LossCause.TIMEOUT ? rtt.backOff(rtoUs[index], noDelay) : rtt.rtoUs();
    setTimeout(index, timeoutUs, nowUs);
  }

  private void setTimeout(int index, int timeoutUs, long nowUs) {
    rtoUs[index] = timeoutUs;
    retransmitAtUs[index] = nowUs + timeoutUs;
    timeoutBoundUs = Math.min(timeoutBoundUs, nowUs + timeoutUs);
  }

  // Acknowledgements

  /** Only an ACK of the last transmission shows that what was sent before it was skipped. */
  @Override
  void acknowledged(int index, int ts, long nowUs) {
    if (isLastTransmission(index, ts)) {
      order.countSkippedBefore(index);
    }
    super.acknowledged(index, ts, nowUs);
    clearTimeoutsIfNoneInFlight();
  }

  @Override
  void acknowledgedByUna(int index, long nowUs) {
    super.acknowledgedByUna(index, nowUs);
    clearTimeoutsIfNoneInFlight();
  }

  private void clearTimeoutsIfNoneInFlight() {
    if (unacknowledged() == 0) {
      timeoutBoundUs = Kcp.NO_DEADLINE;
      searching = false;
    }
  }

  /**
   * Resets the back-off of the oldest segment: the peer has just made progress, so whatever made
   * the timeouts grow is over, and this one segment blocks the rest.
   */
  @Override
  void unaAdvanced(int index, long nowUs) {
    if (retransmitAtUs[index] > nowUs + rtt.rtoUs()) {
      setTimeout(index, rtt.rtoUs(), nowUs);
    }
  }

  // Losses

  @Override
  boolean isLossDetected() {
    return isSkipCountReached(fastThreshold);
  }

  @Override
  boolean isLossSuspected() {
    return isSkipCountReached(earlyThreshold);
  }

  private boolean isSkipCountReached(int threshold) {
    return threshold > 0 && order.headSkipCount() >= threshold;
  }

  @Override
  boolean isSearchDue(boolean newAllowed, long nowUs) {
    return isHeadSkipped(newAllowed) || nowUs >= deadlineUs();
  }

  private boolean isHeadSkipped(boolean newAllowed) {
    return newAllowed ? isLossDetected() : isLossSuspected();
  }

  @Override
  int nextLost(boolean newAllowed, long nowUs) {
    if (isHeadSkipped(newAllowed)) {
      cause = isLossDetected() ? LossCause.FAST_RETRANSMIT : LossCause.EARLY_RETRANSMIT;
      return order.head();
    }
    if (cause != LossCause.TIMEOUT && nowUs < deadlineUs()) {
      return NONE;
    }
    cause = LossCause.TIMEOUT; // The search that has begun is continued until it returns NONE.
    int index = nextTimedOut(nowUs);
    if (index == NONE) {
      cause = null;
    }
    return index;
  }

  @Override
  LossCause cause() {
    return cause;
  }

  @Override
  long deadlineUs() {
    return searching && !order.isCursorAtEnd() ? searchBoundUs : timeoutBoundUs;
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
      timeoutBoundUs = Kcp.NO_DEADLINE;
    } else if (order.isCursorAtEnd()) {
      i = NONE;
    }
    for (; i != NONE; i = order.next(i)) {
      if (retransmitAtUs[i] <= nowUs) {
        order.cursor(i);
        return i;
      }
      timeoutBoundUs = Math.min(timeoutBoundUs, retransmitAtUs[i]);
    }
    searching = false;
    return NONE;
  }
}
