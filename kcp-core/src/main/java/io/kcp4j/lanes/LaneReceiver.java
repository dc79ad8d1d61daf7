package io.kcp4j.lanes;

import io.kcp4j.Copying;
import io.kcp4j.Kcp;
import io.kcp4j.KcpContext;
import io.kcp4j.KcpCounter;
import io.kcp4j.KcpCounters;
import io.netty.buffer.ByteBuf;

/**
 * Takes in the messages of reliable lanes: puts those of ordered lanes in order and fragments
 * together. What the frames of a segment need is {@linkplain SegmentPreparation prepared} before.
 *
 * <p>Enforces the budget of what is not read. A peer that exceeds it, or sends what contradicts
 * earlier frames, loses that frame: protocol.md 15.3.
 */
final class LaneReceiver {

  private final Lanes lanes;
  private final MessageMemory memory;
  private final Kcp kcp;
  private final KcpCounters counters;
  private final LaneAdmission admission;
  private final SegmentPreparation preparation;
  private final FragmentRun run = new FragmentRun();

  /** How many messages wait to be read. */
  private int unreadMessages;

  LaneReceiver(
      Lanes lanes, KcpContext context, Kcp kcp, ControlFrames control, LanesConfig config) {
    this.lanes = lanes;
    memory = new MessageMemory(context);
    this.kcp = kcp;
    counters = kcp.counters();
    admission = new LaneAdmission(control, config);
    preparation = new SegmentPreparation(lanes, memory, admission);
  }

  int heldBytes() {
    return memory.heldBytes();
  }

  /** Whether messages wait to be read. */
  boolean hasUnread() {
    return unreadMessages > 0;
  }

  // Segments

  /**
   * Allocates what the frame needs that has been read, a message or a FIN.
   *
   * @param isInOrder whether its segment closes a gap, or follows the one before
   * @return false if there is no memory, or the peer has begun too many lanes within a second
   * @throws OutOfMemoryError likewise
   */
  boolean prepare(FrameReader frame, boolean isInOrder) {
    return preparation.add(frame, isInOrder);
  }

  /** The segment has been taken in, or not: releases what has been prepared and is not needed. */
  void endSegment() {
    preparation.end();
  }

  // Messages

  /** Takes in a message, or a part of it. The frame has been prepared. */
  void receive(FrameReader frame, ByteBuf data) {
    Lane lane = preparation.nextLane();
    if (lane == null || !admission.isPossible(lane, frame)) {
      refuse();
      return;
    }
    int number = frame.number(lane.base);
    InboundMessage begun = LaneAdmission.begun(lane, number);
    if (begun == null ? !isBegin(lane, number, frame) : !isContinuation(begun, frame)) {
      refuse();
      return;
    }
    lanes.inputBegun(lane, frame.kind());
    LaneInbox inbox = lane.inbox;
    InboundMessage message =
        begun == null ? begin(lane, inbox, frame) : replace(begun, preparation.take());
    add(lane, message, frame, data);
  }

  /** Takes in a segment if it is the next fragment of the run; returns whether it is. */
  boolean receiveNextOfRun(ByteBuf data, int index, int bytes) {
    return run.append(data, index, bytes);
  }

  /**
   * Takes in the only frame of a segment if it continues a message and needs no memory, as most
   * frames of bulk: then nothing has to be prepared. Returns whether it has.
   *
   * @param index where the segment begins in {@code data}
   */
  boolean receiveContinuation(FrameReader frame, ByteBuf data, int index) {
    Lane lane = frame.isMessage() ? lanes.find(frame.lane()) : null;
    if (lane == null || !admission.isPossible(lane, frame)) {
      return false;
    }
    InboundMessage begun = LaneAdmission.begun(lane, frame.number(lane.base));
    boolean isContinuation =
        begun != null
            && LaneAdmission.isContinuation(begun, frame)
            && frame.offset() + frame.length() <= begun.content.capacity();
    if (isContinuation) {
      if (begun.receivedBytes + frame.length() < begun.totalBytes) {
        run.begin(lane, begun, frame, data, index);
      }
      add(lane, begun, frame, data);
      preparation.releaseUnused(lane);
    }
    return isContinuation;
  }

