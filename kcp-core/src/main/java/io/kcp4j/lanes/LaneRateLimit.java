package io.kcp4j.lanes;

import io.kcp4j.Kcp;
import io.kcp4j.KcpCounter;

/**
 * Limits how many lanes the peer begins in a second: each may cost the application a channel. A
 * token bucket that holds a second's worth. The lanes of one segment begin together, so that the
 * bucket can be overdrawn by them.
 */
final class LaneRateLimit {

  private static final long US_PER_S = 1_000_000;
  private static final long NS_PER_US = 1_000;

  private final Kcp kcp;
  private final long intervalNs;

  /** When the bucket is full again; a session begins with a full one. */
  private long fullAtNs = Long.MIN_VALUE;

  LaneRateLimit(Kcp kcp, LanesConfig config) {
    this.kcp = kcp;
    intervalNs = US_PER_S * NS_PER_US / config.maxNewLanesPerSecond();
  }

  /**
   * Whether something may arrive on a lane now; if not, which is counted, the peer has begun too
   * many lanes within a second.
   */
  boolean mayBegin(Lane lane) {
    if (!lane.isUnused() || fullAtNs <= (kcp.inputAtUs() + US_PER_S) * NS_PER_US - intervalNs) {
      return true;
    }
    kcp.counters().add(KcpCounter.LANE_BEGINS_REFUSED, 1);
    return false;
  }

  /** Something arrives on a lane, which may begin. */
  void countBegin(Lane lane) {
    if (lane.isUnused()) {
      fullAtNs = Math.max(fullAtNs, kcp.inputAtUs() * NS_PER_US) + intervalNs;
    }
  }
}
