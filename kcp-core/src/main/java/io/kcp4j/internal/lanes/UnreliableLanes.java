package io.kcp4j.internal.lanes;

import io.kcp4j.KcpCounter;
import io.kcp4j.KcpCounters;
import io.kcp4j.internal.arq.Kcp;
import io.kcp4j.internal.lanes.LaneScheduler.Outbox;
import io.kcp4j.internal.lanes.OutboundMessage.Drop;
import io.kcp4j.lanes.LaneKind;
import io.kcp4j.lanes.LanesConfig;
import io.netty.buffer.ByteBuf;
import java.util.ArrayDeque;
import java.util.Deque;

/**
 * The messages of unreliable lanes, in both directions. They travel as items of messages of the
 * extension, which end a flush: protocol.md 15.5.
 *
 * <p>Of those that wait to be sent, each lane has a limited number, beyond which its oldest is
 * dropped. Lanes take turns.
 *
 * <p>Each message is received once. Those that wait to be read are limited by number on each lane,
 * beyond which the oldest of the lane is dropped, and by memory in all, beyond which lanes lose
 * their oldest in turn. So lanes that are not read take nothing from others.
 */
public final class UnreliableLanes {

  // The types of items: protocol.md 13.2

  /** In place of a message that could not be read. Peers skip what they do not know. */
  private static final int PADDING = 0;

  /**
   * A message of an unreliable lane, for peers that do not take {@link #UNRELIABLE_32}. Value: lane
   * and number, both of 2 bytes, and the payload.
   */
  static final int UNRELIABLE = 16;

  /** The same of a sequenced lane. */
  static final int SEQUENCED = 17;

  /** A message of an unreliable lane. Value: lane, 2 bytes, number, 4 bytes, and the payload. */
  static final int UNRELIABLE_32 = 19;

  /** The same of a sequenced lane. */
  static final int SEQUENCED_32 = 20;

  /** The bytes of the value of an item before the payload, with a number of 16 bits. */
  public static final int VALUE_HEADER_BYTES = 2 * Short.BYTES;

  /** The same with a number of 32 bits. */
  public static final int VALUE_HEADER_32_BYTES = Short.BYTES + Integer.BYTES;

  /** Type and length of an item, in bytes. */
  private static final int ITEM_HEADER_BYTES = 3;

  /** Sends the ends of lanes. */
  private final LaneSender reliable;

  private final PeerLanes peerLanes;
  private final Lanes lanes;
  private final Kcp kcp;
  private final KcpCounters counters;
  private final InboundMessage.Memory memory;

  /** How many messages may wait on a lane, in each direction. */
  private final int limit;

  /** How much memory all messages may take that wait to be read. */
  private final int maxBytes;

  /** The lanes that have messages to send, each once. */
  private final Deque<Outbox> turns = new ArrayDeque<>();

  /** The messages that leave next. */
  private final OutboundMessage.Queue<OutboundMessage> planned = new OutboundMessage.Queue<>();

  private int plannedBytes;

  /** Whether the peer takes numbers of 32 bits. */
  private boolean hasLongNumbers;

  /**
   * Whether what has been planned leaves with the message that is written. It waits for another one
   * if it was planned for a flush that has failed, and this message has less room.
   */
  private boolean isDue;

  /** The lanes that may have something unread, each once. */
  private final Deque<Lane> unread = new ArrayDeque<>();

  UnreliableLanes(
      Lanes lanes, PeerLanes peerLanes, LaneSender reliable, Kcp kcp, LanesConfig config) {
    this.lanes = lanes;
    this.peerLanes = peerLanes;
    this.reliable = reliable;
    this.kcp = kcp;
    counters = kcp.counters();
    memory = new InboundMessage.Memory(kcp.memory(), counters);
    limit = config.unreliableQueue();
    maxBytes = config.budgetBytes() / 2;
  }

  // Items

  /** Whether items of this type carry messages of lanes. */
  public static boolean isItem(int type) {
    return type == UNRELIABLE || type == SEQUENCED || isLong(type);
  }

  /** Whether the numbers of such items have 32 bits. */
  static boolean isLong(int type) {
    return type == UNRELIABLE_32 || type == SEQUENCED_32;
  }

  private int type(LaneKind kind) {
    boolean isSequenced = kind == LaneKind.UNRELIABLE_SEQUENCED;
    if (hasLongNumbers) {
      return isSequenced ? SEQUENCED_32 : UNRELIABLE_32;
    }
    return isSequenced ? SEQUENCED : UNRELIABLE;
  }

  private static int valueHeaderBytes(boolean isLong) {
    return isLong ? VALUE_HEADER_32_BYTES : VALUE_HEADER_BYTES;
  }

  /** The bytes of an item before the payload: its type and length, too. */
  private static int itemHeaderBytes(boolean isLong) {
    return ITEM_HEADER_BYTES + valueHeaderBytes(isLong);
  }

  /** The peer takes numbers of 32 bits. */
  void useLongNumbers() {
    hasLongNumbers = true;
  }

