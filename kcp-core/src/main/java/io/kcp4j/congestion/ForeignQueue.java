package io.kcp4j.congestion;

/**
 * Whether the queue on the path is another sender's, which fills it until it loses: it still stands
 * after {@code DOWN}, several times in a row. After its losses such a queue is shorter, perhaps too
 * short to count as standing. So it is another's until no queue has stood for a whole cycle, or
 * until none at all is left at the end of {@code PROBE_RTT}. Flows of this kind enter that
 * together, when they have all missed the shortest round trip for as long. Another sender goes on
 * meanwhile.
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

  /** A round ends, in whatever state. */
  void endRound(boolean hasDrained) {
    if (hasDrained) {
      failedDrains = 0;
    }
  }

  /** A round of {@code CRUISE} ends with a standing queue. */
  void onDrainFailed() {
    hasStood = true;
    failedDrains++;
    isPresent |= failedDrains >= MAX_FAILED_DRAINS;
  }

  /** A cycle ends. */
  void endCycle() {
    isPresent &= hasStood;
    hasStood = false;
  }

  /** {@code PROBE_RTT} ends. */
  void endProbeRtt(boolean isQueueEmpty) {
    if (isQueueEmpty) {
      isPresent = false;
      failedDrains = 0;
    }
  }
}
