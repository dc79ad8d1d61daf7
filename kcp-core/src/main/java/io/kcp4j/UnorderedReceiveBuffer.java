package io.kcp4j;

import io.netty.buffer.ByteBuf;

/**
 * Passes the payload of each segment to a {@link SegmentSink} as soon as it arrives, whether or not
 * segments before it are missing, and keeps only which segments have been taken.
 */
final class UnorderedReceiveBuffer extends ReceiveBuffer {

  private final TakenSegments taken;

  /** Null until the driver has set it; then nothing is taken. */
  private SegmentSink sink;

  UnorderedReceiveBuffer(
      MemoryAccount account,
      Redundancy redundancy,
      KcpCounters counters,
      KcpConfig config,
      int firstSn) {
    super(account, redundancy, counters, config, firstSn);
    taken = new TakenSegments(account);
  }

  void sink(SegmentSink sink) {
    this.sink = sink;
  }

  @Override
  int readableBytes() {
    return sink == null ? 0 : sink.heldBytes();
  }

  @Override
  int heldBytes() {
    return taken.heldBytes() + readableBytes() + acks.heldBytes();
  }

  /** The sink limits what it holds by other means. */
  @Override
  int unreadSegments() {
    return 0;
  }

  @Override
  boolean isReceivable() {
    return false;
  }

  @Override
  boolean hasUnread() {
    return sink != null && sink.hasUnread();
  }

  @Override
  boolean isViolated() {
    return false;
  }

  @Override
  boolean accept(int distance, int sn, int ts, int frg, ByteBuf data, int index, int bytes) {
    if (taken.contains(next, distance)) {
      counters.add(KcpCounter.DUPLICATES, 1);
      if (acks.ensureRoom() && taken.acknowledgeAgain(sn)) {
        acks.addDuplicateBeyondGap(sn, ts);
      }
    } else if (!hasUnreadRoom(distance, bytes)) {
      counters.add(KcpCounter.OVER_UNREAD_LIMIT, 1);
    } else if (frg > 0) {
      counters.add(KcpCounter.FRAGMENT_REFUSED, 1);
    } else if (distance == 0) {
      return takeInOrder(sn, ts, data, index, bytes);
    } else {
      return takeBeyondGap(distance, sn, ts, data, index, bytes);
    }
    return false;
  }

  private boolean take(ByteBuf data, int index, int bytes, boolean isInOrder) {
    return sink != null && sink.take(data, index, bytes, isInOrder);
  }

  private boolean takeInOrder(int sn, int ts, ByteBuf data, int index, int bytes) {
    if (!take(data, index, bytes, true)) {
      counters.add(KcpCounter.OVER_BUDGET, 1);
      return false;
    }
    next++;
    if (taken.isEmpty()) {
      acks.addInOrder(sn, ts);
      return true;
    }
    gapFilled(sn, ts);
    while (taken.contains(next, 0)) {
      taken.remove(next++);
    }
    if (taken.isEmpty()) {
      acks.gapClosed();
    }
    return true;
  }

  private boolean takeBeyondGap(int distance, int sn, int ts, ByteBuf data, int index, int bytes) {
    arrivedBeyondGap(taken.isEmpty(), ts);
    boolean isTaken =
        acks.ensureRoom() && taken.ensureRoom(next, distance) && take(data, index, bytes, false);
    if (isTaken) {
      taken.add(sn);
      acks.addBeyondGap(sn, ts);
    } else {
      counters.add(KcpCounter.OVER_BUDGET, 1);
    }
    return isTaken;
  }

  @Override
  boolean isMovePending() {
    return false;
  }

  @Override
  void closeGap() {}

  @Override
  ByteBuf receive() {
    return null;
  }

  @Override
  void flushAcks(PendingAcks.Output out, long nowUs) {
    taken.endFlush();
    super.flushAcks(out, nowUs);
  }

  @Override
  void close() {
    taken.close();
    super.close();
  }
}
