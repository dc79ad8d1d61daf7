package io.kcp4j.internal.lanes;

import io.kcp4j.KcpCounter;
import io.kcp4j.KcpCounters;
import io.kcp4j.internal.arq.Kcp;
import io.kcp4j.internal.wire.Copying;
import io.kcp4j.lanes.LaneKind;
import io.kcp4j.lanes.LanesConfig;
import io.netty.buffer.ByteBuf;

/**
 * Takes in the messages of reliable lanes: puts those of ordered lanes in order and fragments
 * together. {@link SegmentDemux} has prepared what the frames of a segment need.
 *
 * <p>Enforces the budget of what is not read. A peer that exceeds it, or sends what contradicts
 * earlier frames, loses that frame: protocol.md 15.3.
 */
final class LaneReceiver {

  private final Lanes lanes;
  private final PeerLanes peerLanes;
  private final InboundMessage.Memory memory;
  private final Kcp kcp;
  private final KcpCounters counters;
  private final ControlFrames control;
  private final int maxMessageBytes;
  private final FragmentRun run = new FragmentRun();

  /** How many messages wait to be read. */
  private int unreadMessages;

  LaneReceiver(
      Lanes lanes, PeerLanes peerLanes, Kcp kcp, ControlFrames control, LanesConfig config) {
    this.lanes = lanes;
    this.peerLanes = peerLanes;
    this.kcp = kcp;
    this.control = control;
    counters = kcp.counters();
    memory = new InboundMessage.Memory(kcp.memory(), counters);
    maxMessageBytes = LanesConfig.maxMessageBytes(config.budgetBytes());
  }

  InboundMessage.Memory memory() {
    return memory;
  }

  /** Whether messages wait to be read. */
  boolean hasUnread() {
    return unreadMessages > 0;
  }

  // Which frames a correct peer may send: protocol.md 15.3.3

  /** Whether a message, or a part of one, is possible on its lane now. */
  boolean isPossible(Lane lane, Frame frame) {
    int number = frame.number(lane.base);
    return (lane.inputKind == null || lane.inputKind == frame.kind())
        && !lane.isInputEnded()
        && frame.total() <= maxMessageBytes
        && number - lane.base >= 0
        && (lane.inbox == null || !lane.inbox.hasFin || number - lane.inbox.fin < 0);
  }

  /** Whether a frame continues a message. */
  static boolean isContinuation(InboundMessage begun, Frame frame) {
    return frame.isFragment()
        && begun.content != null
        && begun.totalBytes == frame.total()
        && begun.receivedBytes + frame.length() <= begun.totalBytes;
  }

  // Messages

  /**
   * Takes in a message, or a part of it.
   *
   * @param lane that of the frame; null if the peer may not use it
   * @param prepared a message with the buffer that the frame needs, which becomes this receiver's;
   *     null if the frame needs none
   */
  void receive(Frame frame, ByteBuf data, Lane lane, InboundMessage prepared) {
    int number = lane == null ? 0 : frame.number(lane.base);
    InboundMessage begun = lane == null ? null : lane.begun(number);
    if (lane == null || !isPossible(lane, frame) || !isAllowed(lane, frame, begun, prepared)) {
      refuse();
      release(prepared);
      return;
    }
    peerLanes.inputBegun(lane, frame.kind());
    if (begun == null) {
      begin(lane, prepared, frame);
      add(lane, prepared, frame, data);
    } else {
      add(lane, replace(begun, prepared), frame, data);
    }
  }

  /** Earlier frames of a hostile segment may have changed what holds since it was prepared. */
  private boolean isAllowed(Lane lane, Frame frame, InboundMessage begun, InboundMessage prepared) {
    return begun == null
        ? prepared != null && isBegin(lane, frame, prepared)
        : isContinuation(begun, frame) && (prepared != null || hasRoom(begun, frame));
  }

