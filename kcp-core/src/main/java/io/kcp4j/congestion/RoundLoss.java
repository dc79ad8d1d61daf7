package io.kcp4j.congestion;

/**
 * Whether losses are more than the path loses by itself. What it loses without a queue is learned.
 */
final class RoundLoss {

  private static final double GAIN = 1.0 / 16;

  private static final double MARGIN = Double.parseDouble(System.getProperty("bbr.loss", "0.02"));

  private static final double DEVIATIONS = 2;

  private static final int MIN_SEGMENTS = 3;

  private static final double HEAVY = 0.25;

  private static final int HEAVY_ROUNDS = 3;

  private double base;
  private long lostBefore;
  private long deliveredBefore;
  private double share;
  private double segments;
  private double lostSegments;
  private int heavyRounds;

  /** A round ends, in whose course so many bytes had been lost and delivered in all. */
  void endRound(long lost, long delivered, int segmentBytes) {
    lostSegments = Math.max(lost - lostBefore, 0) / (double) segmentBytes;
    segments = lostSegments + (delivered - deliveredBefore) / (double) segmentBytes;
    share = segments <= 0 ? 0 : lostSegments / segments;
    lostBefore = lost;
    deliveredBefore = delivered;
    heavyRounds = share > base + HEAVY ? heavyRounds + 1 : 0;
  }

  /** The round had no queue: its losses are those of the path. */
  void learn() {
    base += GAIN * (share - base);
  }

  /** Whether the round has lost more than the path does. */
  boolean isExcessive() {
    if (lostSegments < MIN_SEGMENTS) {
      return false;
    }
    double deviation = Math.sqrt(base * (1 - base) / segments) + 1 / segments;
    return share > base + MARGIN + DEVIATIONS * deviation;
  }

  /** Whether this has been so much in several rounds that it needs no queue as witness. */
  boolean isHeavy() {
    return heavyRounds >= HEAVY_ROUNDS;
  }

  double base() {
    return base;
  }
}
