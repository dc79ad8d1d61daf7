package io.kcp4j.lanes;

import io.kcp4j.Kcp;
import io.kcp4j.MemoryAccount;

/**
 * The lanes that the peer has begun: what they count against the memory of the session, and how
 * many there may be at once and in a second. An idle lane counts as long as the session lasts, and
 * what the driver makes for a lane as long as either side uses it.
 */
final class PeerLanes {

  /** The approximate memory of a lane, with an inbox. */
  static final int LANE_BYTES = 192;

  /** So many lanes a peer may begin before it has proven its address. */
  private static final int MAX_UNVALIDATED = 8;

  private final MemoryAccount memory;
  private final LaneRateLimit rateLimit;

  private int lanes;

  /** How many of them are in use. */
  private int used;

  private int attachmentBytes;

  /** What the {@link LaneTable} has grown by for them. */
  private int tableBytes;

  PeerLanes(Kcp kcp, LanesConfig config) {
    memory = kcp.memory();
    rateLimit = new LaneRateLimit(kcp, config);
  }

  /** What all of them count, in bytes. */
  int chargedBytes() {
    return LANE_BYTES * lanes + tableBytes + attachmentBytes * used;
  }

  /** See {@link Lanes#attachmentBytes}. */
  void attachmentBytes(int bytes) {
    memory.chargeLanes((bytes - attachmentBytes) * used);
    attachmentBytes = bytes;
  }

  /**
   * Counts a lane that is made for the peer; returns whether there is memory for it.
   *
   * @param moreTableBytes how much the table grows by for it
   */
  boolean tryAdd(int moreTableBytes) {
    boolean hasRoom = memory.tryReserveLane(LANE_BYTES + moreTableBytes);
    lanes += hasRoom ? 1 : 0;
    tableBytes += hasRoom ? moreTableBytes : 0;
    return hasRoom;
  }

  /** Whether something may arrive on a lane now. One that is unused counts as begun. */
  boolean tryBegin(Lane lane) {
    if (lane.is(Lane.CHARGED) || !lane.isUnused()) {
      return true;
    }
    boolean isPossible =
        rateLimit.mayBegin(lane)
            && (!memory.isUnvalidated() || used < MAX_UNVALIDATED)
            && memory.tryReserveLane(attachmentBytes);
    if (isPossible) {
      lane.set(Lane.CHARGED, true);
      used++;
    }
    return isPossible;
  }

  /** Something arrives on a lane, which may begin with that. */
  void countBegin(Lane lane) {
    rateLimit.countBegin(lane);
  }

  /** A lane that neither side uses counts no more as begun. */
  void endIfUnused(Lane lane) {
    if (lane.is(Lane.CHARGED) && lane.isUnused()) {
      lane.set(Lane.CHARGED, false);
      used--;
      memory.releaseStream(attachmentBytes);
    }
  }

  /** The session has closed: what becomes of its lanes makes no difference any more. */
  void close() {
    memory.releaseStream(chargedBytes());
    lanes = 0;
    used = 0;
    attachmentBytes = 0;
    tableBytes = 0;
  }
}
