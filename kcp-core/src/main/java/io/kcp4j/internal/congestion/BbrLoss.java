package io.kcp4j.internal.congestion;

/**
 * What {@link BbrCongestionControl} makes of losses. Round by round, it compares them with what the
 * path loses by itself, which it learns from rounds without a queue. And while timeouts go on for
 * two round trips without an acknowledgement, it halves the rate.
 */
final class BbrLoss {

  private static final double GAIN = 1.0 / 16;

  /** BBRv3's BBRLossThresh. */
  private static final double MARGIN = 0.02;

  /** Standard deviations that chance is allowed. */
  private static final int DEVIATIONS = 2;

  private static final int MIN_SEGMENTS = 3;

  /** A path that loses this share more for several rounds is congested whatever its queue. */
  private static final double HEAVY = 0.25;

  private static final int HEAVY_ROUNDS = 3;

  private static final int MAX_HALVINGS = 6;

  /** The share of segments that the path loses by itself. */
  private double base;

  private long lostBefore;
  private long deliveredBefore;

  // The last round:
  private double lostSegments;
  private double segments;
  private double share;
  private int heavyRounds;

  private boolean hasTimedOut;
  private long timedOutSinceUs;
  private int halvings;

  // Rounds

  /**
   * A round ends.
   *
   * @param lost the bytes that had been lost in all until then
   * @param delivered the bytes that had been delivered in all
   */
  void endRound(long lost, long delivered, int segmentBytes) {
    lostSegments = (double) Math.max(lost - lostBefore, 0) / segmentBytes;
    segments = lostSegments + (double) (delivered - deliveredBefore) / segmentBytes;
    share = segments == 0 ? 0 : lostSegments / segments;
    lostBefore = lost;
    deliveredBefore = delivered;
    heavyRounds = share > base + HEAVY ? heavyRounds + 1 : 0;
  }

  /** The round had no queue: its losses are those of the path. */
  void learn() {
    base += GAIN * (share - base);
  }

  /** Whether the round has lost more than the path does by itself, perhaps a segment only. */
  boolean isUnusual() {
    return lostSegments > 0 && share > base + DEVIATIONS * Math.sqrt(base * (1 - base) / segments);
  }

  /**
   * Whether the round has lost so much more than the path does by itself that it is congested if
   * there is a queue.
   */
  boolean isExcessive() {
    if (lostSegments < MIN_SEGMENTS) {
      return false;
    }
    double deviation = Math.sqrt(base * (1 - base) / segments) + 1 / segments;
    return share > base + MARGIN + DEVIATIONS * deviation;
  }

  /** Whether this and the last rounds have lost so much that they are congested without a queue. */
  boolean isHeavy() {
    return heavyRounds >= HEAVY_ROUNDS;
  }

  // Timeouts

  /** Segments have timed out. */
  void timedOut(int rttUs, long nowUs) {
    if (!hasTimedOut) {
      hasTimedOut = true;
      timedOutSinceUs = nowUs;
    } else if (nowUs - timedOutSinceUs >= 2L * rttUs) {
      halvings = Math.min(halvings + 1, MAX_HALVINGS);
      timedOutSinceUs = nowUs;
    }
  }

  /** An acknowledgement has come, or timeouts may have had another reason than the path. */
  void resetBackOff() {
    hasTimedOut = false;
    halvings = 0;
  }

  /** Whether segments have timed out since the last acknowledgement. */
  boolean hasTimedOut() {
    return hasTimedOut;
  }

  /** The rate, halved as often as the timeouts demand. */
  long backOff(double bytesPerSecond) {
    return (long) bytesPerSecond >> halvings;
  }
}
