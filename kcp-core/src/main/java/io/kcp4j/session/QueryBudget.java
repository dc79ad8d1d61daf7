package io.kcp4j.session;

import io.kcp4j.scheduling.RateLimiter;
import io.kcp4j.session.AddressRateLimiter.Sampled;
import io.kcp4j.session.AddressRateLimiter.Scope;
import java.net.InetSocketAddress;

/**
 * Limits the answers to queries: protocol.md 13.5.3. Anybody can send queries that name no session,
 * so queries that name one of the table, by its 64 random bits, have a limit of their own. Of the
 * others, those that are more than the part of their network have another limit than the rest.
 */
final class QueryBudget {

  private static final int PER_SECOND = 1_000;

  /** The part of a network is this part of a limit. */
  private static final int NETWORK_PART = 16;

  private static final int NETWORK_BUCKETS = 1_024;

  private final RateLimiter known = new RateLimiter(PER_SECOND, PER_SECOND);
  private final RateLimiter ended = new RateLimiter(PER_SECOND, PER_SECOND);
  private final AddressRateLimiter networks;
  private final Sampled withinParts;
  private final Sampled beyondParts;

  QueryBudget(SessionKey.Hash hash, long nowUs) {
    int part = PER_SECOND / NETWORK_PART;
    networks = new AddressRateLimiter(Scope.NETWORK, NETWORK_BUCKETS, part, part, hash);
    withinParts = new Sampled(PER_SECOND, PER_SECOND, nowUs);
    beyondParts = new Sampled(PER_SECOND, PER_SECOND, nowUs);
  }

  /** Whether to answer a query that names a session of the table. */
  boolean takeForSession(long nowUs) {
    return known.tryTake(nowUs);
  }

  /** Whether to answer a datagram of a session that has ended here. */
  boolean takeForEnded(long nowUs) {
    return ended.tryTake(nowUs);
  }

  /** Whether to answer a query that names no session of the table. */
  boolean takeForUnknown(InetSocketAddress remote, long nowUs) {
    boolean isWithinPart = networks.tryTake(remote, nowUs);
    return (isWithinPart ? withinParts : beyondParts).tryTake(nowUs);
  }
}
