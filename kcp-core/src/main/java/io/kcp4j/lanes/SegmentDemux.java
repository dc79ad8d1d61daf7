package io.kcp4j.lanes;

import io.kcp4j.Kcp;
import io.kcp4j.KcpCounter;
import io.kcp4j.Segment;
import io.kcp4j.SegmentSink;
import io.netty.buffer.ByteBuf;

/** Takes segments apart, and passes each frame to what it is for. */
final class SegmentDemux implements SegmentSink {

  private final Lanes lanes;
  private final Kcp kcp;
  private final LaneSender sender;
  private final LaneReceiver receiver;
  private final UnreliableReceiver unreliableReceiver;
  private final FrameReader frame = new FrameReader();

  SegmentDemux(
      Lanes lanes,
      Kcp kcp,
      LaneSender sender,
      LaneReceiver receiver,
      UnreliableReceiver unreliableReceiver) {
    this.lanes = lanes;
    this.kcp = kcp;
    this.sender = sender;
    this.receiver = receiver;
    this.unreliableReceiver = unreliableReceiver;
  }

  @Override
  public int heldBytes() {
    return lanes.heldBytes();
  }

  @Override
  public boolean hasUnread() {
    return lanes.hasUnread();
  }

  @Override
  public boolean take(ByteBuf datagram, int index, int bytes, boolean isInOrder) {
    if (lanes.isOpen()) {
      return receive(datagram, index, bytes, isInOrder);
    }
    boolean isPreface = bytes == 1 && datagram.getByte(index) == Frame.PREFACE;
    if (lanes.isClient()) {
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
      receiver.endSegment();
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
      if (frame.isPrepared() && !receiver.plan(frame)) {
        return false;
      }
    }
    if (!receiver.allocate(isInOrder)) {
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
      receiver.receive(frame, datagram);
    } else {
      receiveControl();
    }
  }

  private void receiveControl() {
    switch (frame.type()) {
      case Frame.FIN -> receiver.receiveFin(frame);
      case Frame.UNRELIABLE_FIN ->
          unreliableReceiver.receiveFin(receiver.nextLane(), frame.value());
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
        lanes.outputRead(lane);
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
}
