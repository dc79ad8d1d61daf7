package io.kcp4j.congestion;

/**
 * Whether the queue on the path is another sender's, which fills it until it loses: it still stands
 * after {@code DOWN}, several times in a row. After its losses such a queue is shorter, perhaps too
 * short to count as standing. So it is another's until no queue has stood for a whole cycle, or
 * until none at all is left at the end of {@code PROBE_RTT}. Flows of this kind enter that
 * together, when they have all missed the shortest round trip for as long. Another sender goes on
 * meanwhile. But right after its losses it may leave no queue either; so for some cycles fewer
 * failed drains show that it is back.
 */
final class ForeignQueue {

  /** So many queues in a row may still stand after DOWN. */
  private static final int MAX_FAILED_DRAINS = 6;

  /** So many, if {@code PROBE_RTT} has ended the presence of another sender not long ago. */
  private static final int MAX_FAILED_DRAINS_AGAIN = 3;

  private static final int REMEMBERED_CYCLES = 8;

  /** For how many more cycles {@link #MAX_FAILED_DRAINS_AGAIN} is the limit. */
  private int cyclesToRemember;

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
    int limit = cyclesToRemember > 0 ? MAX_FAILED_DRAINS_AGAIN : MAX_FAILED_DRAINS;
    isPresent |= failedDrains >= limit;
  }

  /** A cycle ends. */
  void endCycle() {
    cyclesToRemember = Math.max(cyclesToRemember - 1, 0);
    isPresent &= hasStood;
    hasStood = false;
  }

  /** {@code PROBE_RTT} ends. */
  void endProbeRtt(boolean isQueueEmpty) {
    if (isQueueEmpty) {
      cyclesToRemember = isPresent ? REMEMBERED_CYCLES : cyclesToRemember;
      isPresent = false;
      failedDrains = 0;
    }
  }
}
