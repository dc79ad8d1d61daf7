package io.kcp4j.session;

import java.net.InetSocketAddress;

/**
 * Limits the CPU time that goes into packets that no key opens. When a network, or all of them
 * together, have sent too many of these, their packets are not opened any more. Those from the
 * addresses of validated sessions, which may be forged as well, have a budget of their own, as
 * large as that of all. So a flood drowns no session, and new clients, which send again and again,
 * still get some of their packets through.
 */
final class OpenBudget {

  static final int DEFAULT_PER_SECOND = 200_000;

  /** The part of each network is this part of all. */
  private static final int PREFIX_SHARE = 16;

  private static final int PREFIX_BUCKETS = 4096;

  /** The size of a bucket is what it gets in this part of a second. */
  private static final int BURST_SHARE = 10;

  private final SessionKey.Hash hash = new SessionKey.Hash();
  private int perSecond = DEFAULT_PER_SECOND;

  /** Null until a packet fails to open: most tables see none. */
  private TokenBuckets all;

  private TokenBuckets prefixes;

  /** For the addresses of validated sessions, when the others have nothing left. */
  private TokenBuckets validated;

  /**
   * Sets how many packets a second may fail to open.
   *
   * @param perSecond 1 to a million
   */
  void limit(int perSecond) {
    this.perSecond = perSecond;
    all = null;
    prefixes = null;
    validated = null;
  }

  private static TokenBuckets buckets(int buckets, int perSecond, long nowUs) {
    return new TokenBuckets(buckets, perSecond, Math.max(perSecond / BURST_SHARE, 1), nowUs);
  }

  /** Whether a packet from this address may fail to open. */
  boolean isLeft(InetSocketAddress remote, long nowUs) {
    return all == null || (all.hasToken(0, nowUs) && prefixes.hasToken(hash.prefix(remote), nowUs));
  }

  /** A packet from this address has failed to open. */
  void failed(InetSocketAddress remote, long nowUs) {
    if (all == null) {
      all = buckets(1, perSecond, nowUs);
      validated = buckets(1, perSecond, nowUs);
      prefixes = buckets(PREFIX_BUCKETS, Math.max(perSecond / PREFIX_SHARE, 1), nowUs);
    }
    all.take(0, nowUs);
    prefixes.take(hash.prefix(remote), nowUs);
  }

  /**
   * Whether a packet from the address of a validated session may fail to open, though {@link
   * #isLeft} is false.
   */
  boolean isLeftForValidated(long nowUs) {
    return validated == null || validated.hasToken(0, nowUs);
  }

  /** Such a packet has failed to open. */
  void failedForValidated(long nowUs) {
    if (validated != null) {
      validated.take(0, nowUs);
    }
  }
}
