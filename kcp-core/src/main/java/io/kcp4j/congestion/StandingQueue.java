package io.kcp4j.congestion;

/**
 * The queue on the path: by how much the shortest round trip of a round exceeds the shortest ever
 * seen. Half a minute to a minute is remembered, so that a path may become longer. A queue that
 * does not empty in a whole round is standing: bursts and jitter do not make one.
 *
 * <p>A round counts only if it has given several round-trip times. Otherwise it is added to the
 * next one: where acknowledgements are lost, or are rare, a single round-trip time contains how
 * long its acknowledgement has waited.
 */
final class StandingQueue {

  private static final int UNKNOWN = Integer.MAX_VALUE;

  private static final int MIN_SAMPLES = 3;

  /** A queue counts from a share of the shortest round trip on, within these limits. */
  private static final int MIN_THRESHOLD_US = 5_000;

  /** The shortest round trip may contain a queue that another sender has never let drain. */
  private static final int MAX_THRESHOLD_US = 10_000;

  private static final int THRESHOLD_DIVISOR = 4;

  private static final int PERIOD_US = 30_000_000;

  private int samples;

  /** The shortest of this round. */
  private int roundRttUs = UNKNOWN;

  /** That of the last round that counts, or UNKNOWN if the round after it has not counted. */
  private int leastRttUs = UNKNOWN;

  private final WindowedFilter shortestRtt = WindowedFilter.minimum(PERIOD_US);

  /** A round-trip time. */
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

  /** A round ends. */
  void endRound() {
    boolean counts = samples >= MIN_SAMPLES;
    leastRttUs = counts ? roundRttUs : UNKNOWN;
    if (counts) {
      samples = 0;
      roundRttUs = UNKNOWN;
    }
  }

  /** Whether the last round tells of the queue. */
  boolean isKnown() {
    return leastRttUs != UNKNOWN;
  }

  /** How long datagrams have waited at least in the last round, in microseconds, or 0. */
  int us() {
    int leastUs = leastRttUs; // Another thread may ask.
    return leastUs == UNKNOWN ? 0 : leastUs - shortestRttUs();
  }

  boolean isStanding() {
    return us() > thresholdUs();
  }

  /** Whether it is more than twice as long as one that is standing. */
  boolean isLong() {
    return us() > 2 * thresholdUs();
  }

  /** Whether the last round shows that no queue is standing. */
  boolean hasDrained() {
    return isKnown() && !isStanding();
  }

  /** Whether the last round shows that it is at most half as long as one that is standing. */
  boolean isShort() {
    return isKnown() && !isGrowing();
  }

  /** Whether this round trip shows that there was no queue, apart from jitter. */
  boolean isEmpty(int rttUs) {
    return rttUs - shortestRttUs() <= thresholdUs() / 8;
  }

  /** Whether it is at least half as long as one that is standing: what a probe does to a path. */
  boolean isGrowing() {
    return us() > thresholdUs() / 2;
  }

  private int thresholdUs() {
    int shareUs = shortestRttUs() / THRESHOLD_DIVISOR;
    return Math.min(Math.max(shareUs, MIN_THRESHOLD_US), MAX_THRESHOLD_US);
  }

  /** The shortest round trip that is remembered, in microseconds; there was one. */
  int shortestRttUs() {
    return (int) shortestRtt.best();
  }
}
