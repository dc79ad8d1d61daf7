package io.kcp4j.lanes;

import io.kcp4j.Copying;
import io.kcp4j.Kcp;
import io.kcp4j.KcpContext;
import io.kcp4j.KcpCounter;
import io.kcp4j.KcpCounters;
import io.netty.buffer.ByteBuf;
import java.util.Arrays;

/**
 * Takes in the messages of reliable lanes: puts those of ordered lanes in order and fragments
 * together. Within a segment, all memory is allocated before anything changes, so that a segment
 * for which there is none can be retransmitted as a whole.
 *
 * <p>Enforces the budget of what is not read. A peer that exceeds it, or sends what contradicts
 * earlier frames, loses that frame: protocol.md 15.3.
 */
final class LaneReceiver {

  /** The first buffer of a message in fragments: the peer may send fewer than it says. */
  private static final int FIRST_BUFFER_BYTES = 64 * 1024;

  private final Lanes lanes;
  private final MessageMemory memory;
  private final Kcp kcp;
  private final KcpCounters counters;
  private final ControlFrames control;
  private final int budgetBytes;
  private final int maxMessageBytes;

  /** What counts against the budget: messages of which anything has arrived, and are not read. */
  private int unreadBytes;

  /** How many messages wait to be read. */
  private int unreadMessages;

  /** For the messages of the segment that is taken in; null where nothing is needed. */
  private ByteBuf[] buffers = new ByteBuf[4];

  private int prepared;

  LaneReceiver(
      Lanes lanes, KcpContext context, Kcp kcp, ControlFrames control, LanesConfig config) {
    this.lanes = lanes;
    memory = new MessageMemory(context);
    this.kcp = kcp;
    counters = kcp.counters();
    this.control = control;
    budgetBytes = config.budgetBytes();
    maxMessageBytes = Credit.maxMessageBytes(budgetBytes);
  }

  int heldBytes() {
    return memory.heldBytes();
  }

  /** Whether messages wait to be read. */
  boolean hasUnread() {
    return unreadMessages > 0;
  }

  // Memory

  /**
   * Allocates what the frame needs that has been read.
   *
   * @param isInOrder whether its segment closes a gap, or follows the one before
   * @return false if there is no memory
   * @throws OutOfMemoryError likewise
   */
  boolean prepare(FrameReader frame, boolean isInOrder) {
    if (prepared == buffers.length) {
      buffers = Arrays.copyOf(buffers, 2 * prepared);
    }
    int bytes = neededBytes(frame);
    ByteBuf buffer = null;
    if (bytes >= 0) {
      buffer = memory.allocate(bytes, isInOrder);
      if (buffer == null) {
        return false;
      }
    }
    buffers[prepared++] = buffer;
    return true;
  }

  /** The size of the buffer that a frame needs, or -1 if it needs none. */
  private int neededBytes(FrameReader frame) {
    if (frame.total() > maxMessageBytes) {
      return -1; // It will be refused.
    }
    if (!frame.isFragment()) {
      return frame.total();
    }
    int end = frame.offset() + frame.length();
    Lane lane = lanes.find(frame.lane());
    InboundMessage begun = lane == null ? null : begun(lane, frame.number(lane.base));
    int before = begun == null || begun.content == null ? 0 : begun.content.capacity();
    if (end <= before) {
      return -1;
    }
    return Math.min(frame.total(), Math.max(end, Math.max(2 * before, FIRST_BUFFER_BYTES)));
  }

  /** The segment is not taken in: releases what has been prepared for it. */
  void cancel() {
    while (prepared > 0) {
      memory.release(buffers[--prepared]);
      buffers[prepared] = null;
    }
  }

  /** The segment has been taken in. */
  void endSegment() {
    prepared = 0;
  }

  // Messages

  /**
   * Takes in a message, or a part of it.
   *
   * @param index how many messages precede it in its segment
   */
  void receive(FrameReader frame, ByteBuf data, int index) {
    ByteBuf buffer = buffers[index];
    buffers[index] = null;
    LaneKind kind =
        frame.type() == Frame.ORDERED ? LaneKind.RELIABLE_ORDERED : LaneKind.RELIABLE_UNORDERED;
    Lane lane = lanes.findOrMake(frame.lane());
    if (lane == null || !isPossible(lane, kind, frame)) {
      refuse(buffer);
      return;
    }
    int number = frame.number(lane.base);
    InboundMessage begun = begun(lane, number);
    if (begun == null
        ? buffer == null || !claim(lane, number, frame.total())
        : !isContinuation(begun, frame, buffer)) {
      refuse(buffer);
      return;
    }
    lanes.inputBegun(lane, kind);
    LaneInbox inbox = lanes.inbox(lane);
    InboundMessage message =
        begun == null ? begin(lane, inbox, number, frame, buffer) : replace(begun, buffer);
    put(message.content, frame, data);
    message.receivedBytes += frame.length();
    if (message.isComplete()) {
      completed(lane, inbox, message);
    } else if (inbox.hasFin) {
      dropIfCut(lane, inbox);
    }
  }

