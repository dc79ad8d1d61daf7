package io.kcp4j.internal.congestion;

/**
 * How {@link BbrCongestionControl} finds the bandwidth of the path: when {@code STARTUP} has found
 * it, when to probe for more, and what a probe has found.
 *
 * <p>A probe compares the delivery rates of what was sent in {@code REFILL} and in {@code UP}. A
 * sender that fills the path alone gets no more delivered and only makes a queue. One that shares
 * the path gets more delivered and makes a queue as well: it takes from the others. And if more is
 * delivered without a queue, the path has room.
 */
final class BbrProbe {

  // STARTUP

  /** BBRv3's full_bw: for these rounds the rate has not grown by a quarter. */
  private static final int MAX_ROUNDS_WITHOUT_GROWTH = 3;

  private static final double LEAST_GROWTH = 1.25;

  /** Or a queue has stood for these. */
  private static final int MAX_QUEUE_ROUNDS = 2;

  // The cycle

  /** The least length of a cycle, or up to half as much again: in time, and in rounds. */
  private static final int MIN_US = 500_000;

  private static final int MIN_ROUNDS = 16;

  /** Where others share the path. BBRv3's cycles take two to three seconds. */
  private static final int SHARED_US = 1_600_000;

  /** After this the next probe begins, whatever the rounds. */
  private static final int MAX_US = 3_000_000;

  private static final int RANDOM_BITS = 16;

  // The probe

  /** With a jitter of 1 ms, rates of a sender alone differ by up to 3 %; with 5 ms, by 6 %. */
  private static final double SHARED_GROWTH = 1.05;

  /** UP sends 25 % more. Of that, a sender with a third of the path gets 15 % without room. */
  private static final double ROOM_GROWTH = 1.18;

  /** If less than this share of the bandwidth is delivered, the window was the limit. */
  private static final double FULL_SHARE = 0.85;

  /** The path is shared if at least two of the last six probes have taken from others. */
  private static final int MIN_TAKEN = 2;

  private static final int LAST_SIX = 0b111111;

  private double lastGrown;
  private int roundsWithoutGrowth;
  private int queueRounds;

  private long cycleBeganAtUs;
  private int roundsLeft;
  private int random;

  /** Which part of the variation this cycle takes, in units of 2^-RANDOM_BITS. */
  private int share;

  /** Which probes have taken from others, one bit each, the latest in bit 0. */
  private int taken;

  private double lastRate;
  private double refillRate;
  private double upRate;

  /** Whether the path was full in {@code REFILL}, and the application has limited no round. */
  private boolean isConclusive;

  private boolean hasFoundRoom;

  private boolean isGrowing;

  // STARTUP

  /** A round of {@code STARTUP} ends that the application has not limited. */
  void endRoundOfStartup(double bytesPerSecond, boolean isQueueStanding) {
    if (bytesPerSecond >= lastGrown * LEAST_GROWTH) {
      lastGrown = bytesPerSecond;
      roundsWithoutGrowth = 0;
    } else {
      roundsWithoutGrowth++;
    }
    queueRounds = isQueueStanding ? queueRounds + 1 : 0;
  }

  /** Whether {@code STARTUP} has found the bandwidth of the path. */
  boolean isFullBandwidthReached() {
    return roundsWithoutGrowth >= MAX_ROUNDS_WITHOUT_GROWTH || queueRounds >= MAX_QUEUE_ROUNDS;
  }

  // The cycle: its length varies so that sessions do not probe at the same time again and again.

  /** A cycle begins. */
  void beginCycle(long nowUs) {
    random = random * 1_664_525 + 1_013_904_223 + (int) nowUs; // of Numerical Recipes, and the time
    share = random >>> (Integer.SIZE - RANDOM_BITS);
    roundsLeft = varied(MIN_ROUNDS);
    cycleBeganAtUs = nowUs;
  }

  private int varied(int least) {
    return least + (int) (((long) share * (least / 2)) >> RANDOM_BITS);
  }

  /** A round of any state ends. */
  void endRound() {
    roundsLeft--;
  }

  /** Whether to probe for more. */
  boolean isCycleOver(long nowUs) {
    long sinceUs = nowUs - cycleBeganAtUs;
    int lengthUs = varied(isPathShared() ? SHARED_US : MIN_US);
    return (roundsLeft <= 0 && sinceUs >= lengthUs) || sinceUs >= MAX_US;
  }

  // The probe

  /**
   * A round of {@code UP} ends.
   *
   * @param round 1 for the first, in which what {@code REFILL} sent was acknowledged
   * @param rate the highest delivery rate of the round
   * @param bandwidth the highest delivery rate of the last cycle and of this one
   */
  void endRoundOfUp(int round, double rate, double bandwidth, boolean isApplicationLimited) {
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

  /**
   * Whether a further round of {@code UP} may be delivered faster still. The second is the first
   * that shows an effect of {@code UP}.
   */
  boolean isGrowing() {
    return isGrowing;
  }

  /**
   * The first round after {@code UP} ends, in which what it sent last was acknowledged.
   *
   * @param hasQueue whether the probe has made a queue
   */
  void endProbe(double rate, boolean hasQueue) {
    double growth = Math.max(upRate, rate) / refillRate;
    hasFoundRoom = isConclusive && growth >= ROOM_GROWTH && !hasQueue;
    if (isConclusive) {
      boolean hasTaken = growth >= SHARED_GROWTH && hasQueue;
      taken = (taken << 1 | (hasTaken ? 1 : 0)) & LAST_SIX;
    }
  }

  /** Whether the path had room for more than the last probe has sent. */
  boolean hasFoundRoom() {
    return hasFoundRoom;
  }

  /** Whether others share the path. */
  boolean isPathShared() {
    return Integer.bitCount(taken) >= MIN_TAKEN;
  }
}