  /**
   * The largest message, in bytes.
   *
   * @param roomBytes the room that a message of the extension has for items. While the parameters
   *     of the peer are not known, the largest header has to fit
   */
  int maxMessageBytes(int roomBytes) {
    return roomBytes - itemHeaderBytes(hasLongNumbers || !lanes.isOpen());
  }

  // Sending

  /** Whether no message waits to be sent. */
  boolean isEmpty() {
    return turns.isEmpty() && planned.isEmpty();
  }

  void send(Lane lane, OutboundMessage message) {
    lane.output = Lane.Output.OPEN;
    if (lane.outbox == null) {
      lane.outbox = new Outbox(lane);
    }
    Outbox outbox = lane.outbox;
    if (outbox.isEmpty()) {
      turns.add(outbox);
    }
    outbox.add(message);
    if (outbox.messages() > limit) {
      drop(outbox.remove(), Drop.QUEUE_FULL);
    }
  }

  private void drop(OutboundMessage message, Drop reason) {
    counters.add(KcpCounter.UNRELIABLE_DROPPED, 1);
    message.drop(reason);
  }

  /** Whether a message of the lane has been taken from its queue and not been written. */
  boolean isPlanned(Lane lane) {
    return planned.contains(lane);
  }

  /** Drops what waits on a lane. */
  void dropAll(Lane lane, Drop reason) {
    if (lane.outbox != null) {
      turns.remove(lane.outbox);
      while (!lane.outbox.isEmpty()) {
        drop(lane.outbox.remove(), reason);
      }
      lane.outbox = null;
    }
  }

  /** See {@link Lanes#planUnreliable}. */
  int plan(int roomBytes, int mostBytes, boolean isLargest) {
    int bytes = plan(roomBytes, mostBytes);
    while (bytes == 0 && isLargest && !isEmpty()) {
      dropFirst();
      bytes = plan(roomBytes, mostBytes);
    }
    return bytes;
  }

  private int plan(int roomBytes, int mostBytes) {
    if (planned.isEmpty()) {
      plan(roomBytes);
    }
    if (planned.isEmpty()) {
      plan(mostBytes);
    }
    isDue = plannedBytes <= mostBytes;
    return isDue ? plannedBytes : 0;
  }

  private void plan(int roomBytes) {
    for (Outbox outbox; (outbox = turns.peek()) != null; ) {
      int bytes = itemHeaderBytes(hasLongNumbers) + outbox.first().bytes();
      if (plannedBytes + bytes > roomBytes) {
        return;
      }
      turns.remove();
      planned.add(outbox.remove());
      plannedBytes += bytes;
      if (outbox.isEmpty()) {
        outbox.forget();
      } else {
        turns.add(outbox);
      }
    }
  }

  /** Drops what comes first, which fits into no datagram: the MTU has become too small for it. */
  private void dropFirst() {
    if (!planned.isEmpty()) {
      dropPlanned(Drop.TOO_LARGE);
      return;
    }
    Outbox outbox = turns.remove();
    drop(outbox.remove(), Drop.TOO_LARGE);
    if (outbox.isEmpty()) {
      outbox.forget();
      endIfDone(outbox.lane);
    } else {
      turns.addFirst(outbox);
    }
  }

  /** Ends a lane that is to end behind messages, if those have left or are dropped. */
  private void endIfDone(Lane lane) {
    if (lane.output == Lane.Output.ENDING && !isPlanned(lane)) {
      reliable.endIfEmpty(lane);
    }
  }

  private void dropPlanned(Drop reason) {
    while (!planned.isEmpty()) {
      OutboundMessage message = planned.remove();
      drop(message, reason);
      endIfDone(message.lane);
    }
    plannedBytes = 0;
  }

  /** Writes the items that have been planned. */
  void write(ByteBuf out) {
    if (!isDue) {
      return;
    }
    while (!planned.isEmpty()) {
      OutboundMessage message = planned.remove();
      if (write(message, out)) {
        sent(message);
      } else {
        drop(message, Drop.UNREADABLE);
      }
      endIfDone(message.lane);
    }
    plannedBytes = 0;
  }

  /** Writes an item; returns whether its message could be read. */
  private boolean write(OutboundMessage message, ByteBuf out) {
    Lane lane = message.lane;
    int start = out.writerIndex();
    int valueBytes = valueHeaderBytes(hasLongNumbers) + message.bytes();
    out.writeByte(type(lane.config().kind())).writeShortLE(valueBytes);
    out.writeShortLE(lane.id());
    if (hasLongNumbers) {
      out.writeIntLE(lane.sentMessages);
    } else {
      out.writeShortLE(lane.sentMessages);
    }
    try {
      message.copy(out);
      return true;
    } catch (RuntimeException e) { // The bytes have been planned.
      out.writerIndex(start).writeByte(PADDING).writeShortLE(valueBytes);
      out.writeZero(valueBytes);
      return false;
    }
  }