  private boolean isPossible(Lane lane, LaneKind kind, FrameReader frame) {
    int number = frame.number(lane.base);
    return (lane.inputKind == null || lane.inputKind == kind)
        && frame.total() <= maxMessageBytes
        && number - lane.base >= 0
        && (lane.inbox == null || !lane.inbox.hasFin || number - lane.inbox.fin < 0);
  }

  /** The message with this number, or null if nothing of it has arrived. */
  private static InboundMessage begun(Lane lane, int number) {
    return lane.inbox == null || number - lane.base < 0 ? null : lane.inbox.get(number);
  }

  /**
   * Whether a frame continues a message.
   *
   * @param larger replaces its buffer; null if that seemed large enough when the segment was
   *     prepared, which earlier frames of a hostile segment may have changed
   */
  private static boolean isContinuation(InboundMessage begun, FrameReader frame, ByteBuf larger) {
    return frame.isFragment()
        && begun.content != null
        && begun.totalBytes == frame.total()
        && begun.receivedBytes + frame.length() <= begun.totalBytes
        && (larger != null || frame.offset() + frame.length() <= begun.content.capacity());
  }

  /**
   * Counts a message that begins. The peer has sent all messages with lower numbers, too. Returns
   * whether the budget allows it.
   */
  private boolean claim(Lane lane, int number, int totalBytes) {
    int end = lane.inbox == null ? lane.base : lane.inbox.end;
    long messages = Math.max(number - end + 1L, 0);
    long claimed = messages * LanesConfig.MESSAGE_OVERHEAD_BYTES + totalBytes;
    if (claimed > budgetBytes - unreadBytes) {
      return false;
    }
    unreadBytes += (int) claimed;
    control.received(unreadBytes);
    return true;
  }

  private InboundMessage begin(
      Lane lane, LaneInbox inbox, int number, FrameReader frame, ByteBuf buffer) {
    InboundMessage message = InboundMessage.take(number, frame.total(), buffer);
    if (number != lane.base || inbox.end != lane.base || frame.isFragment()) {
      inbox.grow(lane.base, number);
      inbox.set(number, message);
    }
    if (number - inbox.end >= 0) {
      inbox.end = number + 1;
    }
    return message;
  }

  /** Gives a message a larger buffer, if there is one. */
  private InboundMessage replace(InboundMessage message, ByteBuf larger) {
    if (larger == null) {
      return message;
    }
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
    LaneTracing.messageReceived(kcp, lane, message.totalBytes);
    if (lane.is(Lane.INPUT_DISCARDED)) {
      memory.release(message.content);
      consumed(lane, message);
    } else {
      inbox.add(message);
      unreadMessages++;
      lanes.news(lane);
    }
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
        consumed(lane, LanesConfig.MESSAGE_OVERHEAD_BYTES);
      } else {
        message.isPassed = true;
        if (isOrdered) {
          deliver(lane, inbox, message);
        }
      }
    }
    inbox.release();
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
    consumed(lane, charge);
  }

  private void consumed(Lane lane, int charge) {
    unreadBytes -= charge;
    control.consumed(lane, charge, unreadBytes);
  }

  // Reading

  /** The next message of a lane, which becomes the caller's, or null. */
  ByteBuf read(Lane lane) {
    if (!lane.isReadable()) {
      return null;
    }
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
    Lane lane = lanes.findOrMake(frame.lane());
    int fin = frame.value();
    int end = lane == null || lane.inbox == null ? 0 : lane.inbox.end;
    boolean isPossible =
        lane != null
            && (lane.inputKind == null || lane.inputKind.isReliable())
            && fin - lane.base >= 0
            && (lane.inbox == null || (!lane.inbox.hasFin && fin - end >= 0));
    if (!isPossible) {
      refuse(null);
      return;
    }
    LaneInbox inbox = lanes.inbox(lane);
    inbox.hasFin = true;
    inbox.fin = fin;
    inbox.cutBytes = frame.total();
    dropIfCut(lane, inbox);
    checkEnd(lane, inbox);
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
    consumed(lane, message.totalBytes);
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
    lanes.releaseIfEmpty(lane);
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
    lane.inbox = null;
  }

  /** Whether a message that is in the ring is also among those that can be read. */
  private static boolean isReadable(Lane lane, InboundMessage message) {
    return lane.inputKind == LaneKind.RELIABLE_UNORDERED && message.isComplete();
  }

  private void refuse(ByteBuf buffer) {
    counters.add(KcpCounter.LANE_FRAMES_REFUSED, 1);
    memory.release(buffer);
  }
}
