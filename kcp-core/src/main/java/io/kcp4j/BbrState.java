package io.kcp4j;

/**
 * What {@link CongestionControl#BBR} does: {@link CongestionControl#state} is one of these names.
 */
public enum BbrState {
  /** Doubles the rate each round until the path is full. */
  STARTUP(2.77, 2),

  /** Empties the queue that {@link #STARTUP} has left. */
  DRAIN(0.5, 2),

  /** Sends less than the bandwidth, until no more is in flight than the path holds. */
  DOWN(0.75, 1.5),

  /** Sends at the bandwidth. */
  CRUISE(1, 1.5),

  /** Sends at the bandwidth for one round, without the bound that queues have set. */
  REFILL(1, 1.5),

  /** Sends more than the bandwidth, to find out whether the path has more. */
  UP(1.25, 1.75),

  /** Keeps half as much in flight as the path holds, to measure the shortest round trip again. */
  PROBE_RTT(1, 0.5);

  private final double pacingGain;
  private final double windowGain;

  /** Those of BBRv3, whose DOWN has 0.9, however, and whose windows in cycles are 2, in UP 2.25. */
  BbrState(double pacingGain, double windowGain) {
    this.pacingGain = pacingGain;
    this.windowGain = windowGain;
  }

  /** The pacing rate, as a multiple of the bandwidth. */
  @Unstable
  public double pacingGain() {
    return pacingGain;
  }

  /** The window, as a multiple of the bandwidth-delay product. */
  @Unstable
  public double windowGain() {
    return windowGain;
  }

  /** Whether this is a state of the cycles, which {@link #PROBE_RTT} may interrupt. */
  @Unstable
  public boolean isOfCycle() {
    return this != STARTUP && this != DRAIN && this != PROBE_RTT;
  }
}
