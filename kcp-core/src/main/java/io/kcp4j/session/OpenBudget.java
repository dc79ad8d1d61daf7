package io.kcp4j.session;

import io.kcp4j.scheduling.RateLimiter;
import io.kcp4j.session.AddressRateLimiter.Scope;
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

  private RateLimiter all;
  private AddressRateLimiter networks;

  /** For the addresses of validated sessions, when the others have nothing left. */
  private RateLimiter validated;

  OpenBudget() {
    limit(DEFAULT_PER_SECOND);
  }

  /**
   * Sets how many packets a second may fail to open.
   *
   * @param perSecond 1 to a million
   */
  void limit(int perSecond) {
    int ofNetwork = Math.max(perSecond / PREFIX_SHARE, 1);
    all = new RateLimiter(perSecond, burst(perSecond));
    validated = new RateLimiter(perSecond, burst(perSecond));
    networks = new AddressRateLimiter(Scope.NETWORK, PREFIX_BUCKETS, ofNetwork, burst(ofNetwork));
  }

  private static int burst(int perSecond) {
    return Math.max(perSecond / BURST_SHARE, 1);
  }

  /** Whether a packet from this address may fail to open. */
  boolean isLeft(InetSocketAddress remote, long nowUs) {
    return all.hasToken(nowUs) && networks.hasToken(remote, nowUs);
  }

  /** A packet from this address has failed to open. */
  void failed(InetSocketAddress remote, long nowUs) {
    all.takeOrOwe(nowUs);
    networks.takeOrOwe(remote, nowUs);
  }

  /**
   * Whether a packet from the address of a validated session may fail to open, though {@link
   * #isLeft} is false.
   */
  boolean isLeftForValidated(long nowUs) {
    return validated.hasToken(nowUs);
  }

  /** Such a packet has failed to open. */
  void failedForValidated(long nowUs) {
    validated.takeOrOwe(nowUs);
  }
}
