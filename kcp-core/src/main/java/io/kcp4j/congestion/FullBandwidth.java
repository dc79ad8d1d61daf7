package io.kcp4j.congestion;

/**
 * Whether {@code STARTUP} has found the bandwidth of the path: for three rounds it has not grown by
 * a quarter (BBRv3's {@code full_bw}), or a queue has stood for two.
 */
final class FullBandwidth {

  private static final int MAX_ROUNDS = 3;

  private static final double LEAST_GROWTH = 1.25;

  private static final int MAX_QUEUE_ROUNDS = 2;

  private double lastGrown;
  private int roundsWithoutGrowth;
  private int queueRounds;

  /** A round ends that the application has not limited. */
  void endRound(double bytesPerSecond, boolean isQueueStanding) {
    if (bytesPerSecond >= lastGrown * LEAST_GROWTH) {
      lastGrown = bytesPerSecond;
      roundsWithoutGrowth = 0;
    } else {
      roundsWithoutGrowth++;
    }
    queueRounds = isQueueStanding ? queueRounds + 1 : 0;
  }

  boolean isReached() {
    return roundsWithoutGrowth >= MAX_ROUNDS || queueRounds >= MAX_QUEUE_ROUNDS;
  }
}
