package io.kcp4j.internal.congestion;

import io.kcp4j.internal.recovery.WindowedFilter;

/**
 * The queue on the path, as {@link BbrCongestionControl} sees it, and whether a competing flow
 * keeps it.
 *
 * <p><b>Length.</b> The queue is the shortest round trip of a round, less the shortest of the last
 * half minute to minute, so that a path may become longer. A queue that does not empty in a whole
 * round is standing: bursts and jitter do not make one. A round counts only if it has given several
 * round-trip times. Otherwise it is added to the next one: where acknowledgements are lost, or are
 * rare, a single round-trip time contains how long its acknowledgement has waited.
 *
 * <p><b>Competitor.</b> A competing flow such as TCP fills the queue until it loses packets, so the
 * queue still stands after {@code DOWN}, several times in a row. Losses with a standing queue point
 * to a competitor, since flows of this kind seldom cause any. So for some time after them a long
 * queue counts twice, and only a short one has drained: that of a competitor may fall just below a
 * standing one after each {@code DOWN}.
 *
 * <p>After its losses the competitor's queue may be too short to count as standing. So the verdict
 * lasts until a whole cycle has had no standing queue, or until {@code PROBE_RTT} finds the path
 * empty. Flows of this kind enter {@code PROBE_RTT} together, when they have all missed the
 * shortest round trip for as long; the last to leave meets the queue of the others again. A
 * competitor goes on meanwhile. But right after its losses it may leave no queue either; so for
 * some cycles fewer failed drains show that it is back.
 */
final class PathQueue {

  private static final int UNKNOWN = Integer.MAX_VALUE;

  private static final int MIN_SAMPLES = 3;

  /** A queue counts from a share of the shortest round trip on, within these limits. */
  private static final int MIN_THRESHOLD_US = 5_000;

  /** The shortest round trip may contain a queue that a competitor has never let drain. */
  private static final int MAX_THRESHOLD_US = 10_000;

  private static final int THRESHOLD_DIVISOR = 4;

  private static final int SHORTEST_RTT_PERIOD_US = 30_000_000;

  /** The queues in a row that still stand after DOWN, from which on there is a competitor. */
  private static final int MAX_FAILED_DRAINS = 8;

  /** The same after losses, if {@code PROBE_RTT} has ended a competitor's verdict not long ago. */
  private static final int MAX_FAILED_DRAINS_AGAIN = 4;

  private static final int REMEMBERED_CYCLES = 8;

  /** How long losses are remembered: CUBIC may need that time from one to the next. */
  private static final long LOSS_MEMORY_US = 20_000_000;

  private final WindowedFilter shortestRtt = WindowedFilter.minimum(SHORTEST_RTT_PERIOD_US);

  private int samples;

  /** The shortest of this round. */
  private int roundRttUs = UNKNOWN;

  /** That of the last round that counts, or UNKNOWN if the round after it has not counted. */
  private int leastRttUs = UNKNOWN;

  private boolean hasCompetitor;
  private int failedDrains;

  /** Whether a queue has stood in {@code CRUISE} in this cycle. */
  private boolean hasStood;

  private boolean hasLost;
  private long forgetsLossAtUs = Long.MIN_VALUE;

  /** For how many more cycles {@link #MAX_FAILED_DRAINS_AGAIN} is the limit. */
  private int cyclesToRemember;

  /** Takes a round-trip time. */
  void sample(int rttUs, long nowUs) {
    if (shortestRtt.isExpired(nowUs)) {
      leastRttUs = UNKNOWN;
      roundRttUs = UNKNOWN;
      samples = 0;
    }
    samples++;
    roundRttUs = Math.min(roundRttUs, rttUs);
    shortestRtt.sample(rttUs, nowUs);
  }

  /**
   * A round of any state ends.
   *
   * @param isLossy whether it has lost more than the path loses by itself
   */
  void endRound(boolean isLossy, long nowUs) {
    boolean counts = samples >= MIN_SAMPLES;
    leastRttUs = counts ? roundRttUs : UNKNOWN;
    if (counts) {
      samples = 0;
      roundRttUs = UNKNOWN;
    }
    if (isLossy && isStanding()) {
      forgetsLossAtUs = nowUs + LOSS_MEMORY_US;
    }
    hasLost = nowUs < forgetsLossAtUs;
    if (hasLost ? isShort() : hasDrained()) {
      failedDrains = 0;
    }
  }

  // Length

  /** Whether the last round tells the length. */
  boolean isKnown() {
    return leastRttUs != UNKNOWN;
  }

  /** How long datagrams have waited at least in the last round, in microseconds; 0 if not known. */
  int us() {
    int leastUs = leastRttUs; // Another thread may ask.
    return leastUs == UNKNOWN ? 0 : leastUs - shortestRttUs();
  }

  boolean isStanding() {
    return us() > thresholdUs();
  }

  /** Whether it exceeds twice the length of a standing queue. */
  private boolean isLong() {
    return us() > 2 * thresholdUs();
  }

  /** Whether it exceeds half the length of a standing queue: what a probe does to a path. */
  boolean isAboveHalf() {
    return us() > thresholdUs() / 2;
  }

  /** Whether the last round shows that it is at most half as long as a standing queue. */
  boolean isShort() {
    return isKnown() && !isAboveHalf();
  }

  /** Whether the last round shows that no queue is standing. */
  boolean hasDrained() {
    return isKnown() && !isStanding();
  }

  private int thresholdUs() {
    int shareUs = shortestRttUs() / THRESHOLD_DIVISOR;
    return Math.min(Math.max(shareUs, MIN_THRESHOLD_US), MAX_THRESHOLD_US);
  }

  /** The shortest round trip that is remembered, in microseconds; there was one. */
  int shortestRttUs() {
    return (int) shortestRtt.best();
  }

  // Competitor

  /** Whether a competing flow keeps the queue, so that yielding would not make it go away. */
  boolean hasCompetitor() {
    return hasCompetitor;
  }

  /** A round of {@code CRUISE} has ended with a standing queue. */
  void onDrainFailed() {
    hasStood = true;
    failedDrains += hasLost && isLong() ? 2 : 1;
    boolean isBack = hasLost && cyclesToRemember > 0;
    hasCompetitor |= failedDrains >= (isBack ? MAX_FAILED_DRAINS_AGAIN : MAX_FAILED_DRAINS);
  }

  /** A cycle ends. */
  void endCycle() {
    cyclesToRemember = Math.max(cyclesToRemember - 1, 0);
    hasCompetitor &= hasStood;
    hasStood = false;
  }

  /**
   * {@code PROBE_RTT} ends.
   *
   * @param rttUs its shortest round trip, which may show that there was no queue, apart from jitter
   */
  void endProbeRtt(int rttUs) {
    if (rttUs - shortestRttUs() <= thresholdUs() / 8) {
      cyclesToRemember = hasCompetitor ? REMEMBERED_CYCLES : cyclesToRemember;
      hasCompetitor = false;
      failedDrains = 0;
    }
  }
}
