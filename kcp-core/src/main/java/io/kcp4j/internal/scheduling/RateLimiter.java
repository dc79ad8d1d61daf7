package io.kcp4j.internal.scheduling;

/**
 * Limits a rate by a token bucket. Of the bucket only the time is kept at which it will be full:
 * the generic cell rate algorithm, ITU-T I.371. No clock: the caller gives the time. Used by one
 * thread.
 *
 * <p>Who has many buckets of one rate and size keeps their times, and uses the methods that take
 * such a time.
 */
public final class RateLimiter {

  /** The time at which a bucket became full from which no token was taken. */
  public static final long LONG_AGO_NS = Long.MIN_VALUE;

  private static final long SECOND_NS = 1_000_000_000;
  private static final long NS_PER_US = 1_000;

  /** The time in which the bucket gets a token. */
  private final long intervalNs;

  /** The time in which an empty bucket fills. */
  private final long emptyNs;

  private long fullAtNs = LONG_AGO_NS;

  /**
   * Makes a limiter with a full bucket.
   *
   * @param perSecond the tokens that the bucket gets in a second, 1 to a billion
   * @param burst the most tokens that it holds
   */
  public RateLimiter(int perSecond, int burst) {
    intervalNs = SECOND_NS / perSecond;
    emptyNs = intervalNs * burst;
  }

  /**
   * Makes a limiter with an empty bucket.
   *
   * @param nowUs the time, in microseconds
   */
  public RateLimiter(int perSecond, int burst, long nowUs) {
    this(perSecond, burst);
    fullAtNs = nowUs * NS_PER_US + emptyNs;
  }

  /**
   * Whether there is a token.
   *
   * @param nowUs the time, in microseconds
   */
  public boolean hasToken(long nowUs) {
    return hasToken(fullAtNs, nowUs);
  }

  /**
   * Takes a token if there is one.
   *
   * @param nowUs the time, in microseconds
   * @return whether there was one
   */
  public boolean tryTake(long nowUs) {
    boolean hasToken = hasToken(nowUs);
    if (hasToken) {
      take(nowUs);
    }
    return hasToken;
  }

  /**
   * Takes a token, whether there is one or not: the bucket may owe tokens.
   *
   * @param nowUs the time, in microseconds
   */
  public void take(long nowUs) {
    fullAtNs = take(fullAtNs, nowUs);
  }

  /**
   * Takes a token, whether there is one or not, unless the bucket owes as many as it holds: a flood
   * that takes far more leaves no longer debt than that.
   *
   * @param nowUs the time, in microseconds
   * @return whether a token was taken
   */
  public boolean takeOrOwe(long nowUs) {
    long after = takeOrOwe(fullAtNs, nowUs);
    boolean isTaken = after != fullAtNs;
    fullAtNs = after;
    return isTaken;
  }

  /**
   * Takes the next token, which the bucket may get later.
   *
   * @param nowUs the time, in microseconds
   * @param latestUs no token is taken that the bucket gets after this time
   * @return when the bucket has the token, which may have passed; {@code latestUs} if none is taken
   */
  public long reserve(long nowUs, long latestUs) {
    long after = take(fullAtNs, nowUs);
    long atUs = (after - emptyNs) / NS_PER_US;
    if (atUs > latestUs) {
      return latestUs;
    }
    fullAtNs = after;
    return atUs;
  }

  /** Puts a token back that was taken. */
  public void giveBack() {
    fullAtNs -= intervalNs;
  }

  // Of a bucket whose time the caller keeps

  /**
   * Whether a bucket has a token.
   *
   * @param fullAtNs when it will be full, in nanoseconds
   * @param nowUs the time, in microseconds
   */
  public boolean hasToken(long fullAtNs, long nowUs) {
    return fullAtNs <= nowUs * NS_PER_US + emptyNs - intervalNs;
  }

  /**
   * Takes a token from a bucket, whether it has one or not.
   *
   * @param fullAtNs when it will be full, in nanoseconds
   * @param nowUs the time, in microseconds
   * @return when it will be full then
   */
  public long take(long fullAtNs, long nowUs) {
    return Math.max(fullAtNs, nowUs * NS_PER_US) + intervalNs;
  }

  /**
   * Takes a token from a bucket as {@link #takeOrOwe(long)} does.
   *
   * @param fullAtNs when it will be full, in nanoseconds
   * @param nowUs the time, in microseconds
   * @return when it will be full then; {@code fullAtNs} if no token was taken
   */
  public long takeOrOwe(long fullAtNs, long nowUs) {
    long after = take(fullAtNs, nowUs);
    return after <= nowUs * NS_PER_US + 2 * emptyNs ? after : fullAtNs;
  }
}
