package io.kcp4j.lanes;

import io.kcp4j.Kcp;
import io.kcp4j.KcpCounter;
import io.kcp4j.KcpCounters;
import io.netty.buffer.ByteBuf;
import java.util.ArrayDeque;
import java.util.Deque;

/**
 * The messages of unreliable lanes that wait to be sent. Each lane has a limit of its own, beyond
 * which its oldest is dropped; lanes take turns. They leave as items of messages of the extension,
 * which end a flush: protocol.md 15.5.
 */
final class UnreliableSender {

  private final LaneSender reliable;
  private final Kcp kcp;
  private final KcpCounters counters;
  private final int limit;

  /** The lanes that have messages, each once. */
  private final Deque<LaneOutbox> turns = new ArrayDeque<>();

  /** The messages that leave next, and their lanes. */
  private final Deque<LaneSend> planned = new ArrayDeque<>();

  private final Deque<Lane> plannedLanes = new ArrayDeque<>();
  private int plannedBytes;

  /** Whether the peer takes numbers of 32 bits. */
  private boolean hasLongNumbers;

  /**
   * Whether what has been planned leaves with the message that is written. It waits for another one
   * if it was planned for a flush that has failed, and this message has less room.
   */
  private boolean isDue;

  /**
   * Makes a sender.
   *
   * @param reliable sends the ends of lanes
   */
  UnreliableSender(LaneSender reliable, Kcp kcp, int limit) {
    this.reliable = reliable;
    this.kcp = kcp;
    counters = kcp.counters();
    this.limit = limit;
  }

  void useLongNumbers() {
    hasLongNumbers = true;
  }

  boolean isEmpty() {
    return turns.isEmpty() && planned.isEmpty();
  }

  void send(Lane lane, LaneSend message) {
    lane.output = Lane.Output.OPEN;
    if (lane.outbox == null) {
      lane.outbox = new LaneOutbox(lane);
    }
    LaneOutbox outbox = lane.outbox;
    if (outbox.isEmpty()) {
      turns.add(outbox);
    }
    outbox.add(message);
    if (outbox.messages() > limit) {
      drop(outbox.remove(), LaneSend.Drop.QUEUE_FULL);
    }
  }

  private void drop(LaneSend dropped, LaneSend.Drop reason) {
    counters.add(KcpCounter.UNRELIABLE_DROPPED, 1);
    dropped.release();
    dropped.dropped(reason);
  }

  /** Whether a message of the lane has been taken from its queue and not been written. */
  boolean isPlanned(Lane lane) {
    return plannedLanes.contains(lane);
  }

  /** Drops what waits on a lane. */
  void dropAll(Lane lane, LaneSend.Drop reason) {
    if (lane.outbox != null) {
      turns.remove(lane.outbox);
      while (!lane.outbox.isEmpty()) {
        drop(lane.outbox.remove(), reason);
      }
      lane.outbox = null;
    }
  }

  /**
   * Decides which messages leave next, as many as fit.
   *
   * @param roomBytes how many bytes of items the last datagram has room for
   * @param mostBytes how many another one has room for
   * @return the bytes of the items; more than {@code roomBytes} if the first one does not fit
   *     there; 0 if nothing fits
   */
  int plan(int roomBytes, int mostBytes) {
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
    for (LaneOutbox outbox; (outbox = turns.peek()) != null; ) {
      int bytes = LaneItem.headerBytes(hasLongNumbers) + outbox.first().bytes();
      if (plannedBytes + bytes > roomBytes) {
        return;
      }
      turns.remove();
      planned.add(outbox.remove());
      plannedLanes.add(outbox.lane);
      plannedBytes += bytes;
      if (outbox.isEmpty()) {
        outbox.forget();
      } else {
        turns.add(outbox);
      }
    }
  }

  /** Drops what comes first, which fits into no datagram: the MTU has become too small for it. */
  void dropFirst() {
    if (!planned.isEmpty()) {
      dropPlanned(LaneSend.Drop.TOO_LARGE);
      return;
    }
    LaneOutbox outbox = turns.remove();
    drop(outbox.remove(), LaneSend.Drop.TOO_LARGE);
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

  private void dropPlanned(LaneSend.Drop reason) {
    for (LaneSend message; (message = planned.poll()) != null; ) {
      Lane lane = plannedLanes.remove();
      drop(message, reason);
      endIfDone(lane);
    }
    plannedBytes = 0;
  }

  /** Writes the items that have been planned. */
  void write(ByteBuf out) {
    if (!isDue) {
      return;
    }
    for (LaneSend message; (message = planned.poll()) != null; ) {
      Lane lane = plannedLanes.remove();
      if (write(lane, message, out)) {
        sent(lane, message);
      } else {
        drop(message, LaneSend.Drop.UNREADABLE);
      }
      endIfDone(lane);
    }
    plannedBytes = 0;
  }

  /** Writes an item; returns whether its message could be read. */
  private boolean write(Lane lane, LaneSend message, ByteBuf out) {
    int start = out.writerIndex();
    int valueBytes = LaneItem.valueHeaderBytes(hasLongNumbers) + message.bytes();
    out.writeByte(LaneItem.type(lane.config().kind(), hasLongNumbers)).writeShortLE(valueBytes);
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
      out.writerIndex(start).writeByte(LaneItem.PADDING).writeShortLE(valueBytes);
      out.writeZero(valueBytes);
      return false;
    }
  }

  private void sent(Lane lane, LaneSend message) {
    lane.sentMessages++;
    counters.add(KcpCounter.UNRELIABLE_OUT, 1);
    LaneTracing.messageSent(kcp, lane, message.bytes());
    message.release();
    message.sent();
  }

  /** No lane has a turn any more; {@link #dropAll} drops what waits on each. */
  void close() {
    dropPlanned(LaneSend.Drop.SESSION_CLOSED);
    turns.clear();
  }
}
