package io.kcp4j.internal.lanes;

import io.kcp4j.KcpCounter;
import io.kcp4j.KcpTracer;
import io.kcp4j.internal.arq.Kcp;
import io.kcp4j.internal.memory.MemoryAccount;
import io.kcp4j.lanes.LaneKind;
import io.kcp4j.lanes.LanesConfig;

/**
 * The lanes on which the peer sends: how its direction of a lane begins and ends, what the lanes
 * that it has begun are charged, and how many there may be at once and in a second. An idle lane
 * counts as long as the session lasts, and what the driver makes for a lane as long as either side
 * uses it.
 */
final class PeerLanes {

  /** The approximate memory of a lane, with an inbox. */
  static final int LANE_BYTES = 192;

  /** The most lanes that a peer may begin before it has proven its address. */
  private static final int MAX_UNVALIDATED = 8;

  private final Lanes lanes;
  private final Kcp kcp;
  private final ControlFrames control;
  private final MemoryAccount memory;
  private final RateLimit rateLimit;
  private final int maxLanes;
  private final long hashSeed;

  /** How many lanes the peer has begun, and how many of them are in use. */
  private int begun;

  private int used;

  private int attachmentBytes;

  /** The bytes by which the table of lanes has grown for them. */
  private int tableBytes;

  /** How many lanes the peer has ended, which has not been taken yet. */
  private int ends;

  /**
   * Makes the peer's lanes.
   *
   * @param hashSeed see {@link Lanes}
   */
  PeerLanes(Lanes lanes, Kcp kcp, ControlFrames control, LanesConfig config, long hashSeed) {
    this.lanes = lanes;
    this.kcp = kcp;
    this.control = control;
    this.hashSeed = hashSeed;
    memory = kcp.memory();
    maxLanes = config.maxLanes();
    rateLimit = new RateLimit(config.maxNewLanesPerSecond());
  }

  // Lanes that the peer begins

  /** Whether the peer may send on a lane with this id. */
  boolean isAllowed(int id) {
    return id < maxLanes;
  }

  /**
   * The lane on which the peer sends; null if it is not allowed to, or may not begin another lane
   * now.
   */
  Lane findOrBegin(int id) {
    Lane lane = lanes.find(id);
    if (lane != null && lane.inputKind != null) {
      return lane;
    }
    return isAllowed(id) ? begin(lane, id) : null;
  }

  private Lane begin(Lane found, int id) {
    if (found == null && !tryAdd(lanes.neededTableBytes(id))) {
      return null;
    }
    Lane lane = found == null ? lanes.make(id) : found;
    return tryBegin(lane) ? lane : null;
  }

  /** Counts a lane that is made for the peer; returns whether there is memory for it. */
  private boolean tryAdd(int moreTableBytes) {
    boolean hasRoom = memory.tryReserveLane(LANE_BYTES + moreTableBytes);
    begun += hasRoom ? 1 : 0;
    tableBytes += hasRoom ? moreTableBytes : 0;
    return hasRoom;
  }

  /** Whether something may arrive on a lane now. One that is unused counts as begun. */
  private boolean tryBegin(Lane lane) {
    if (lane.is(Lane.CHARGED) || !lane.isUnused()) {
      return true;
    }
    boolean isPossible =
        rateLimit.mayBegin(kcp)
            && (!memory.isUnvalidated() || used < MAX_UNVALIDATED)
            && memory.tryReserveLane(attachmentBytes);
    if (isPossible) {
      lane.set(Lane.CHARGED, true);
      used++;
    }
    return isPossible;
  }

  /** A lane that neither side uses counts no more as begun. */
  void endIfUnused(Lane lane) {
    if (lane.is(Lane.CHARGED) && lane.isUnused()) {
      lane.set(Lane.CHARGED, false);
      used--;
      memory.releaseStream(attachmentBytes);
    }
  }

  /** What all of them are charged, in bytes. */
  int chargedBytes() {
    return LANE_BYTES * begun + tableBytes + attachmentBytes * used;
  }

  /** See {@link Lanes#attachmentBytes}. */
  void attachmentBytes(int bytes) {
    memory.chargeLanes((bytes - attachmentBytes) * used);
    attachmentBytes = bytes;
  }

  /** The session has closed: what becomes of its lanes makes no difference any more. */
  void close() {
    memory.releaseStream(chargedBytes());
    begun = 0;
    used = 0;
    attachmentBytes = 0;
    tableBytes = 0;
  }

