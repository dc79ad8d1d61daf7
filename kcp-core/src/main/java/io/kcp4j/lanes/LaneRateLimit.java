package io.kcp4j.lanes;

/**
 * Limits how many lanes the peer begins in a second: each may cost the application a channel. A
 * token bucket that holds a second's worth. The lanes of one segment begin together, so that the
 * bucket can be overdrawn by them.
 */
final class LaneRateLimit {

  private static final long US_PER_S = 1_000_000;
  private static final long NS_PER_US = 1_000;

  private final long intervalNs;

  /** When the bucket is full again; a session begins with a full one. */
  private long fullAtNs = Long.MIN_VALUE;

  LaneRateLimit(LanesConfig config) {
    intervalNs = US_PER_S * NS_PER_US / config.maxNewLanesPerSecond();
  }

  /** Whether the peer may begin a lane now. */
  boolean hasToken(long nowUs) {
    return fullAtNs <= (nowUs + US_PER_S) * NS_PER_US - intervalNs;
  }

  /** The peer has begun a lane. */
  void take(long nowUs) {
    fullAtNs = Math.max(fullAtNs, nowUs * NS_PER_US) + intervalNs;
  }
}
