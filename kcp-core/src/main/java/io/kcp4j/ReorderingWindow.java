package io.kcp4j;

/**
 * RACK's reordering window (RFC 8985 §6.2.4): by how much earlier than one that has arrived a
 * segment must have been sent to count as lost. It follows how late segments are, and is narrow
 * again after some losses: protocol.md 4.9.
 *
 * <p>Where only {@code una} tells that a segment was late, its ACK may have been lost instead,
 * which looks the same. That is believed only when it happens more often than losses.
 */
final class ReorderingWindow {

  /** RFC 8985 begins without a window; timestamps count milliseconds. */
  static final int MIN_US = 2_000;

  /** How much wider it is than the latest segment was late: timestamps count milliseconds. */
  private static final int MARGIN_US = 1_000;

  /** RFC 8985 §6.2.4: how many recoveries the window stays wide. */
  private static final int WIDE_RECOVERIES = 16;

  /** So many segments that are late as {@code una} tells are taken for lost ACKs. */
  private static final int LOST_ACKS = 2;

  private final RttEstimator rtt;

  private int us = MIN_US;
  private int wideRecoveries;

  /** How often segments were late as {@code una} tells; each loss since takes one off. */
  private int lateByUna;

  private long lateByUnaAtUs;

  ReorderingWindow(RttEstimator rtt) {
    this.rtt = rtt;
  }

  /** The window, in microseconds: at most half a round trip, which may have become shorter. */
  int us() {
    return Math.max(MIN_US, Math.min(us, rtt.srttUs() / 2));
  }

  /** Whether a segment may be so late without counting as lost. */
  boolean allowsFor(long lateUs) {
    return lateUs + MARGIN_US <= us();
  }

  /**
   * Whether a segment was late that {@code una} has shown to have arrived. Several at the same time
   * count once.
   */
  boolean wasLateByUna(long nowUs) {
    if (nowUs != lateByUnaAtUs) {
      lateByUnaAtUs = nowUs;
      lateByUna++;
    }
    return lateByUna > LOST_ACKS;
  }

  /**
   * A reordered segment was so late. RFC 8985 makes the window a quarter of the round trip then,
   * which is far too wide for most; no wider here.
   */
  void reordered(long lateUs) {
    widen(Math.min(lateUs + MARGIN_US, rtt.minRttUs() / 4));
  }

  /** A segment was so late, and has been retransmitted for it. */
  void retransmittedSpuriously(long lateUs) {
    widen(lateUs + MARGIN_US);
  }

  private void widen(long atLeastUs) {
    us = (int) Math.max(us(), Math.min(atLeastUs, rtt.srttUs() / 2));
    wideRecoveries = WIDE_RECOVERIES;
  }

  /** A retransmission has turned out to be needed. */
  void recovered() {
    lateByUna = Math.max(lateByUna - 1, 0);
    if (wideRecoveries > 0 && --wideRecoveries == 0) {
      us = MIN_US;
    }
  }
}
