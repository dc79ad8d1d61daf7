package io.kcp4j.session;

import java.util.concurrent.atomic.AtomicLongArray;

/**
 * Token buckets of one rate and size. Of each, only the time at which it will be full is kept: the
 * generic cell rate algorithm, ITU-T I.371. No clock: the caller gives the time, in microseconds.
 * Thread-safe.
 */
final class TokenBuckets {

  private static final long SECOND_NS = 1_000_000_000;
  private static final long NS_PER_US = 1_000;

  private final long intervalNs;

  /** How long an empty bucket takes to be full. */
  private final long emptyNs;

  private final AtomicLongArray fullAtNs;

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
    fullAtNs = new AtomicLongArray(buckets);
    for (int i = 0; i < buckets; i++) {
      fullAtNs.setPlain(i, nowUs * NS_PER_US);
    }
  }

  /** Whether a bucket has a token. */
  boolean hasToken(int bucket, long nowUs) {
    return fullAtNs.get(index(bucket)) - nowUs * NS_PER_US <= emptyNs - intervalNs;
  }

  /**
   * Takes a token from a bucket, whether it has one or not. A bucket owes at most as many tokens as
   * it holds: a flood that takes far more leaves no longer debt than that.
   *
   * @return whether a token was taken; false if the bucket owes the most already
   */
  boolean take(int bucket, long nowUs) {
    return take(bucket, 2 * emptyNs, nowUs);
  }

  /** Takes a token from a bucket if it has one; returns whether it had. */
  boolean tryTake(int bucket, long nowUs) {
    return take(bucket, emptyNs, nowUs);
  }

  /** Takes a token from a bucket that takes at most so long to be full then. */
  private boolean take(int bucket, long maxNs, long nowUs) {
    int index = index(bucket);
    long nowNs = nowUs * NS_PER_US;
    while (true) {
      long before = fullAtNs.get(index);
      long after = Math.max(before, nowNs) + intervalNs;
      if (after - nowNs > maxNs) {
        return false;
      }
      if (fullAtNs.compareAndSet(index, before, after)) {
        return true;
      }
    }
  }

  /** Puts a token back that {@link #take} has taken from a bucket. */
  void giveBack(int bucket) {
    fullAtNs.getAndAdd(index(bucket), -intervalNs);
  }

  /** Any number stands for a bucket, as a hash does. */
  private int index(int bucket) {
    return bucket & fullAtNs.length() - 1;
  }
}
