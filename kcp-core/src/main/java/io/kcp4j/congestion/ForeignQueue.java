package io.kcp4j.congestion;

/**
 * Whether the queue on the path is another sender's, which fills it until it loses: it still stands
 * after {@code DOWN}, several times in a row. Losses with a standing queue point to such a sender,
 * since flows of this kind seldom cause any. So for some time after them a long queue counts twice,
 * and only a short one has drained: another's may be just below a standing one after each {@code
 * DOWN}.
 *
 * <p>After its losses such a queue is shorter, perhaps too short to count as standing. So it is
 * another's until no queue has stood for a whole cycle, or until {@code PROBE_RTT} has seen none at
 * all. Flows of this kind enter that together, when they have all missed the shortest round trip
 * for as long; the last to leave meets the queue of the others again. Another sender goes on
 * meanwhile. But right after its losses it may leave no queue either; so for some cycles fewer
 * failed drains show that it is back.
 */
final class ForeignQueue {

  /** So many queues in a row may still stand after DOWN. */
  private static final int MAX_FAILED_DRAINS = 8;

  /**
   * So many after losses, if {@code PROBE_RTT} has ended the presence of another sender not long
   * ago.
   */
  private static final int MAX_FAILED_DRAINS_AGAIN = 4;

  private static final int REMEMBERED_CYCLES = 8;

  /** How long losses are remembered: CUBIC may take so long from one to the next. */
  private static final long LOSS_MEMORY_US = 20_000_000;

  /** For how many more cycles {@link #MAX_FAILED_DRAINS_AGAIN} is the limit. */
  private int cyclesToRemember;

  private int failedDrains;
  private boolean isPresent;
  private boolean hasStood;
  private boolean hasLost;
  private long forgetsLossAtUs = Long.MIN_VALUE;

  /** Whether another sender fills the queue. */
  boolean isPresent() {
    return isPresent;
  }

  /**
   * A round ends, in whatever state.
   *
   * @param isLossy whether it has lost more than the path loses by itself
   */
  void endRound(StandingQueue queue, boolean isLossy, long nowUs) {
    if (isLossy && queue.isStanding()) {
      forgetsLossAtUs = nowUs + LOSS_MEMORY_US;
    }
    hasLost = nowUs < forgetsLossAtUs;
    if (hasLost ? queue.isShort() : queue.hasDrained()) {
      failedDrains = 0;
    }
  }

  /** A round of {@code CRUISE} has ended with a standing queue. */
  void onDrainFailed(StandingQueue queue) {
    hasStood = true;
    failedDrains += hasLost && queue.isLong() ? 2 : 1;
    boolean isBack = hasLost && cyclesToRemember > 0;
    isPresent |= failedDrains >= (isBack ? MAX_FAILED_DRAINS_AGAIN : MAX_FAILED_DRAINS);
  }

  /** A cycle ends. */
  void endCycle() {
    cyclesToRemember = Math.max(cyclesToRemember - 1, 0);
    isPresent &= hasStood;
    hasStood = false;
  }

  /**
   * {@code PROBE_RTT} ends.
   *
   * @param wasQueueEmpty whether its shortest round trip shows that there was no queue
   */
  void endProbeRtt(boolean wasQueueEmpty) {
    if (wasQueueEmpty) {
      cyclesToRemember = isPresent ? REMEMBERED_CYCLES : cyclesToRemember;
      isPresent = false;
      failedDrains = 0;
    }
  }
}