  private void add(Lane lane, InboundMessage message, FrameReader frame, ByteBuf data) {
    LaneInbox inbox = lane.inbox;
    put(message.content, frame, data);
    message.receivedBytes += frame.length();
    if (message.isComplete()) {
      completed(lane, inbox, message);
    } else if (inbox.hasFin) {
      dropIfCut(lane, inbox);
    }
  }

  /** Whether a message can begin: earlier frames of a hostile segment may have changed that. */
  private boolean isBegin(Lane lane, int number, FrameReader frame) {
    InboundMessage prepared = preparation.message();
    return prepared != null
        && prepared.number == number
        && admission.hasRoom(lane, number, frame.total());
  }

  /** Whether a frame continues a message, for which the buffer is large enough. */
  private boolean isContinuation(InboundMessage begun, FrameReader frame) {
    return LaneAdmission.isContinuation(begun, frame)
        && (preparation.message() != null
            || frame.offset() + frame.length() <= begun.content.capacity());
  }

  private InboundMessage begin(Lane lane, LaneInbox inbox, FrameReader frame) {
    InboundMessage message = preparation.take();
    int number = message.number;
    admission.begin(lane, number, message.totalBytes);
    if (inbox.isRingNeeded(lane.base, number, frame.isFragment())) {
      inbox.set(number, message);
    }
    if (number - inbox.end >= 0) {
      inbox.end = number + 1;
    }
    return message;
  }

  /** Gives a message a larger buffer, if there is one. */
  private InboundMessage replace(InboundMessage message, InboundMessage prepared) {
    if (prepared == null) {
      return message;
    }
    ByteBuf larger = prepared.content;
    prepared.giveBack();
    ByteBuf before = message.content;
    if (larger.capacity() <= before.capacity()) { // Another frame of the segment has grown it.
      memory.release(larger);
      return message;
    }
    Copying.appendOwn(larger, before, 0, before.writerIndex());
    message.content = larger;
    memory.release(before);
    return message;
  }

  private static void put(ByteBuf content, FrameReader frame, ByteBuf data) {
    int offset = frame.offset();
    int end = content.writerIndex();
    if (offset == end) {
      Copying.appendOwn(content, data, frame.payload(), frame.length());
      return;
    }
    if (offset > end) { // Other memory must never be visible, whatever the peer sends.
      content.setZero(end, offset - end);
    }
    content.setBytes(offset, data, frame.payload(), frame.length());
    content.writerIndex(Math.max(end, offset + frame.length()));
  }

  private void completed(Lane lane, LaneInbox inbox, InboundMessage message) {
    boolean isOrdered = lane.inputKind == LaneKind.RELIABLE_ORDERED;
    if (inbox.get(message.number) == null) { // In order: it is not in the ring.
      lane.base++;
      message.isPassed = true;
      deliver(lane, inbox, message);
    } else {
      if (!isOrdered) {
        deliver(lane, inbox, message);
      }
      advance(lane, inbox);
    }
    checkEnd(lane, inbox);
  }

  /** Passes a complete message to the reader. */
  private void deliver(Lane lane, LaneInbox inbox, InboundMessage message) {
    counters.add(KcpCounter.LANE_MESSAGES_IN, 1);
    int bytes = message.totalBytes;
    if (lane.is(Lane.INPUT_DISCARDED)) {
      memory.release(message.content);
      consumed(lane, message);
    } else {
      inbox.add(message);
      unreadMessages++;
      lanes.news(lane);
    }
    LaneTracing.messageReceived(kcp, lane, bytes);
  }

  /** Advances the base over complete messages. */
  private void advance(Lane lane, LaneInbox inbox) {
    boolean isOrdered = lane.inputKind == LaneKind.RELIABLE_ORDERED;
    while (lane.base != inbox.end) {
      InboundMessage message = inbox.get(lane.base);
      if (message == null || !message.isComplete()) {
        return;
      }
      inbox.set(lane.base, null);
      lane.base++;
      if (message == InboundMessage.READ) {
        admission.consumed(lane, LanesConfig.MESSAGE_OVERHEAD_BYTES);
      } else {
        message.isPassed = true;
        if (isOrdered) {
          deliver(lane, inbox, message);
        }
      }
    }
  }

