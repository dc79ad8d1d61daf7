package io.kcp4j.lanes;

/**
 * How much this side may send, as far as the peer has not read it: protocol.md 15.4. Each lane has
 * a part of its own. Beyond that, it shares a pool with the others, from which it takes no more
 * than it leaves (dynamic thresholds: Choudhury and Hahne, 1998): so the pool is never used up,
 * however many lanes are not read. A message counts as a whole before any of it leaves, since a
 * part of it could not be read.
 */
final class Credit {

  private int laneBytes;
  private int poolBytes;

  /** What all lanes have taken from the pool. */
  private int pooledBytes;

  /**
   * The peer has told its limits.
   *
   * @param maxLanes how many lanes it takes
   * @param budgetBytes its budget
   */
  void grant(int maxLanes, int budgetBytes) {
    laneBytes = laneBytes(maxLanes, budgetBytes);
    poolBytes = poolBytes(budgetBytes);
  }

  /** The part of each lane. */
  static int laneBytes(int maxLanes, int budgetBytes) {
    return budgetBytes / 2 / maxLanes;
  }

  /** What the lanes share. */
  static int poolBytes(int budgetBytes) {
    return budgetBytes / 2;
  }

  /** The largest message. */
  static int maxMessageBytes(int budgetBytes) {
    return budgetBytes / 8 - LanesConfig.MESSAGE_OVERHEAD_BYTES;
  }

  /** How much a message of so many bytes counts. */
  static int charge(int bytes) {
    return bytes + LanesConfig.MESSAGE_OVERHEAD_BYTES;
  }

  /**
   * Whether a message that counts so much may be begun.
   *
   * @param promisedBytes what others will take from the pool before
   */
  boolean allows(Lane lane, int charge, int promisedBytes) {
    int before = pooled(lane);
    int after = before + growth(lane, charge);
    return after == 0 || after <= (poolBytes - (pooledBytes - before) - promisedBytes) / 2;
  }

  /** How much a message that counts so much would take from the pool. */
  int growth(Lane lane, int charge) {
    return Math.max(lane.outstanding() + charge - laneBytes, 0) - pooled(lane);
  }

  /** What a lane has taken from the pool. */
  private int pooled(Lane lane) {
    return Math.max(lane.outstanding() - laneBytes, 0);
  }

  /** A message is begun that counts so much. */
  void charge(Lane lane, int charge) {
    int before = pooled(lane);
    lane.sentCharge += charge;
    pooledBytes += pooled(lane) - before;
  }

  /**
   * The peer has read more on a lane.
   *
   * @param consumed what it has read in all, modulo 2^32
   * @return false if it cannot have read so much
   */
  boolean consumed(Lane lane, int consumed) {
    int more = consumed - lane.consumedByPeer;
    if (more < 0) {
      return true; // An older report, which arrives late.
    }
    if (more > lane.outstanding()) {
      return false;
    }
    int before = pooled(lane);
    lane.consumedByPeer = consumed;
    pooledBytes += pooled(lane) - before;
    return true;
  }
}
