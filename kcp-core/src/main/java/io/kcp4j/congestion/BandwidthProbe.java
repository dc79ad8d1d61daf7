package io.kcp4j.congestion;

/**
 * What a probe for more bandwidth finds, by comparing the delivery rates of what was sent in {@code
 * REFILL} and in {@code UP}. A sender that fills the path alone gets no more delivered and only
 * makes a queue. One that shares the path gets more delivered and makes a queue as well: it takes
 * from the others. And if more is delivered without a queue, the path has room.
 */
final class BandwidthProbe {

  /** With a jitter of 1 ms, rates of a sender alone differ by up to 3 %; with 5 ms, by 6 %. */
  private static final double SHARED_GROWTH = 1.05;

  /** UP sends 25 % more. Of that, a sender with a third of the path gets 15 % without room. */
  private static final double ROOM_GROWTH = 1.18;

  /** If less than this share of the bandwidth is delivered, the window was the limit. */
  private static final double FULL_SHARE = 0.85;

  /** The path is shared if so many of the last six probes have taken from others. */
  private static final int MIN_TAKEN = 2;

  private static final int LAST_SIX = 0b111111;

  /** Which probes have taken from others, one bit each, the latest in bit 0. */
  private int taken;

  private double lastRate;
  private double refillRate;
  private double upRate;

  /** Whether the path was full in {@code REFILL}, and the application has limited no round. */
  private boolean isConclusive;

  private boolean hasFoundRoom;

  private boolean isGrowing;

  /**
   * A round of {@code UP} ends.
   *
   * @param round 1 for the first, in which what {@code REFILL} sent was acknowledged
   * @param rate the highest delivery rate of the round
   * @param bandwidth the highest delivery rate of the last cycle and of this one
   */
  void endRound(int round, double rate, double bandwidth, boolean isApplicationLimited) {
    isGrowing = round <= 2 || rate >= SHARED_GROWTH * lastRate;
    lastRate = rate;
    if (round == 1) {
      refillRate = rate;
      upRate = 0;
      isConclusive = rate >= FULL_SHARE * bandwidth;
    } else {
      upRate = Math.max(upRate, rate);
    }
    isConclusive &= !isApplicationLimited;
  }

  /** The first round after {@code UP} ends, in which what it sent last was acknowledged. */
  void end(double rate, boolean isQueueGrowing) {
    double growth = Math.max(upRate, rate) / refillRate;
    hasFoundRoom = isConclusive && growth >= ROOM_GROWTH && !isQueueGrowing;
    if (isConclusive) {
      boolean hasTaken = growth >= SHARED_GROWTH && isQueueGrowing;
      taken = (taken << 1 | (hasTaken ? 1 : 0)) & LAST_SIX;
    }
  }

  /**
   * Whether a further round of {@code UP} may be delivered faster still. The second is the first
   * that shows an effect of {@code UP}.
   */
  boolean isGrowing() {
    return isGrowing;
  }

  /** Whether the path had room for more than the last probe has sent. */
  boolean hasFoundRoom() {
    return hasFoundRoom;
  }

  /** Whether others share the path. */
  boolean isShared() {
    return Integer.bitCount(taken) >= MIN_TAKEN;
  }
}