  /** A message has been read, or need not be. */
  private void consumed(Lane lane, InboundMessage message) {
    int charge = message.totalBytes;
    if (message.isPassed) {
      charge += LanesConfig.MESSAGE_OVERHEAD_BYTES;
    } else {
      lane.inbox.set(message.number, InboundMessage.READ);
    }
    message.giveBack();
    admission.consumed(lane, charge);
  }

  // Reading

  /** The next message of a lane that has one, which becomes the caller's. */
  ByteBuf read(Lane lane) {
    InboundMessage message = lane.inbox.remove();
    unreadMessages--;
    ByteBuf content = message.content;
    memory.handOver(content);
    counters.add(KcpCounter.PAYLOAD_BYTES_IN, content.readableBytes());
    consumed(lane, message);
    lanes.releaseIfEmpty(lane);
    return content;
  }

  /** Discards what can be read, and what arrives from now on. */
  void discard(Lane lane) {
    lane.set(Lane.INPUT_DISCARDED, true);
    while (lane.isReadable()) {
      InboundMessage message = lane.inbox.remove();
      unreadMessages--;
      memory.release(message.content);
      consumed(lane, message);
    }
    lanes.releaseIfEmpty(lane);
  }

  // The end

  /** The peer has ended a lane behind the messages before {@code fin}. */
  void receiveFin(FrameReader frame) {
    Lane lane = preparation.nextLane();
    int fin = frame.value();
    if (lane == null || !isPossibleFin(lane, fin)) {
      refuse();
      return;
    }
    LaneInbox inbox = lane.inbox;
    inbox.hasFin = true;
    inbox.fin = fin;
    inbox.cutBytes = frame.total();
    dropIfCut(lane, inbox);
    checkEnd(lane, inbox);
  }

  private static boolean isPossibleFin(Lane lane, int fin) {
    return (lane.inputKind == null || lane.inputKind.isReliable())
        && !lane.isInputEnded()
        && !lane.inbox.hasFin
        && fin - lane.inbox.end >= 0;
  }

  /** Drops the last message if all that the peer has sent of it has arrived, which is not all. */
  private void dropIfCut(Lane lane, LaneInbox inbox) {
    InboundMessage message = inbox.cutBytes > 0 ? inbox.get(inbox.fin - 1) : null;
    if (message == null
        || message.content == null
        || message.isComplete()
        || message.receivedBytes < inbox.cutBytes) {
      return;
    }
    memory.release(message.content);
    inbox.set(message.number, InboundMessage.READ);
    admission.consumed(lane, message.totalBytes);
    message.giveBack();
    advance(lane, inbox);
    checkEnd(lane, inbox);
  }

  private void checkEnd(Lane lane, LaneInbox inbox) {
    if (inbox.hasFin && lane.base == inbox.fin) {
      inbox.hasFin = false;
      lane.base++;
      inbox.end = lane.base;
      lanes.inputEnded(lane);
    }
  }

  /** An inbox goes, in which nothing is. */
  void releaseRing(LaneInbox inbox) {
    memory.releaseRing(inbox);
  }

  /** Releases all messages. */
  void close(Lane lane) {
    LaneInbox inbox = lane.inbox;
    for (int number = lane.base; number != inbox.end; number++) {
      InboundMessage message = inbox.get(number);
      if (message != null && message.content != null && !isReadable(lane, message)) {
        memory.release(message.content);
        message.content = null;
      }
    }
    while (lane.isReadable()) {
      unreadMessages--;
      memory.release(inbox.remove().content);
    }
    memory.releaseRing(inbox);
    lane.inbox = null;
  }

  /** Whether a message that is in the ring is also among those that can be read. */
  private static boolean isReadable(Lane lane, InboundMessage message) {
    return lane.inputKind == LaneKind.RELIABLE_UNORDERED && message.isComplete();
  }

  private void refuse() {
    counters.add(KcpCounter.LANE_FRAMES_REFUSED, 1);
  }
}
