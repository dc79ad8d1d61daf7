package io.kcp4j.lanes;

import java.util.Arrays;

/**
 * All that the frames of a segment need, which is allocated before any of them has an effect: so a
 * segment for which there is no memory can be retransmitted as a whole. A frame that will be
 * refused gets nothing, and what a hostile segment gets in all is limited.
 */
final class SegmentPreparation {

  /** The first buffer of a message in fragments: the peer may send fewer than it says. */
  private static final int FIRST_BUFFER_BYTES = 64 * 1024;

  private final Lanes lanes;
  private final MessageMemory memory;
  private final LaneAdmission admission;

  /** For each frame its lane, which has an inbox then; null if the frame will be refused. */
  private Lane[] lanesOf = new Lane[4];

  /** For each frame a message with the buffer that it needs; null if it needs none. */
  private InboundMessage[] messages = new InboundMessage[4];

  private int frames;

  /** The frame that is taken in. */
  private int next;

  /** The size of all buffers. */
  private long bytes;

  SegmentPreparation(Lanes lanes, MessageMemory memory, LaneAdmission admission) {
    this.lanes = lanes;
    this.memory = memory;
    this.admission = admission;
  }

  /**
   * Allocates what a frame needs, a message or a FIN.
   *
   * @param isInOrder whether its segment closes a gap, or follows the one before
   * @return false if there is no memory, or the peer has begun too many lanes within a second
   * @throws OutOfMemoryError likewise
   */
  boolean add(FrameReader frame, boolean isInOrder) {
    if (frames == lanesOf.length) {
      lanesOf = Arrays.copyOf(lanesOf, 2 * frames);
      messages = Arrays.copyOf(messages, 2 * frames);
    }
    int index = frames++;
    Lane lane = lanes.findOrMake(frame.lane());
    if (lane == null) {
      return true;
    }
    if (!frame.isMessage()) {
      return use(index, lane);
    }
    if (!admission.isPossible(lane, frame)) {
      return true;
    }
    // What holds now may not hold any more when earlier frames of the segment have been taken in.
    int number = frame.number(lane.base);
    InboundMessage begun = LaneAdmission.begun(lane, number);
    boolean isTaken =
        begun == null
            ? admission.hasRoom(lane, number, frame.total())
            : LaneAdmission.isContinuation(begun, frame);
    if (!isTaken) {
      return true;
    }
    return use(index, lane) && allocate(index, number, begun, frame, isInOrder);
  }

  private boolean use(int index, Lane lane) {
    if (!lanes.rateLimit.mayBegin(lane)) {
      return false;
    }
    lanes.inbox(lane);
    lanesOf[index] = lane;
    return true;
  }

  private boolean allocate(
      int index, int number, InboundMessage begun, FrameReader frame, boolean isInOrder) {
    Lane lane = lanesOf[index];
    int needed = neededBytes(begun, frame);
    if (needed < 0 || bytes + needed > admission.budgetBytes()) {
      return true;
    }
    boolean isInRing =
        begun == null && lane.inbox.isRingNeeded(lane.base, number, frame.isFragment());
    if (isInRing && !memory.growRing(lane.inbox, lane.base, number)) {
      return false;
    }
    bytes += needed;
    messages[index] = InboundMessage.take(number, frame.total());
    messages[index].content = memory.allocate(needed, isInOrder && completes(begun, frame));
    return messages[index].content != null;
  }

  /** Whether a frame completes its message: only then can that be read, and its memory released. */
  private static boolean completes(InboundMessage begun, FrameReader frame) {
    int before = begun == null ? 0 : begun.receivedBytes;
    return before + frame.length() == frame.total();
  }

  /** The size of the buffer that a frame needs, or -1 if it needs none. */
  private static int neededBytes(InboundMessage begun, FrameReader frame) {
    if (!frame.isFragment()) {
      return frame.total();
    }
    int end = frame.offset() + frame.length();
    int before = begun == null ? 0 : begun.content.capacity();
    if (end <= before) {
      return -1;
    }
    return Math.min(frame.total(), Math.max(end, Math.max(2 * before, FIRST_BUFFER_BYTES)));
  }

  /** The lane of the next frame that is taken in; null if it has to be refused. */
  Lane nextLane() {
    return lanesOf[next++];
  }

  /** What the frame has got, if anything. */
  InboundMessage message() {
    return messages[next - 1];
  }

  /** The same; it becomes the caller's. */
  InboundMessage take() {
    InboundMessage taken = messages[next - 1];
    messages[next - 1] = null;
    return taken;
  }

  /** A frame of the lane has been taken in, or not: releases what the lane does not need now. */
  void releaseUnused(Lane lane) {
    if (lane.inbox != null && lane.inbox.end == lane.base) {
      memory.releaseRing(lane.inbox);
      lanes.releaseIfEmpty(lane);
    }
  }

  /** The segment has been taken in, or not: releases what is left. */
  void end() {
    for (int i = 0; i < frames; i++) {
      InboundMessage message = messages[i];
      if (message != null) {
        messages[i] = null;
        memory.release(message.content);
        message.giveBack();
      }
      if (lanesOf[i] != null) {
        releaseUnused(lanesOf[i]);
        lanesOf[i] = null;
      }
    }
    frames = 0;
    next = 0;
    bytes = 0;
  }
}
