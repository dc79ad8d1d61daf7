package io.kcp4j.congestion;

/**
 * Whether {@code STARTUP} has found the bandwidth of the path: in three rounds it has not grown by
 * a quarter (BBRv3's {@code full_bw}), or a queue has stood for two.
 */
final class FullBandwidth {

  private static final int MAX_ROUNDS = 3;

  private static final double LEAST_GROWTH = 1.25;

  private static final int MAX_QUEUE_ROUNDS = 2;

  private double grown;
  private int rounds;
  private int queueRounds;

  /** A round ends that the application has not limited. */
  void endRound(double bytesPerSecond, boolean isQueueStanding) {
    if (bytesPerSecond >= grown * LEAST_GROWTH) {
      grown = bytesPerSecond;
      rounds = 0;
    } else {
      rounds++;
    }
    queueRounds = isQueueStanding ? queueRounds + 1 : 0;
  }

  boolean isReached() {
    return rounds >= MAX_ROUNDS || queueRounds >= MAX_QUEUE_ROUNDS;
  }
}
