package io.kcp4j.session;

import io.kcp4j.HashMixer;

/**
 * Limits how many attempts to begin a session go on in a second, and chooses them at random among
 * all of the last tenth of a second. With a limit alone, the first peer would take it all, and a
 * flood is always first.
 */
final class AttemptSampler {

  private static final int SECOND_US = 1_000_000;
  private static final int PERIOD_US = 100_000;

  /** After a quiet period, this part of a second's attempts goes on without a choice. */
  private static final int FREE_SHARE = 4;

  private final int perSecond;
  private final TokenBuckets tokens;

  /** State of SplitMix64. Not secret: nobody knows when the attempts of others arrive. */
  private long state;

  private long periodAtUs;

  /** The attempts of this period, and of the one before. */
  private int attempts;

  private int attemptsBefore;

  /**
   * Makes a sampler.
   *
   * @param perSecond how many are chosen in a second
   * @param maxPerSecond the most in a second, and at once, while the rate of the attempts changes
   */
  AttemptSampler(int perSecond, int maxPerSecond, long nowUs) {
    this.perSecond = perSecond;
    tokens = new TokenBuckets(1, maxPerSecond, maxPerSecond, nowUs);
    periodAtUs = nowUs;
  }

  /** Whether this attempt is chosen. */
  boolean choose(long nowUs) {
    if (nowUs - periodAtUs >= PERIOD_US) {
      attemptsBefore = nowUs - periodAtUs < 2 * PERIOD_US ? attempts : 0;
      attempts = 0;
      periodAtUs = nowUs;
    }
    attempts++;
    int expected = Math.max(attemptsBefore, attempts <= perSecond / FREE_SHARE ? 0 : attempts);
    long attemptsPerSecond = (long) expected * (SECOND_US / PERIOD_US);
    return (attemptsPerSecond <= perSecond || draw(attemptsPerSecond) < perSecond)
        && tokens.tryTake(0, nowUs);
  }

  /** A random number below a bound. */
  private long draw(long bound) {
    state += 0x9e3779b97f4a7c15L;
    return Long.remainderUnsigned(HashMixer.mix(state), bound);
  }
}
