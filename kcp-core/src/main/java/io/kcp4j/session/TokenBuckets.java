package io.kcp4j.session;

import java.util.Arrays;

/**
 * Token buckets of one rate and size. Of each, only the time at which it will be full is kept: the
 * generic cell rate algorithm, ITU-T I.371. No clock: the caller gives the time, in microseconds.
 */
final class TokenBuckets {

  private static final long SECOND_NS = 1_000_000_000;
  private static final long NS_PER_US = 1_000;

  private final long intervalNs;

  /** How long an empty bucket takes to be full. */
  private final long emptyNs;

  private final long[] fullAtNs;

  /**
   * Makes full buckets.
   *
   * @param buckets a power of two
   * @param perSecond the tokens that each gets in a second, at most a million
   * @param size the most tokens that each holds
   */
  TokenBuckets(int buckets, int perSecond, int size, long nowUs) {
    intervalNs = SECOND_NS / perSecond;
    emptyNs = intervalNs * size;
    fullAtNs = new long[buckets];
    Arrays.fill(fullAtNs, nowUs * NS_PER_US);
  }

  /** Whether a bucket has a token. */
  boolean hasToken(int bucket, long nowUs) {
    return fullAtNs[index(bucket)] - nowUs * NS_PER_US <= emptyNs - intervalNs;
  }

  /**
   * Takes a token from a bucket, whether it has one or not. A bucket owes at most as many tokens as
   * it holds: a flood that takes far more leaves no longer debt than that.
   *
   * @return whether a token was taken; false if the bucket owes the most already
   */
  boolean take(int bucket, long nowUs) {
    int index = index(bucket);
    long nowNs = nowUs * NS_PER_US;
    long next = Math.max(fullAtNs[index], nowNs) + intervalNs;
    if (next - nowNs > 2 * emptyNs) {
      return false;
    }
    fullAtNs[index] = next;
    return true;
  }

  /** Puts a token back that {@link #take} has taken from a bucket. */
  void giveBack(int bucket) {
    fullAtNs[index(bucket)] -= intervalNs;
  }

  /** Takes a token from a bucket if it has one; returns whether it had. */
  boolean tryTake(int bucket, long nowUs) {
    boolean hasToken = hasToken(bucket, nowUs);
    if (hasToken) {
      take(bucket, nowUs);
    }
    return hasToken;
  }

  /** Any number stands for a bucket, as a hash does. */
  private int index(int bucket) {
    return bucket & fullAtNs.length - 1;
  }
}
