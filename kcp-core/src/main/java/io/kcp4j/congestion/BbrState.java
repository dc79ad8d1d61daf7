package io.kcp4j.congestion;

/**
 * What {@link CongestionControl#BBR} does: {@link CongestionControl#state} is one of these names.
 */
public enum BbrState {
  /** Doubles the rate each round until the path is full. */
  STARTUP,

  /** Empties the queue that {@link #STARTUP} has left. */
  DRAIN,

  /** Sends less than the bandwidth, until no more is in flight than the path holds. */
  DOWN,

  /** Sends at the bandwidth. */
  CRUISE,

  /** Sends at the bandwidth for one round, without the bound that queues have set. */
  REFILL,

  /** Sends more than the bandwidth, to find out whether the path has more. */
  UP,

  /** Keeps half as much in flight as the path holds, to measure the shortest round trip again. */
  PROBE_RTT;

  /** Whether this is a state of the cycles, which {@link #PROBE_RTT} may interrupt. */
  boolean isOfCycle() {
    return this != STARTUP && this != DRAIN && this != PROBE_RTT;
  }
}
