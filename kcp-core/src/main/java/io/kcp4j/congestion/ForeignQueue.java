package io.kcp4j.congestion;

/**
 * Whether the queue on the path is another sender's, which fills it until it loses: it still stands
 * after {@code DOWN}, several times in a row. After its losses such a queue is shorter, perhaps too
 * short to count as standing. So it is another's until no queue has stood for a whole cycle, or
 * until several times in a row none has stood after {@code PROBE_RTT}: then it is our own.
 */
final class ForeignQueue {

  /** So many queues in a row may still stand after DOWN. */
  private static final int MAX_FAILED_DRAINS = 6;

  /** Another sender that has just lost leaves no queue either, but not so often in a row. */
  private static final int MIN_EMPTY_PROBES = 3;

  private int failedDrains;
  private int emptyProbes;
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
    if (failedDrains >= MAX_FAILED_DRAINS && !isPresent) {
      isPresent = true;
      emptyProbes = 0;
    }
  }

  /** A cycle ends. */
  void endCycle() {
    isPresent &= hasStood;
    hasStood = false;
  }

  /** {@code PROBE_RTT} ends. */
  void endProbeRtt(boolean hasDrained) {
    emptyProbes = hasDrained ? emptyProbes + 1 : 0;
    if (isPresent && emptyProbes >= MIN_EMPTY_PROBES) {
      isPresent = false;
      failedDrains = 0;
    }
  }
}
