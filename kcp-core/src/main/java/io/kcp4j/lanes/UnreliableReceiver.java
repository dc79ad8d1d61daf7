package io.kcp4j.lanes;

import io.kcp4j.Kcp;
import io.kcp4j.KcpCounter;
import io.kcp4j.KcpCounters;
import io.netty.buffer.ByteBuf;
import java.util.ArrayDeque;
import java.util.Deque;

/**
 * Takes in the messages of unreliable lanes, each once: those that wait to be read are limited by
 * number on each lane, beyond which the oldest of the lane is dropped, and by memory in all, beyond
 * which lanes lose their oldest in turn. So lanes that are not read take nothing from others.
 */
final class UnreliableReceiver {

  private final Lanes lanes;
  private final MessageMemory memory;
  private final Kcp kcp;
  private final KcpCounters counters;
  private final int limit;
  private final int maxBytes;

  /** The lanes that may have something unread, each once. */
  private final Deque<Lane> unread = new ArrayDeque<>();

  UnreliableReceiver(Lanes lanes, Kcp kcp, LanesConfig config) {
    this.lanes = lanes;
    memory = new MessageMemory(kcp.memory());
    this.kcp = kcp;
    counters = kcp.counters();
    limit = config.unreliableQueue();
    maxBytes = config.budgetBytes() / 2;
  }

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
    Lane lane = lanes.findOrBegin(id);
    if (lane != null) {
      receive(lane, type, data, index, length);
      lanes.endSegment(lane);
    } else {
      boolean isAllowed = lanes.isAllowed(id);
      counters.add(isAllowed ? KcpCounter.UNRELIABLE_DROPPED : KcpCounter.LANE_FRAMES_REFUSED, 1);
    }
  }

  private void receive(Lane lane, int type, ByteBuf data, int index, int length) {
    LaneKind kind = LaneItem.kind(type);
    if (lane.inputKind != null && lane.inputKind != kind) {
      counters.add(KcpCounter.LANE_FRAMES_REFUSED, 1);
      return;
    }
    boolean isLong = LaneItem.isLong(type);
    int number = number(lane, data, index + Short.BYTES, isLong);
    if (lane.isInputEnded() || !isNew(lane, kind, number)) { // Perhaps of before the end.
      counters.add(KcpCounter.UNRELIABLE_DROPPED, 1);
      return;
    }
    lanes.inputBegun(lane, kind);
    if (lane.is(Lane.INPUT_DISCARDED)) {
      counters.add(KcpCounter.UNRELIABLE_DROPPED, 1);
      return;
    }
    counters.add(KcpCounter.UNRELIABLE_IN, 1);
    int header = LaneItem.valueHeaderBytes(isLong);
    add(lane, data, index + header, length - header);
  }

  /** The number of a message; with 16 bits, the one that is nearest to the base. */
  private static int number(Lane lane, ByteBuf data, int index, boolean isLong) {
    return isLong ? data.getIntLE(index) : lane.base + (short) (data.getShortLE(index) - lane.base);
  }

  /** Whether the message has not arrived and is not too old; notes that it has arrived. */
  private static boolean isNew(Lane lane, LaneKind kind, int number) {
    int ahead = number - lane.base;
    if (ahead >= 0) {
      lane.arrived = ahead + 1 < Integer.SIZE ? lane.arrived << (ahead + 1) | 1 : 1;
      advance(lane, number + 1);
      return true;
    }
    int bit = 1 << (-ahead - 1);
    boolean isNew =
        kind == LaneKind.UNRELIABLE && -ahead <= Integer.SIZE && (lane.arrived & bit) == 0;
    if (isNew) {
      lane.arrived |= bit;
    }
    return isNew;
  }

  private static void advance(Lane lane, int base) {
    lane.base = base;
    if (lane.inbox != null) {
      lane.inbox.end = base; // Nothing is kept by number.
    }
  }

  private void add(Lane lane, ByteBuf data, int index, int bytes) {
    makeRoom(bytes + MessageMemory.OVERHEAD_BYTES);
    LaneInbox inbox = lanes.inbox(lane);
    if (inbox.readable() == limit) {
      drop(inbox);
    }
    if (!lane.is(Lane.UNREAD)) {
      unread.add(lane); // First, since the queue may find no memory to grow.
      lane.set(Lane.UNREAD, true);
    }
    InboundMessage message = InboundMessage.take(0, bytes);
    message.content = allocate(bytes);
    if (message.content == null) {
      message.giveBack();
      counters.add(KcpCounter.UNRELIABLE_DROPPED, 1);
      lanes.releaseIfEmpty(lane);
      return;
    }
    message.content.writeBytes(data, index, bytes);
    message.receivedBytes = bytes;
    inbox.add(message);
    LaneTracing.messageReceived(kcp, lane, bytes);
    lanes.news(lane);
  }

  /** Drops the oldest messages of all lanes in turn, until there is room for so many bytes. */
  private void makeRoom(int bytes) {
    while (memory.heldBytes() + bytes > maxBytes && !unread.isEmpty()) {
      Lane lane = unread.remove();
      boolean isUnreliable = lane.inputKind != null && !lane.inputKind.isReliable();
      if (isUnreliable && lane.isReadable()) {
        drop(lane.inbox);
        unread.add(lane);
      } else {
        lane.set(Lane.UNREAD, false);
        lanes.releaseIfEmpty(lane);
      }
    }
  }

  private ByteBuf allocate(int bytes) {
    if (!memory.tryReserveSpare(bytes + MessageMemory.OVERHEAD_BYTES)) {
      return null;
    }
    try {
      return memory.allocate(bytes);
    } catch (OutOfMemoryError e) {
      memory.unreserve(bytes + MessageMemory.OVERHEAD_BYTES);
      counters.add(KcpCounter.ALLOCATION_FAILED, 1);
      return null;
    }
  }

  private void drop(LaneInbox inbox) {
    counters.add(KcpCounter.UNRELIABLE_DROPPED, 1);
    take(inbox).release();
  }

  private ByteBuf take(LaneInbox inbox) {
    InboundMessage message = inbox.remove();
    ByteBuf content = message.content;
    message.giveBack();
    memory.handOver(content);
    return content;
  }

  /** The next message of a lane that has one, which becomes the caller's. */
  ByteBuf read(Lane lane) {
    ByteBuf content = take(lane.inbox);
    lanes.releaseIfEmpty(lane);
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
    advance(lane, fin + 1);
    lanes.inputEnded(lane);
  }

  /** Releases what can be read. */
  void close(Lane lane) {
    while (lane.isReadable()) {
      take(lane.inbox).release();
    }
    lanes.releaseIfEmpty(lane);
  }
}
