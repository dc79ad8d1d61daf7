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
  /** Its retransmission timeout has passed: protocol.md 4.3. */
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
