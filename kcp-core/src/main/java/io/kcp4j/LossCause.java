package io.kcp4j;

/** Why a segment counts as lost. */
public enum LossCause {
  /** Enough segments that were sent after it have been acknowledged: protocol.md 4.4. */
  FAST_RETRANSMIT(KcpCounter.FAST_RETRANSMITTED),
  /**
   * One segment that was sent after it has been acknowledged, and nothing new may be sent:
   * protocol.md 4.5.
   */
  EARLY_RETRANSMIT(KcpCounter.EARLY_RETRANSMITTED),
  /**
   * A segment that was sent after it has been acknowledged, and it is overdue by more than the
   * reordering window: protocol.md 4.9.
   */
  TIME_THRESHOLD(KcpCounter.TIME_THRESHOLD_RETRANSMITTED),
  /** Its retransmission timeout, or probe timeout, has passed: protocol.md 4.3 and 4.10. */
  TIMEOUT(KcpCounter.TIMED_OUT);

  private final KcpCounter counter;

  LossCause(KcpCounter counter) {
    this.counter = counter;
  }

  /** What counts the retransmissions of this cause. */
  KcpCounter counter() {
    return counter;
  }
}
