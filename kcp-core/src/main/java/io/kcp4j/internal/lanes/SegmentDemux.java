package io.kcp4j.internal.lanes;

import io.kcp4j.KcpCounter;
import io.kcp4j.internal.arq.Kcp;
import io.kcp4j.internal.wire.Segment;
import io.kcp4j.internal.wire.SegmentSink;
import io.netty.buffer.ByteBuf;
import java.util.Arrays;

/**
 * Takes segments apart, and passes each frame to what it is for. A segment has all of its effects
 * or, if there is no memory for it, none.
 */
final class SegmentDemux implements SegmentSink {

  private final Lanes lanes;
  private final boolean isClient;
  private final Kcp kcp;
  private final LaneSender sender;
  private final LaneReceiver receiver;
  private final UnreliableLanes unreliable;
  private final PeerLanes peerLanes;
  private final Preparation preparation;
  private final Frame frame = new Frame();

  SegmentDemux(
      Lanes lanes,
      boolean isClient,
      Kcp kcp,
      ControlFrames control,
      LaneSender sender,
      LaneReceiver receiver,
      UnreliableLanes unreliable) {
    this.lanes = lanes;
    this.isClient = isClient;
    this.kcp = kcp;
    this.sender = sender;
    this.receiver = receiver;
    this.unreliable = unreliable;
    peerLanes = lanes.peerLanes();
    preparation = new Preparation(peerLanes, receiver, control);
  }

  @Override
  public int heldBytes() {
    return receiver.memory().heldBytes() + unreliable.heldBytes();
  }

  @Override
  public boolean hasUnread() {
    return receiver.hasUnread() || peerLanes.hasEnds();
  }

  @Override
  public boolean take(ByteBuf datagram, int index, int bytes, boolean isInOrder) {
    if (lanes.isOpen()) {
      return receive(datagram, index, bytes, isInOrder);
    }
    boolean isPreface = bytes == 1 && datagram.getByte(index) == Frame.PREFACE;
    if (isClient) {
      return isPreface;
    }
    if (isPreface) {
      return hasMessage(datagram, index + bytes);
    }
    // Only a client without lanes sends anything else. Without an acknowledgement it would not
    // trust the answer, and what follows about the end.
    lanes.refuse();
    return true;
  }

  /**
   * Whether a message of the extension ends the datagram. A preface that has lost its offer on the
   * way is not acknowledged, so that it comes again with the offer.
   */
  private static boolean hasMessage(ByteBuf datagram, int index) {
    if (Segment.isEnd(datagram, index) || Segment.cmd(datagram, index) != Segment.WINS) {
      return false;
    }
    int length = Segment.length(datagram, index);
    return length > 0 && Segment.isEnd(datagram, index + Segment.HEADER_BYTES + length);
  }

  private boolean receive(ByteBuf datagram, int index, int bytes, boolean isInOrder) {
    if (receiver.receiveNextOfRun(datagram, index, bytes)) {
      return true;
    }
    boolean wasReady = sender.mayBeReady();
    try {
      frame.reset(datagram, index, bytes);
      boolean isContinuation =
          frame.next() && frame.isLast() && receiver.receiveContinuation(frame, datagram, index);
      if (!isContinuation && !receiveFrames(datagram, index, bytes, isInOrder)) {
        return false;
      }
    } finally {
      preparation.end();
    }
    if (!wasReady && sender.mayBeReady()) {
      kcp.sourceBecameReady();
    }
    return true;
  }

  /**
   * Takes in all frames, or none: first it reads them, then it allocates what they need, then they
   * have their effects. Returns false if there is no memory.
   */
  private boolean receiveFrames(ByteBuf datagram, int index, int bytes, boolean isInOrder) {
    if (!isWellFormed(datagram, index, bytes)) {
      refuse();
      return true;
    }
    frame.reset(datagram, index, bytes);
    while (frame.next()) {
      if (frame.isPrepared() && !preparation.plan(frame)) {
        return false;
      }
    }
    if (!preparation.allocate(isInOrder)) {
      return false;
    }
    frame.reset(datagram, index, bytes);
    while (frame.next()) {
      receiveFrame(datagram);
    }
    return true;
  }

  private boolean isWellFormed(ByteBuf datagram, int index, int bytes) {
    frame.reset(datagram, index, bytes);
    while (frame.next()) {
      // Reading is all that is needed.
    }
    return !frame.isMalformed();
  }

  private void receiveFrame(ByteBuf datagram) {
    if (frame.isMessage()) {
      Lane lane = preparation.nextLane();
      receiver.receive(frame, datagram, lane, preparation.take());
    } else {
      receiveControl();
    }
  }

  private void receiveControl() {
    switch (frame.type()) {
      case Frame.FIN -> receiver.receiveFin(frame, preparation.nextLane());
      case Frame.UNRELIABLE_FIN -> unreliable.receiveFin(preparation.nextLane(), frame.value());
      case Frame.PREFACE -> {}
      default -> {
        Lane lane = lanes.find(frame.lane());
        if (lane == null || !receiveAnswer(lane)) {
          refuse();
        }
      }
    }
  }

