package io.kcp4j.internal.recovery;

/**
 * Whether a path is worth redundancy: whether retransmissions and acknowledgements leave twice
 * (protocol.md 3.3 and 4.9). Only losses that are confirmed count. While a queue on the path or on
 * a host grows, losses come from it, and whatever is sent twice adds to them.
 */
public final class Redundancy {

  /** How long a path counts as lossy after a loss. */
  private static final int LOSSY_US = 10_000_000;

  /** The most needed retransmissions, or spurious ones, that are remembered. */
  private static final int MAX_BALANCE = 8;

  /** A path has a queue if round trips take this much longer than twice the shortest. */
  private static final int QUEUE_US = 30_000;

  /**
   * Or if they vary by more than this. ACKs that a peer sends every 40 ms make them vary by 10 ms,
   * jitter by less. A queue that never empties shows only in this: the shortest round trip has
   * waited in it, too.
   */
  private static final int QUEUE_VARIATION_US = 15_000;

  private final RttEstimator rtt;

  private boolean isLossy;

  /** Whether a segment was lost since the last flush. */
  private boolean hasLost;

  private long lostAtUs;

  /** Needed retransmissions less spurious ones. */
  private int balance;

  public Redundancy(RttEstimator rtt) {
    this.rtt = rtt;
  }

  /** An ACK shows that a retransmission of this side was needed. */
  void retransmissionNeeded() {
    hasLost = true;
    balance = Math.min(balance + 1, MAX_BALANCE);
  }

  /** An acknowledgement shows that a retransmission of this side was spurious. */
  void retransmissionSpurious() {
    balance = Math.max(balance - 1, -MAX_BALANCE);
  }

  /** A segment of the peer was lost: its retransmission has arrived, or FEC has recovered it. */
  public void segmentLost() {
    hasLost = true;
  }

  /** A flush begins that sends something. Losses count from now on. */
  public void flush(long nowUs) {
    if (hasLost) {
      hasLost = false;
      isLossy = true;
      lostAtUs = nowUs;
    } else if (isLossy) {
      isLossy = nowUs - lostAtUs < LOSSY_US;
    }
  }

  /**
   * Whether no losses are known, and most of the latest retransmissions were spurious. On a lossy
   * path, many may be: FEC can recover a segment after it has timed out.
   */
  boolean isMostlySpurious() {
    return balance < 0 && !isLossy;
  }

  /** Whether retransmissions leave twice. */
  boolean isForRetransmissions() {
    return !isMostlySpurious() && !isQueueing();
  }

  /** Whether acknowledgements leave twice, and at once: for some time after a loss. */
  public boolean isForAcks() {
    return isLossy && !isQueueing();
  }

  private boolean isQueueing() {
    return rtt.srttUs() - QUEUE_US > 2 * rtt.minRttUs() || rtt.rttVarUs() > QUEUE_VARIATION_US;
  }
}
