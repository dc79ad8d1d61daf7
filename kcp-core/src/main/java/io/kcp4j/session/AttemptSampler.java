package io.kcp4j.session;

/**
 * Limits how many sessions begin in a second, and chooses the attempts at random among all of the
 * last tenth of a second. With a limit alone, whoever is first would take it all, and a flood is
 * always first.
 */
final class AttemptSampler {

  /** At this rate sessions that never answer, which end after 30 s, take less than half a table. */
  private static final int MAX_PER_SECOND = 64;

  private static final int SECOND_US = 1_000_000;
  private static final int PERIOD_US = 100_000;

  private final TokenBuckets tokens;
  private final KeyHash hash = new KeyHash();

  /** The hashes of successive numbers are the random ones. */
  private long drawn;

  private long periodAtUs;

  /** The attempts of this period, and of the one before. */
  private int attempts;

  private int attemptsBefore;

  AttemptSampler(long nowUs) {
    tokens = new TokenBuckets(1, MAX_PER_SECOND, MAX_PER_SECOND, nowUs);
    periodAtUs = nowUs;
  }

  /** Whether a session begins by this attempt. */
  boolean choose(long nowUs) {
    if (nowUs - periodAtUs >= PERIOD_US) {
      attemptsBefore = nowUs - periodAtUs < 2 * PERIOD_US ? attempts : 0;
      attempts = 0;
      periodAtUs = nowUs;
    }
    attempts++;
    long perSecond = (long) Math.max(attempts, attemptsBefore) * (SECOND_US / PERIOD_US);
    return (perSecond <= MAX_PER_SECOND || draw(perSecond) < MAX_PER_SECOND)
        && tokens.tryTake(0, nowUs);
  }

  /** A random number below a bound. */
  private long draw(long bound) {
    return Long.remainderUnsigned(hash.of(drawn++, 0), bound);
  }
}