  /** Releases what was prepared for a frame, if anything. */
  void release(InboundMessage prepared) {
    if (prepared != null) {
      memory.release(prepared.content);
      prepared.giveBack();
    }
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
  boolean receiveContinuation(Frame frame, ByteBuf data, int index) {
    Lane lane = frame.isMessage() ? lanes.find(frame.lane()) : null;
    if (lane == null || !isPossible(lane, frame)) {
      return false;
    }
    InboundMessage begun = lane.begun(frame.number(lane.base));
    if (begun == null || !isContinuation(begun, frame) || !hasRoom(begun, frame)) {
      return false;
    }
    if (begun.receivedBytes + frame.length() < begun.totalBytes) {
      run.begin(lane, begun, frame, data, index);
    }
    add(lane, begun, frame, data);
    peerLanes.endSegment(lane);
    return true;
  }

  /** Whether the buffer of a message is large enough for a frame. */
  private static boolean hasRoom(InboundMessage begun, Frame frame) {
    return frame.offset() + frame.length() <= begun.content.capacity();
  }

  private void add(Lane lane, InboundMessage message, Frame frame, ByteBuf data) {
    LaneInbox inbox = lane.inbox;
    message.put(frame.offset(), data, frame.payload(), frame.length());
    message.receivedBytes += frame.length();
    if (message.isComplete()) {
      completed(lane, inbox, message);
    } else if (inbox.hasFin) {
      dropIfCut(lane, inbox);
    }
  }

  private boolean isBegin(Lane lane, Frame frame, InboundMessage prepared) {
    LaneInbox inbox = lane.inbox;
    int number = frame.number(lane.base);
    return prepared.number == number
        && control.hasRoom(ControlFrames.claim(inbox.end, number, frame.total()))
        && (!inbox.isNumberNeeded(lane.base, number, frame.isFragment()) || inbox.hasRoom());
  }

  private void begin(Lane lane, InboundMessage message, Frame frame) {
    LaneInbox inbox = lane.inbox;
    int number = message.number;
    control.received(ControlFrames.claim(inbox.end, number, message.totalBytes));
    if (inbox.isNumberNeeded(lane.base, number, frame.isFragment())) {
      inbox.set(number, message);
    }
    if (number - inbox.end >= 0) {
      inbox.end = number + 1;
    }
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

  private void completed(Lane lane, LaneInbox inbox, InboundMessage message) {
    boolean isOrdered = lane.inputKind == LaneKind.RELIABLE_ORDERED;
    if (inbox.get(message.number) == null) { // In order: it was delivered at once.
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
    lane.traceReceived(kcp, bytes);
  }

  /** Advances the base over complete messages. */
  private void advance(Lane lane, LaneInbox inbox) {
    boolean isOrdered = lane.inputKind == LaneKind.RELIABLE_ORDERED;
    while (lane.base != inbox.end) {
      InboundMessage message = inbox.get(lane.base);
      if (message == null || !message.isComplete()) {
        return;
      }
      inbox.remove(lane.base);
      lane.base++;
      if (message == InboundMessage.READ) {
        memory.releaseNumber();
        control.consumed(lane, LanesConfig.MESSAGE_OVERHEAD_BYTES);
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
      memory.keepNumber();
    }
    message.giveBack();
    control.consumed(lane, charge);
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
    peerLanes.releaseIfEmpty(lane);
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
    peerLanes.releaseIfEmpty(lane);
  }

  // The end

  /**
   * The peer has ended a lane behind the messages before the number of the frame.
   *
   * @param lane null if the peer may not use it
   */
  void receiveFin(Frame frame, Lane lane) {
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
    memory.keepNumber();
    control.consumed(lane, message.totalBytes);
    message.giveBack();
    advance(lane, inbox);
    checkEnd(lane, inbox);
  }

  private void checkEnd(Lane lane, LaneInbox inbox) {
    if (inbox.hasFin && lane.base == inbox.fin) {
      inbox.hasFin = false;
      lane.base++;
      inbox.end = lane.base;
      peerLanes.inputEnded(lane);
    }
  }

  /** Releases all messages. */
  void close(Lane lane) {
    LaneInbox inbox = lane.inbox;
    inbox.byNumber().forEach(message -> close(lane, message));
    while (lane.isReadable()) {
      unreadMessages--;
      memory.release(inbox.remove().content);
    }
    lane.inbox = null;
  }

  private void close(Lane lane, InboundMessage message) {
    if (message == InboundMessage.READ) {
      memory.releaseNumber();
    } else if (!isReadable(lane, message)) {
      memory.release(message.content);
      message.content = null;
    }
  }

  /** Whether a message that is found by number is also among those that can be read. */
  private static boolean isReadable(Lane lane, InboundMessage message) {
    return lane.inputKind == LaneKind.RELIABLE_UNORDERED && message.isComplete();
  }

  private void refuse() {
    counters.add(KcpCounter.LANE_FRAMES_REFUSED, 1);
  }

  /**
   * The fragments of one message that arrive in order, each alone in its segment, as those of bulk
   * data do. Their frames differ in nothing but the offset, so they need not be read field by
   * field.
   */
  private static final class FragmentRun {

    /** What is loaded at once, the header and the offset, ends before the segment does. */
    private static final int MIN_SEGMENT_BYTES = 2 * Long.BYTES;

    private Lane lane;

    /** Null if there is no run. It may have been recycled since. */
    private InboundMessage message;

    private int number;

    /** What frames of the run begin with, up to the offset; as many bytes as the mask has. */
    private long header;

    private long mask;
    private int headerBytes;

    /**
     * A fragment of a message has been taken in that does not complete it.
     *
     * @param frame the only frame of its segment
     * @param index where the segment begins in {@code data}
     */
    void begin(Lane lane, InboundMessage message, Frame frame, ByteBuf data, int index) {
      headerBytes = frame.offsetIndex() - index;
      if (frame.hasLength() || frame.length() < MIN_SEGMENT_BYTES || headerBytes >= Long.BYTES) {
        this.message = null;
        return;
      }
      this.lane = lane;
      this.message = message;
      number = message.number;
      mask = (1L << (Byte.SIZE * headerBytes)) - 1;
      header = data.getLongLE(index) & mask;
    }

    /**
     * Takes in a segment if all of it is the next fragment of the message, there is memory for it,
     * and it does not complete the message. Returns whether it has.
     */
    boolean append(ByteBuf data, int index, int bytes) {
      if (message == null
          || bytes < MIN_SEGMENT_BYTES
          || (data.getLongLE(index) & mask) != header
          || !isCurrent()) {
        return false;
      }
      int word = data.getIntLE(index + headerBytes);
      int offsetBytes = Frame.varIntBytesOf(word);
      int payload = headerBytes + offsetBytes;
      int length = bytes - payload;
      ByteBuf content = message.content;
      if (offsetBytes > Integer.BYTES
          || Frame.varIntOf(word, offsetBytes) != content.writerIndex()
          || length > content.maxWritableBytes()
          || message.receivedBytes + length >= message.totalBytes) {
        return false;
      }
      Copying.appendOwn(content, data, index + payload, length);
      message.receivedBytes += length;
      return true;
    }

    /** Whether the message is still incomplete, and the peer has not ended its lane. */
    private boolean isCurrent() {
      LaneInbox inbox = lane.inbox;
      return inbox != null
          && inbox.get(number) == message
          && message.number == number
          && !inbox.hasFin;
    }
  }
}
