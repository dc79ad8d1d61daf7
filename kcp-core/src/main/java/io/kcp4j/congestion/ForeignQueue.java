package io.kcp4j.congestion;

/**
 * Whether the queue on the path is another sender's, which fills it until it loses: it still stands
 * after {@code DOWN}, several times in a row. After its losses such a queue is shorter, perhaps too
 * short to count as standing. So it is another's until no queue has stood for a whole cycle.
 */
final class ForeignQueue {

  /** So many queues in a row may still stand after DOWN. */
  private static final int MAX_FAILED_DRAINS = 6;

  private int failedDrains;
  private boolean isPresent;
  private boolean hasStood;

  /** Whether another sender fills the queue. */
  boolean isPresent() {
    return isPresent;
  }

  /** A round of {@code CRUISE} ends, with or without a standing queue. */
  void endRound(boolean isQueueStanding) {
    hasStood |= isQueueStanding;
    failedDrains = isQueueStanding ? failedDrains + 1 : 0;
    isPresent |= failedDrains >= MAX_FAILED_DRAINS;
  }

  /** A cycle ends. */
  void endCycle() {
    isPresent &= hasStood;
    hasStood = false;
  }
}
