package io.kcp4j.congestion;

/**
 * What a probe for more bandwidth finds, by comparing the delivery rate of what was sent in {@code
 * UP} with that in {@code REFILL}. A sender that fills the path alone is delivered no more, it only
 * makes a queue. One that shares the path is delivered more and makes a queue as well: it takes
 * from the others. And if more is delivered without a queue, the path has room.
 */
final class BandwidthProbe {

  /** Jitter alone makes a rate differ by up to 3 %. */
  private static final double SHARED_GROWTH = 1.05;

  private static final double ROOM_GROWTH = 1.1;

  /** If {@code REFILL} delivers less of the bandwidth, the window limits it, not the path. */
  private static final double FULL_SHARE = 0.85;

  /** The path is shared if so many of the last six probes have taken from others. */
  private static final int MIN_TAKEN = 2;

  private static final int LAST_SIX = 0b111111;

  /** Which probes have taken from others, a bit each, the last one in bit 0. */
  private int taken;

  private double refillRate;
  private double upRate;
  private boolean isFull;
  private boolean hasFoundRoom;

  /**
   * The first round of {@code UP} ends, in which what was sent in {@code REFILL} was acknowledged.
   *
   * @param rate the highest delivery rate of the round
   * @param bandwidth the rate at which {@code REFILL} has sent, if the window allowed it
   */
  void endRefill(double rate, double bandwidth) {
    refillRate = rate;
    upRate = 0;
    isFull = rate >= FULL_SHARE * bandwidth;
  }

  /** A later round of {@code UP} ends, with this as its highest delivery rate. */
  void endRound(double rate) {
    upRate = Math.max(upRate, rate);
  }

  /** The round after {@code UP} ends, in which the last that was sent there was acknowledged. */
  void end(double rate, boolean isQueueGrowing) {
    endRound(rate);
    double growth = upRate / refillRate;
    hasFoundRoom = growth >= ROOM_GROWTH && !isQueueGrowing;
    boolean hasTaken = growth >= SHARED_GROWTH && isQueueGrowing && isFull;
    taken = (taken << 1 | (hasTaken ? 1 : 0)) & LAST_SIX;
  }

  /** Whether the last probe could have gone on. */
  boolean hasFoundRoom() {
    return hasFoundRoom;
  }

  /** Whether others share the path. */
  boolean isShared() {
    return Integer.bitCount(taken) >= MIN_TAKEN;
  }
}
