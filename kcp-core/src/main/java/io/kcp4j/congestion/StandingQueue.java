package io.kcp4j.congestion;

/**
 * The queue on the path: by how much the shortest round trip of a round exceeds the shortest of the
 * last seconds. A queue that does not empty in a whole round is standing.
 */
final class StandingQueue {

  static final int UNKNOWN = Integer.MAX_VALUE;

  private static final int MIN_US = Integer.getInteger("bbr.queueMinUs", 5_000);

  private static final int RTT_DIVISOR = Integer.getInteger("bbr.queueDivisor", 4);

  private int minRttUs = UNKNOWN;
  private long minRttAtUs;
  private int roundRttUs = UNKNOWN;
  private int leastRttUs = UNKNOWN;
  private int samples;

  private static final long PERIOD_US = Long.getLong("bbr.basePeriod", 30_000_000);
  private int baseUs = UNKNOWN;
  private int baseBeforeUs = UNKNOWN;
  private long periodEndsAtUs;

  private int baseRttUs() {
    return Math.min(Math.min(baseUs, baseBeforeUs), minRttUs);
  }

  void sample(int rttUs, long nowUs) {
    samples++;
    roundRttUs = Math.min(roundRttUs, rttUs);
    if (nowUs >= periodEndsAtUs) {
      baseBeforeUs = baseUs;
      baseUs = UNKNOWN;
      periodEndsAtUs = nowUs + PERIOD_US;
    }
    baseUs = Math.min(baseUs, rttUs);
    if (rttUs <= minRttUs) {
      minRttUs = Math.max(rttUs, 1);
      minRttAtUs = nowUs;
    }
  }

  /** A round ends. */
  void endRound(long nowUs) {
    if (samples < MIN_SAMPLES) {
      leastRttUs = UNKNOWN;
      return;
    }
    samples = 0;
    leastRttUs = roundRttUs;
    roundRttUs = UNKNOWN;
    if (isKnown() && leastRttUs <= minRttUs + toleranceUs()) {
      minRttAtUs = nowUs;
    }
  }

  private static final int MIN_SAMPLES = Integer.getInteger("bbr.samples", 3);

  boolean isJudged() {
    return leastRttUs != UNKNOWN;
  }

  private int toleranceUs() {
    return Integer.getInteger("bbr.rttTolerance", 1000);
  }

  boolean isKnown() {
    return minRttUs != UNKNOWN;
  }

  /** The shortest round trip, in microseconds, or 0. */
  int minRttUs() {
    return isKnown() ? minRttUs : 0;
  }

  /** How long the shortest round trip has not been seen. */
  long ageUs(long nowUs) {
    return nowUs - minRttAtUs;
  }

  /** The shortest round trip is the next one that is seen. */
  void forget(int rttUs, long nowUs) {
    minRttUs = rttUs;
    minRttAtUs = nowUs;
  }

  /** The queue in the last round, in microseconds. */
  int queueUs() {
    return leastRttUs == UNKNOWN ? 0 : Math.max(leastRttUs - baseRttUs(), 0);
  }

  /** The queue from which on it counts. */
  int thresholdUs() {
    return Math.max(baseRttUs() / RTT_DIVISOR, MIN_US);
  }

  boolean isStanding() {
    return queueUs() > thresholdUs();
  }
}
