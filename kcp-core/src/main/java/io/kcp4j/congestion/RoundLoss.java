package io.kcp4j.congestion;

/**
 * Losses, round by round, and whether they are more than the path loses by itself: that is learned
 * from rounds without a queue.
 */
final class RoundLoss {

  private static final double GAIN = 1.0 / 16;

  /** BBRv3's BBRLossThresh. */
  private static final double MARGIN = 0.02;

  /** Standard deviations that chance is allowed. */
  private static final int DEVIATIONS = 2;

  private static final int MIN_SEGMENTS = 3;

  /** A path that loses so much more for several rounds is congested whatever its queue. */
  private static final double HEAVY = 0.25;

  private static final int HEAVY_ROUNDS = 3;

  private double base;
  private long lostBefore;
  private long deliveredBefore;
  private double lostSegments;
  private double segments;
  private double share;
  private int heavyRounds;

  /** A round ends, until which so many bytes had been lost and delivered in all. */
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

  /** Whether the round has lost so much more than the path does by itself that it is congested. */
  boolean isExcessive() {
    if (lostSegments < MIN_SEGMENTS) {
      return false;
    }
    double deviation = Math.sqrt(base * (1 - base) / segments) + 1 / segments;
    return share > base + MARGIN + DEVIATIONS * deviation;
  }

  /** Whether this and the last rounds have lost so much that no queue is needed as a witness. */
  boolean isHeavy() {
    return heavyRounds >= HEAVY_ROUNDS;
  }
}