  private void sent(OutboundMessage message) {
    message.lane.sentMessages++;
    counters.add(KcpCounter.UNRELIABLE_OUT, 1);
    message.lane.traceSent(kcp, message.bytes());
    message.succeed();
  }

  /** No lane has a turn any more; {@link #dropAll} drops what waits on each. */
  void close() {
    dropPlanned(Drop.SESSION_CLOSED);
    turns.clear();
  }

  // Receiving

  int heldBytes() {
    return memory.heldBytes();
  }

  /**
   * Takes in a message.
   *
   * @param data its bytes from {@code index} to {@code index + length} are the value of an item
   *     with this type
   */
  void receive(int type, ByteBuf data, int index, int length) {
    int id = data.getUnsignedShortLE(index);
    Lane lane = peerLanes.findOrBegin(id);
    if (lane != null) {
      receive(lane, type, data, index, length);
      peerLanes.endSegment(lane);
    } else {
      boolean isAllowed = peerLanes.isAllowed(id);
      counters.add(isAllowed ? KcpCounter.UNRELIABLE_DROPPED : KcpCounter.LANE_FRAMES_REFUSED, 1);
    }
  }

  private void receive(Lane lane, int type, ByteBuf data, int index, int length) {
    boolean isSequenced = type == SEQUENCED || type == SEQUENCED_32;
    LaneKind kind = isSequenced ? LaneKind.UNRELIABLE_SEQUENCED : LaneKind.UNRELIABLE;
    if (lane.inputKind != null && lane.inputKind != kind) {
      counters.add(KcpCounter.LANE_FRAMES_REFUSED, 1);
      return;
    }
    boolean isLong = isLong(type);
    int number = number(lane, data, index + Short.BYTES, isLong);
    boolean isNew = !lane.isInputEnded() && lane.takeNumber(number, !isSequenced);
    if (isNew) { // Else perhaps of before the end.
      peerLanes.inputBegun(lane, kind);
    }
    if (!isNew || lane.is(Lane.INPUT_DISCARDED)) {
      counters.add(KcpCounter.UNRELIABLE_DROPPED, 1);
      return;
    }
    counters.add(KcpCounter.UNRELIABLE_IN, 1);
    int header = valueHeaderBytes(isLong);
    add(lane, data, index + header, length - header);
  }

  /** The number of a message; with 16 bits, the one that is nearest to the base. */
  private static int number(Lane lane, ByteBuf data, int index, boolean isLong) {
    return isLong ? data.getIntLE(index) : lane.base + (short) (data.getShortLE(index) - lane.base);
  }

  private void add(Lane lane, ByteBuf data, int index, int bytes) {
    makeRoom(bytes + InboundMessage.Memory.OVERHEAD_BYTES);
    if (!lane.is(Lane.UNREAD)) {
      unread.add(lane); // First, since the queue may find no memory to grow.
      lane.set(Lane.UNREAD, true);
    }
    LaneInbox inbox = peerLanes.inbox(lane);
    if (inbox.readable() == limit) { // Its memory is the first to be used for the new one.
      memory.drop(inbox);
    }
    if (memory.add(inbox, limit, data, index, bytes)) {
      lane.traceReceived(kcp, bytes);
      lanes.news(lane);
    } else {
      peerLanes.releaseIfEmpty(lane);
    }
  }

  /** Drops the oldest messages of all lanes in turn, until there is room for so many bytes. */
  private void makeRoom(int bytes) {
    while (memory.heldBytes() + bytes > maxBytes && !unread.isEmpty()) {
      Lane lane = unread.remove();
      if (lane.isInputUnreliable() && lane.isReadable()) {
        memory.drop(lane.inbox);
        unread.add(lane);
      } else {
        lane.set(Lane.UNREAD, false);
        peerLanes.releaseIfEmpty(lane);
      }
    }
  }

  /** The next message of a lane that has one, which becomes the caller's. */
  ByteBuf read(Lane lane) {
    ByteBuf content = memory.poll(lane.inbox);
    peerLanes.releaseIfEmpty(lane);
    return content;
  }

  /** Discards what can be read, and what arrives from now on. */
  void discard(Lane lane) {
    lane.set(Lane.INPUT_DISCARDED, true);
    close(lane);
  }

  /**
   * The peer has ended a lane behind the messages before {@code fin}.
   *
   * @param lane null if the peer may not send on it
   */
  void receiveFin(Lane lane, int fin) {
    boolean isPossible =
        lane != null
            && (lane.inputKind == null || !lane.inputKind.isReliable())
            && !lane.isInputEnded()
            && fin - lane.base >= 0;
    if (!isPossible) {
      counters.add(KcpCounter.LANE_FRAMES_REFUSED, 1);
      return;
    }
    lane.advanceBase(fin + 1);
    peerLanes.inputEnded(lane);
  }

  /** Releases what can be read. */
  void close(Lane lane) {
    while (lane.isReadable()) {
      memory.poll(lane.inbox).release();
    }
    peerLanes.releaseIfEmpty(lane);
  }
}
