package io.kcp4j.session;

import java.util.Arrays;

/**
 * Token buckets of one rate and size. Of each, only the time at which it will be full is kept: the
 * generic cell rate algorithm, ITU-T I.371. No clock: the caller gives the time, in microseconds.
 */
final class TokenBuckets {

  private static final long SECOND_US = 1_000_000;

  private final long intervalUs;
  private final long emptyUs;
  private final long[] fullAtUs;

  /**
   * Makes full buckets.
   *
   * @param buckets a power of two
   * @param perSecond the tokens that each gets in a second, at most a million
   * @param size the most tokens that each holds
   */
  TokenBuckets(int buckets, int perSecond, int size, long nowUs) {
    intervalUs = SECOND_US / perSecond;
    emptyUs = intervalUs * size;
    fullAtUs = new long[buckets];
    Arrays.fill(fullAtUs, nowUs);
  }

  /** Whether a bucket has a token. */
  boolean hasToken(int bucket, long nowUs) {
    return fullAtUs[index(bucket)] - nowUs <= emptyUs - intervalUs;
  }

  /** Takes a token from a bucket, whether it has one or not. */
  void take(int bucket, long nowUs) {
    int index = index(bucket);
    fullAtUs[index] = Math.max(fullAtUs[index], nowUs) + intervalUs;
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
    return bucket & fullAtUs.length - 1;
  }
}
