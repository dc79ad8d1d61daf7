package io.kcp4j.internal.lanes;

import io.kcp4j.KcpCounter;
import io.kcp4j.KcpTracer;
import io.kcp4j.internal.arq.Kcp;
import io.kcp4j.internal.memory.MemoryAccount;
import io.kcp4j.internal.scheduling.RateLimiter;
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

  /** The peer begins no more lanes than this: each may cost the application a channel. */
  private final RateLimiter begins;

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
    begins = new RateLimiter(config.maxNewLanesPerSecond(), config.maxNewLanesPerSecond());
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
        mayBegin()
            && (!memory.isUnvalidated() || used < MAX_UNVALIDATED)
            && memory.tryReserveLane(attachmentBytes);
    if (isPossible) {
      lane.set(Lane.CHARGED, true);
      used++;
    }
    return isPossible;
  }

  /**
   * Whether something may arrive on an unused lane now; if not, which is counted, the peer has
   * begun too many lanes within a second.
   */
  private boolean mayBegin() {
    boolean mayBegin = begins.hasToken(kcp.inputAtUs());
    if (!mayBegin) {
      kcp.counters().add(KcpCounter.LANE_BEGINS_REFUSED, 1);
    }
    return mayBegin;
  }

  /** A lane may begin. Those of one segment begin together, so the bucket may owe tokens. */
  private void takeBegin(Lane lane) {
    if (lane.isUnused()) {
      begins.take(kcp.inputAtUs());
    }
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
      takeBegin(lane);
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
    takeBegin(lane);
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
}
