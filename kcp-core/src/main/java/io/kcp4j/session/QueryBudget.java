package io.kcp4j.session;

import java.net.InetSocketAddress;

/**
 * Limits the answers to queries: protocol.md 13.5.3. Anybody can send queries that name no session,
 * so queries that name one of the table, by its 64 random bits, have a budget of their own. Of the
 * others, those that are more than the part of their network have another budget than the rest.
 */
final class QueryBudget {

  private static final int PER_SECOND = 1_000;

  /** The part of a network is this part of a budget. */
  private static final int NETWORK_PART = 16;

  private static final int NETWORK_BUCKETS = 1_024;

  private final SessionKey.Hash hash;
  private final TokenBuckets known;
  private final TokenBuckets ended;
  private final TokenBuckets networks;
  private final AttemptSampler withinParts;
  private final AttemptSampler beyondParts;

  QueryBudget(SessionKey.Hash hash, long nowUs) {
    this.hash = hash;
    int partPerSecond = PER_SECOND / NETWORK_PART;
    known = new TokenBuckets(1, PER_SECOND, PER_SECOND, nowUs);
    ended = new TokenBuckets(1, PER_SECOND, PER_SECOND, nowUs);
    networks = new TokenBuckets(NETWORK_BUCKETS, partPerSecond, partPerSecond, nowUs);
    withinParts = new AttemptSampler(PER_SECOND, PER_SECOND, nowUs);
    beyondParts = new AttemptSampler(PER_SECOND, PER_SECOND, nowUs);
  }

  /** Whether to answer a query that names a session of the table. */
  boolean takeForSession(long nowUs) {
    return known.tryTake(0, nowUs);
  }

  /** Whether to answer a datagram of a session that has ended here. */
  boolean takeForEnded(long nowUs) {
    return ended.tryTake(0, nowUs);
  }

  /** Whether to answer a query that names no session of the table. */
  boolean takeForUnknown(InetSocketAddress remote, long nowUs) {
    boolean isWithinPart = networks.tryTake(hash.prefix(remote), nowUs);
    return (isWithinPart ? withinParts : beyondParts).choose(nowUs);
  }
}
