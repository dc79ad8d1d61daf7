package io.kcp4j.lanes;

import java.util.Arrays;

/**
 * All that the frames of a well-formed segment need. It is planned, then reserved for the whole
 * segment at once, and then allocated, before any frame has an effect: so a segment for which there
 * is no memory can be retransmitted as a whole. A frame that will be refused gets nothing.
 */
final class SegmentPreparation {

  /** The first buffer of a message in fragments: the peer may send fewer than it says. */
  private static final int FIRST_BUFFER_BYTES = 4 * 1024;

  /**
   * How far the first fragment to arrive may lie in its message, and how much further for each byte
   * that has arrived: a buffer follows what has arrived, not an offset. A peer that has lost more
   * in a row sends the lost part again first.
   */
  private static final int MAX_HOLE_BYTES = 16 * 1024;

  private static final int HOLE_FACTOR = 8;

  private static final int MIN_FRAMES = 4;

  /** Arrays for more frames are not kept: they are charged to nobody, and each session has some. */
  private static final int MAX_KEPT_FRAMES = 64;

  private final Lanes lanes;
  private final MessageMemory memory;
  private final LaneAdmission admission;

  /** For each frame its lane; null if the peer may not use that. */
  private Lane[] lanesOf = new Lane[MIN_FRAMES];

  /** For each frame a message with the buffer that it needs; null if it needs none. */
  private InboundMessage[] messages = new InboundMessage[MIN_FRAMES];

  private int frames;

  /** The frame that is taken in. */
  private int next;

  /** What the messages of the segment count of the budget of what is not read. */
  private long claimedBytes;

  /** The buffers and the overhead of all messages. */
  private long bytes;

  /** What is reserved, and not allocated yet. */
  private int unallocatedBytes;

  /** Whether a frame completes a message, so that memory can be released soon. */
  private boolean completesMessage;

  SegmentPreparation(Lanes lanes, MessageMemory memory, LaneAdmission admission) {
    this.lanes = lanes;
    this.memory = memory;
    this.admission = admission;
  }

  /**
   * Plans what a frame needs, a message or the end of a lane.
   *
   * @return false if the segment cannot be taken now: there is no memory for a lane, or the peer
   *     has begun too many within a second, or a fragment lies too far beyond what has arrived of
   *     its message
   */
  boolean plan(FrameReader frame) {
    if (frames == lanesOf.length) {
      lanesOf = Arrays.copyOf(lanesOf, 2 * frames);
      messages = Arrays.copyOf(messages, 2 * frames);
    }
    int index = frames++;
    if (!lanes.isAllowed(frame.lane())) {
      return true;
    }
    Lane lane = lanes.findOrBegin(frame.lane());
    if (lane == null) {
      return false;
    }
    lanesOf[index] = lane;
    if (frame.isMessage() && !admission.isPossible(lane, frame)) {
      return true;
    }
    LaneInbox inbox = lanes.inbox(lane);
    return !frame.isMessage() || planMessage(index, lane, inbox, frame);
  }

  private boolean planMessage(int index, Lane lane, LaneInbox inbox, FrameReader frame) {
    // What holds now may not hold any more when earlier frames of the segment have been taken in.
    int number = frame.number(lane.base);
    InboundMessage begun = inbox.get(number);
    if (begun == null) {
      long claim = LaneAdmission.claim(inbox.plannedEnd, number, frame.total());
      if (!admission.hasRoom(claimedBytes + claim)) {
        return true;
      }
      claimedBytes += claim;
      inbox.plan(lane.base, number, frame.isFragment());
    } else if (!LaneAdmission.isContinuation(begun, frame)) {
      return true;
    }
    int before = begun == null ? 0 : begun.receivedBytes;
    completesMessage |= before + frame.length() == frame.total();
    int end = frame.offset() + frame.length();
    if (frame.isFragment() && end - before > MAX_HOLE_BYTES + (long) HOLE_FACTOR * before) {
      return false;
    }
    int needed = neededBytes(begun, frame, end);
    if (needed >= 0) {
      messages[index] = InboundMessage.take(number, frame.total());
      messages[index].plannedBytes = needed;
      bytes += needed + MessageMemory.OVERHEAD_BYTES;
    }
    return true;
  }

  /** The size of the buffer that a frame needs, or -1 if it needs none. */
  private static int neededBytes(InboundMessage begun, FrameReader frame, int end) {
    if (!frame.isFragment()) {
      return frame.total();
    }
    int before = begun == null ? 0 : begun.content.capacity();
    if (end <= before) {
      return -1;
    }
    return Math.min(frame.total(), Math.max(end, Math.max(2 * before, FIRST_BUFFER_BYTES)));
  }

  /**
   * Reserves and allocates what has been planned.
   *
   * @param isInOrder whether the segment closes a gap, or follows the one before
   * @return false if there is no memory
   * @throws OutOfMemoryError likewise
   */
  boolean allocate(boolean isInOrder) {
    long mostBytes = admission.budgetBytes() + (long) frames * MessageMemory.OVERHEAD_BYTES;
    boolean isReserved =
        bytes == 0
            || (bytes <= mostBytes
                && memory.tryReserve((int) bytes, isInOrder && completesMessage));
    if (!isReserved) {
      return false;
    }
    unallocatedBytes = (int) bytes;
    for (int i = 0; i < frames; i++) {
      InboundMessage message = messages[i];
      if (message != null) {
        lanesOf[i].inbox.ensureRoomForPlanned();
        message.content = memory.allocate(message.plannedBytes);
        unallocatedBytes -= message.plannedBytes + MessageMemory.OVERHEAD_BYTES;
      }
    }
    return true;
  }

  /** The lane of the next frame that is taken in; null if it has to be refused. */
  Lane nextLane() {
    return lanesOf[next++];
  }

  /** For how many frames there is room without a larger array. */
  int capacity() {
    return lanesOf.length;
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

  /** The segment has been taken in, or not: releases what is left. */
  void end() {
    if (unallocatedBytes > 0) { // The allocator has failed in between.
      memory.unreserve(unallocatedBytes);
      unallocatedBytes = 0;
    }
    for (int i = 0; i < frames; i++) {
      InboundMessage message = messages[i];
      if (message != null) {
        messages[i] = null;
        memory.release(message.content);
        message.giveBack();
      }
      if (lanesOf[i] != null) {
        lanes.endSegment(lanesOf[i]);
        lanesOf[i] = null;
      }
    }
    if (lanesOf.length > MAX_KEPT_FRAMES) {
      lanesOf = new Lane[MIN_FRAMES];
      messages = new InboundMessage[MIN_FRAMES];
    }
    frames = 0;
    next = 0;
    claimedBytes = 0;
    bytes = 0;
    completesMessage = false;
  }
}