  // What arrives on them

  /** The inbox of a lane, which is made if there is none. */
  LaneInbox inbox(Lane lane) {
    if (lane.inbox == null) {
      lane.inbox = new LaneInbox(lane.base, hashSeed);
    }
    return lane.inbox;
  }

  /** The inbox takes no memory if nothing is in it. */
  void releaseIfEmpty(Lane lane) {
    if (lane.inbox != null && lane.inbox.isEmpty(lane.base)) {
      lane.inbox = null;
    }
  }

  /** A segment with a frame of the lane has been taken in, or not. */
  void endSegment(Lane lane) {
    if (lane.inbox != null) {
      lane.inbox.endSegment();
      releaseIfEmpty(lane);
    }
    endIfUnused(lane);
  }

  /** A message arrives, or a part of one. */
  void inputBegun(Lane lane, LaneKind kind) {
    if (lane.inputKind == null) {
      rateLimit.countIfUnused(kcp, lane);
      lane.inputKind = kind;
      stopDiscarded(lane);
    }
  }

  /** Asks the peer to end what it has begun to send, if that is discarded. */
  void stopDiscarded(Lane lane) {
    if (lane.is(Lane.INPUT_DISCARDED) && !lane.is(Lane.INPUT_ENDING)) {
      control.add(lane, ControlFrames.STOP);
    }
  }

  // The end of the peer's direction

  /** Whether the peer has ended lanes, which has not been taken. */
  boolean hasEnds() {
    return ends > 0;
  }

  /** The peer has ended its direction, and everything before has arrived. */
  void inputEnded(Lane lane) {
    KcpTracer tracer = kcp.tracer();
    if (tracer != null) {
      tracer.laneInputEnded(kcp.tracedAtUs(), lane.id());
    }
    rateLimit.countIfUnused(kcp, lane);
    ends++;
    lane.set(Lane.INPUT_ENDING, true);
    if (lane.is(Lane.INPUT_DISCARDED)) {
      takeEnd(lane);
    } else {
      lanes.news(lane);
    }
  }

  /** Takes the end of a lane of which everything else has been taken; returns whether it has. */
  boolean takeEnd(Lane lane) {
    if (!lane.is(Lane.INPUT_ENDING) || lane.isReadable()) {
      return false;
    }
    ends--;
    lane.set(Lane.INPUT_ENDING, false);
    lane.set(Lane.INPUT_DISCARDED, false);
    lane.inputKind = null;
    lane.arrived = Lane.ALL_ARRIVED;
    control.add(lane, ControlFrames.FIN_ACK);
    control.drop(lane, ControlFrames.STOP);
    sendControl();
    releaseIfEmpty(lane);
    endIfUnused(lane);
    return true;
  }

  /** Control frames that are due leave at the end of the batch of input, if there is one. */
  void sendControl() {
    if (!control.isEmpty()) {
      kcp.sourceBecameReady();
    }
  }

  /**
   * Limits how many lanes the peer begins in a second: each may cost the application a channel. A
   * token bucket (GCRA) that holds a second's worth. The lanes of one segment begin together, so
   * that they can overdraw the bucket.
   */
  private static final class RateLimit {

    private static final long US_PER_S = 1_000_000;
    private static final long NS_PER_US = 1_000;

    private final long intervalNs;

    /** When the bucket is full again; a session begins with a full one. */
    private long fullAtNs = Long.MIN_VALUE;

    RateLimit(int lanesPerSecond) {
      intervalNs = US_PER_S * NS_PER_US / lanesPerSecond;
    }

    /**
     * Whether something may arrive on an unused lane now; if not, which is counted, the peer has
     * begun too many lanes within a second.
     */
    boolean mayBegin(Kcp kcp) {
      if (fullAtNs <= (kcp.inputAtUs() + US_PER_S) * NS_PER_US - intervalNs) {
        return true;
      }
      kcp.counters().add(KcpCounter.LANE_BEGINS_REFUSED, 1);
      return false;
    }

    /** Something arrives on a lane, which may begin. */
    void countIfUnused(Kcp kcp, Lane lane) {
      if (lane.isUnused()) {
        fullAtNs = Math.max(fullAtNs, kcp.inputAtUs() * NS_PER_US) + intervalNs;
      }
    }
  }
}