  /** Takes in a frame about what this side has sent on a lane; returns whether it is possible. */
  private boolean receiveAnswer(Lane lane) {
    if (frame.type() == Frame.CONSUMED) {
      return sender.consumed(lane, frame.value());
    }
    if (frame.type() == Frame.FIN_ACK) {
      boolean isPossible = sender.finAcknowledged(lane);
      if (isPossible) {
        peerLanes.endIfUnused(lane);
        lanes.news(lane);
      }
      return isPossible;
    }
    boolean isEarlier = frame.value() - lane.firstMessage < 0; // Of what has ended since.
    boolean isSending = lane.output == Lane.Output.OPEN || lane.output == Lane.Output.ENDING;
    if (!isEarlier && isSending) {
      lane.outputStopped();
      lane.abortOutput();
    }
    return true;
  }

  private void refuse() {
    kcp.counters().add(KcpCounter.LANE_FRAMES_REFUSED, 1);
  }

  /**
   * All that the frames of a well-formed segment need. It is planned, then reserved for the whole
   * segment at once, and then allocated, before any frame has an effect: so a segment for which
   * there is no memory can be retransmitted as a whole. A frame that will be refused gets nothing.
   */
  static final class Preparation {

    /** The first buffer of a message in fragments: the peer may send fewer than it says. */
    private static final int FIRST_BUFFER_BYTES = 4 * 1024;

    /**
     * How far the first fragment to arrive may lie in its message, and how much further for each
     * byte that has arrived: a buffer follows what has arrived, not an offset. A peer that has lost
     * more in a row sends the lost part again first.
     */
    private static final int MAX_HOLE_BYTES = 16 * 1024;

    private static final int HOLE_FACTOR = 8;

    private static final int MIN_FRAMES = 4;

    /**
     * Arrays for more frames are not kept: they are charged to nobody, and each session has some.
     */
    private static final int MAX_KEPT_FRAMES = 64;

    private final PeerLanes peerLanes;
    private final LaneReceiver receiver;
    private final InboundMessage.Memory memory;
    private final ControlFrames control;

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

    Preparation(PeerLanes peerLanes, LaneReceiver receiver, ControlFrames control) {
      this.peerLanes = peerLanes;
      this.receiver = receiver;
      this.control = control;
      memory = receiver.memory();
    }

    /**
     * Plans what a frame needs, a message or the end of a lane.
     *
     * @return false if the segment cannot be taken now: there is no memory for a lane, or the peer
     *     has begun too many within a second, or a fragment lies too far beyond what has arrived of
     *     its message
     */
    boolean plan(Frame frame) {
      if (frames == lanesOf.length) {
        lanesOf = Arrays.copyOf(lanesOf, 2 * frames);
        messages = Arrays.copyOf(messages, 2 * frames);
      }
      int index = frames++;
      if (!peerLanes.isAllowed(frame.lane())) {
        return true;
      }
      Lane lane = peerLanes.findOrBegin(frame.lane());
      if (lane == null) {
        return false;
      }
      lanesOf[index] = lane;
      if (frame.isMessage() && !receiver.isPossible(lane, frame)) {
        return true;
      }
      LaneInbox inbox = peerLanes.inbox(lane);
      return !frame.isMessage() || planMessage(index, lane, inbox, frame);
    }

    private boolean planMessage(int index, Lane lane, LaneInbox inbox, Frame frame) {
      // What holds now may not hold any more when earlier frames of the segment have been taken in.
      int number = frame.number(lane.base);
      InboundMessage begun = inbox.get(number);
      if (begun == null) {
        long claim = ControlFrames.claim(inbox.plannedEnd, number, frame.total());
        if (!control.hasRoom(claimedBytes + claim)) {
          return true;
        }
        claimedBytes += claim;
        inbox.plan(lane.base, number, frame.isFragment());
      } else if (!LaneReceiver.isContinuation(begun, frame)) {
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
        bytes += needed + InboundMessage.Memory.OVERHEAD_BYTES;
      }
      return true;
    }

    /** The size of the buffer that a frame needs, or -1 if it needs none. */
    private static int neededBytes(InboundMessage begun, Frame frame, int end) {
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
      long mostBytes = control.budgetBytes() + (long) frames * InboundMessage.Memory.OVERHEAD_BYTES;
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
          unallocatedBytes -= message.plannedBytes + InboundMessage.Memory.OVERHEAD_BYTES;
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

    /** What the frame has got, which becomes the caller's; null if it has got nothing. */
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
        receiver.release(messages[i]);
        messages[i] = null;
        if (lanesOf[i] != null) {
          peerLanes.endSegment(lanesOf[i]);
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
}
