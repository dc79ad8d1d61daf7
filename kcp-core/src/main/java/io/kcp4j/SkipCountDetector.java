package io.kcp4j;

/**
 * KCP's own loss detection. A segment is lost when enough segments that were sent after it have
 * been acknowledged (fast retransmit, protocol.md 4.4), when one has and nothing new may be sent
 * (early retransmit, 4.5), or when its retransmission timeout has passed (4.3).
 *
 * <p>The skip counts are in {@link TransmissionOrder}; only its head has to be looked at. Timeouts
 * differ between segments, since each backs off on its own, so a search for them goes through all
 * segments in flight. It begins only when {@link #deadlineMs} has passed, and when the pacer
 * interrupts it, the next flush resumes it: a search costs a few nanoseconds for each segment in
 * flight, in however many flushes.
 */
final class SkipCountDetector extends LossDetector {

  private final RttEstimator rtt;

  private int fastThreshold;
  private int earlyThreshold;
  private boolean noDelay;

  // The arrays of the ring.

  private int[] rtoMs;
  private long[] retransmitAtMs;

  /**
   * No segment times out before this; while a search is unfinished, none of those behind its
   * cursor. Exact after a search that was not interrupted.
   */
  private long timeoutBoundMs = Kcp.NO_DEADLINE;

  private boolean searching;

  /** The bound that had passed when the unfinished search began. */
  private long searchBoundMs;

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
    rtoMs = ring.rtoMs;
    retransmitAtMs = ring.retransmitAtMs;
  }

  // Transmissions

  @Override
  void sent(int index, int ts, long nowMs) {
    super.sent(index, ts, nowMs);
    setTimeout(index, rtt.rtoMs(), nowMs);
  }

  /** Only a timeout backs off: an acknowledgement of a later segment shows that the path works. */
  @Override
  void retransmitted(int index, int ts, long nowMs) {
    super.retransmitted(index, ts, nowMs);
    int timeoutMs = cause == LossCause.TIMEOUT ? rtt.backOff(rtoMs[index], noDelay) : rtt.rtoMs();
    setTimeout(index, timeoutMs, nowMs);
  }

  private void setTimeout(int index, int timeoutMs, long nowMs) {
    rtoMs[index] = timeoutMs;
    retransmitAtMs[index] = nowMs + timeoutMs;
    timeoutBoundMs = Math.min(timeoutBoundMs, nowMs + timeoutMs);
  }

  // Acknowledgements

  /** Only an ACK of the last transmission shows that what was sent before it was skipped. */
  @Override
  void acknowledged(int index, int ts, long nowMs) {
    if (isLastTransmission(index, ts)) {
      order.countSkippedBefore(index);
    }
    super.acknowledged(index, ts, nowMs);
    clearTimeoutsIfNoneInFlight();
  }

  @Override
  void acknowledgedByUna(int index, long nowMs) {
    super.acknowledgedByUna(index, nowMs);
    clearTimeoutsIfNoneInFlight();
  }

  private void clearTimeoutsIfNoneInFlight() {
    if (unacknowledged() == 0) {
      timeoutBoundMs = Kcp.NO_DEADLINE;
      searching = false;
    }
  }

  /**
   * Resets the back-off of the oldest segment: the peer has just made progress, so whatever made
   * the timeouts grow is over, and this one segment blocks the rest.
   */
  @Override
  void unaAdvanced(int index, long nowMs) {
    if (retransmitAtMs[index] > nowMs + rtt.rtoMs()) {
      setTimeout(index, rtt.rtoMs(), nowMs);
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
  boolean isSearchDue(boolean newAllowed, long nowMs) {
    return isHeadSkipped(newAllowed) || nowMs >= deadlineMs();
  }

  private boolean isHeadSkipped(boolean newAllowed) {
    return newAllowed ? isLossDetected() : isLossSuspected();
  }

  @Override
  int nextLost(boolean newAllowed, long nowMs) {
    if (isHeadSkipped(newAllowed)) {
      cause = isLossDetected() ? LossCause.FAST_RETRANSMIT : LossCause.EARLY_RETRANSMIT;
      return order.head();
    }
    if (cause != LossCause.TIMEOUT && nowMs < deadlineMs()) {
      return NONE;
    }
    cause = LossCause.TIMEOUT; // The search that has begun is continued until it returns NONE.
    int index = nextTimedOut(nowMs);
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
  long deadlineMs() {
    return searching && !order.isCursorAtEnd() ? searchBoundMs : timeoutBoundMs;
  }

  /**
   * The next segment that has timed out, or {@link #NONE}. Resumes where the last call stopped,
   * whose segment has been transmitted or acknowledged since. Begins anew when a segment behind the
   * cursor has timed out.
   */
  private int nextTimedOut(long nowMs) {
    if (!searching) {
      searchBoundMs = timeoutBoundMs;
      searching = true;
      order.cursor(NONE);
    }
    int i = order.cursor();
    if (i == NONE || timeoutBoundMs <= nowMs) {
      i = order.head();
      timeoutBoundMs = Kcp.NO_DEADLINE;
    } else if (order.isCursorAtEnd()) {
      i = NONE;
    }
    for (; i != NONE; i = order.next(i)) {
      if (retransmitAtMs[i] <= nowMs) {
        order.cursor(i);
        return i;
      }
      timeoutBoundMs = Math.min(timeoutBoundMs, retransmitAtMs[i]);
    }
    searching = false;
    return NONE;
  }
}
