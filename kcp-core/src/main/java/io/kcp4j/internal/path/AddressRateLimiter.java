package io.kcp4j.internal.path;

import io.kcp4j.internal.scheduling.RateLimiter;
import io.kcp4j.internal.wire.HashMixer;
import java.net.InetSocketAddress;
import java.util.concurrent.atomic.AtomicLongArray;
import java.util.concurrent.atomic.AtomicReference;

/**
 * Limits a rate for each address or network: a token bucket for each, as of {@link RateLimiter}.
 * Those that share a bucket, by a hash with a secret seed, share its tokens. The buckets are made
 * when one is first taken from. Thread-safe.
 */
public final class AddressRateLimiter {

  /** What has a bucket. */
  public enum Scope {
    /** An address of IPv4, or 56 bits of one of IPv6, whatever the port. */
    HOST,
    /** 24 bits of an address of IPv4, or 56 bits of one of IPv6. */
    NETWORK
  }

  private final Scope scope;
  private final RateLimiter limiter;
  private final int buckets;
  private final SessionKey.Hash hash;

  /** When each bucket will be full, in nanoseconds; null until one is taken from. */
  private final AtomicReference<AtomicLongArray> fullAtNs = new AtomicReference<>();

  /**
   * Makes a limiter with full buckets.
   *
   * @param buckets a power of two
   * @param perSecond the tokens that each gets in a second
   * @param burst the most tokens that each holds
   */
  public AddressRateLimiter(Scope scope, int buckets, int perSecond, int burst) {
    this(scope, buckets, perSecond, burst, new SessionKey.Hash());
  }

  /**
   * Makes a limiter with a given hash.
   *
   * @param hash by which addresses share buckets
   */
  public AddressRateLimiter(
      Scope scope, int buckets, int perSecond, int burst, SessionKey.Hash hash) {
    this.scope = scope;
    this.buckets = buckets;
    this.hash = hash;
    limiter = new RateLimiter(perSecond, burst);
  }

  /** Whether an address has a token. */
  public boolean hasToken(InetSocketAddress remote, long nowUs) {
    AtomicLongArray all = fullAtNs.get();
    return all == null || limiter.hasToken(all.get(bucket(remote)), nowUs);
  }

  /** Takes a token from an address if it has one; returns whether it had. */
  public boolean tryTake(InetSocketAddress remote, long nowUs) {
    AtomicLongArray all = buckets();
    int bucket = bucket(remote);
    while (true) {
      long before = all.get(bucket);
      if (!limiter.hasToken(before, nowUs)) {
        return false;
      }
      if (all.compareAndSet(bucket, before, limiter.take(before, nowUs))) {
        return true;
      }
    }
  }

  /**
   * Takes a token from an address, whether it has one or not, unless it owes as many as its bucket
   * holds.
   *
   * @return whether a token was taken
   */
  public boolean takeOrOwe(InetSocketAddress remote, long nowUs) {
    AtomicLongArray all = buckets();
    int bucket = bucket(remote);
    while (true) {
      long before = all.get(bucket);
      long after = limiter.takeOrOwe(before, nowUs);
      if (after == before || all.compareAndSet(bucket, before, after)) {
        return after != before;
      }
    }
  }

  private int bucket(InetSocketAddress remote) {
    return (scope == Scope.HOST ? hash.host(remote) : hash.prefix(remote)) & buckets - 1;
  }

  private AtomicLongArray buckets() {
    AtomicLongArray made = fullAtNs.get();
    if (made == null) {
      made = new AtomicLongArray(buckets);
      for (int i = 0; i < buckets; i++) {
        made.setPlain(i, RateLimiter.LONG_AGO_NS);
      }
      if (!fullAtNs.compareAndSet(null, made)) {
        made = fullAtNs.get(); // Another thread has just made them.
      }
    }
    return made;
  }

  /**
   * A limit for all addresses that gives its tokens at random to the requests of the last tenth of
   * a second. With a token bucket alone, the first peer would take them all, and a flood is always
   * first. Used by one thread.
   */
  public static final class Sampled {

    private static final int SECOND_US = 1_000_000;
    private static final int PERIOD_US = 100_000;

    /** After a quiet period, this part of a second's requests is granted without a choice. */
    private static final int FREE_SHARE = 4;

    private final int perSecond;
    private final RateLimiter limiter;

    /** State of SplitMix64. Not secret: nobody knows when the requests of others arrive. */
    private long state;

    private long periodAtUs;

    /** The requests of this period, and of the one before. */
    private int requests;

    private int requestsBefore;

    /**
     * Makes a limit.
     *
     * @param perSecond how many requests are granted in a second
     * @param maxPerSecond the most in a second, and at once, while the rate of requests changes
     */
    public Sampled(int perSecond, int maxPerSecond, long nowUs) {
      this.perSecond = perSecond;
      limiter = new RateLimiter(maxPerSecond, maxPerSecond);
      periodAtUs = nowUs;
    }

    /** Whether this request is granted. */
    public boolean tryTake(long nowUs) {
      if (nowUs - periodAtUs >= PERIOD_US) {
        requestsBefore = nowUs - periodAtUs < 2 * PERIOD_US ? requests : 0;
        requests = 0;
        periodAtUs = nowUs;
      }
      requests++;
      int expected = Math.max(requestsBefore, requests <= perSecond / FREE_SHARE ? 0 : requests);
      long requestsPerSecond = (long) expected * (SECOND_US / PERIOD_US);
      return (requestsPerSecond <= perSecond || draw(requestsPerSecond) < perSecond)
          && limiter.tryTake(nowUs);
    }

    /** A random number below a bound. */
    private long draw(long bound) {
      state += 0x9e3779b97f4a7c15L;
      return Long.remainderUnsigned(HashMixer.mix(state), bound);
    }
  }
}
