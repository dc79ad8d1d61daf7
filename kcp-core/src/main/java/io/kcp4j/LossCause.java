package io.kcp4j;

/** Why a segment counts as lost. */
enum LossCause {
  /** Enough segments that were sent after it have been acknowledged. */
  FAST_RETRANSMIT(KcpCounter.FAST_RETRANSMITTED),
  /** One segment that was sent after it has been acknowledged, and nothing new may be sent. */
  EARLY_RETRANSMIT(KcpCounter.EARLY_RETRANSMITTED),
  /** Its retransmission timeout has passed. */
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
