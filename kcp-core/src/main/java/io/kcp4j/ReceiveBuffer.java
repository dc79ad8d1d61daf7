package io.kcp4j;

import io.netty.buffer.ByteBuf;

/**
 * The receive buffer: puts segments in order, acknowledges them and computes the free window. A
 * segment that arrives in order goes straight to the queue, one beyond a gap to the reorder buffer
 * until the gap closes. Duplicate suppression: a segment that was received before is acknowledged
 * again and dropped.
 */
final class ReceiveBuffer {

  /** At least the fragments of the longest message, so that the reader finds a whole message. */
  private static final int MAX_MOVED_AT_ONCE = 256;

  /** What a peer whose path is not validated may have sent and is not read: protocol.md 8.7. */
  private static final int MAX_UNREAD_BYTES = 64 * 1024;

  private final Redundancy redundancy;
  private final KcpCounters counters;
  private final MemoryBudget budget;
  private final ReorderBuffer reordered;
  private final ReceiveQueue queue;
  private final PendingAcks acks;

  private KcpConfig config;
  private int next;
  private boolean isLossy;

  /** Whether what is not read is limited, and was at the limit at the end of the last batch. */
  private boolean isUnreadLimited;

  private boolean isUnreadFull;

  /** The latest timestamp of the segments beyond the gap. */
  private int tsBeyondGap;

  /** Counts the flushes, so that a duplicate is acknowledged once per flush. */
  private int flushes;

  ReceiveBuffer(
      KcpContext context,
      Redundancy redundancy,
      KcpCounters counters,
      KcpConfig config,
      int firstSn) {
    this.redundancy = redundancy;
    this.counters = counters;
    budget = context.budget();
    acks = new PendingAcks(budget);
    reordered = new ReorderBuffer(context);
    queue = new ReceiveQueue(context, config.delivery());
    next = firstSn;
    configure(config);
  }

  void configure(KcpConfig config) {
    this.config = config;
  }

  private int window() {
    return config.receiveWindow();
  }

  private boolean isStream() {
    return config.delivery() == Delivery.STREAM;
  }

  /** Whether acknowledgements of thin traffic are timely: protocol.md 3.3. */
  private boolean isTimely() {
    return config.lossDetection() == LossDetection.TIME;
  }

  /** A message of more fragments than the window could never be reassembled: protocol.md 5.3. */
  private int maxFragments() {
    return isStream() ? 1 : config.receivedFragments();
  }

  /** The sequence number that is next in order. */
  int next() {
    return next;
  }

  PendingAcks acks() {
    return acks;
  }

  /**
   * Whether acknowledgements leave at the end of the batch: at a gap, on a lossy path, when a
   * datagram of them is full, or when half of the window is used up: protocol.md 3.3.
   */
  boolean isAckDue(int mtuBytes) {
    int arrivals = acks.arrivals();
    return arrivals > 0
        && (config.ackNoDelay()
            || (isTimely() && (acks.isAtGap() || (isLossy && acks.isThin())))
            || arrivals >= mtuBytes / Segment.HEADER_BYTES
            || arrivals >= window() / 2);
  }

  /** Limits what is received and not read, or ends that. */
  void limitUnread(boolean isLimited) {
    isUnreadLimited = isLimited;
    isUnreadFull = false;
  }

  /** A batch of input has ended, and what could be read has been. */
  void endBatch() {
    isUnreadFull = isUnreadLimited && queue.heldBytes() >= MAX_UNREAD_BYTES;
  }

  /**
   * Whether the limit has room for a segment. What arrives in order within a batch may exceed it,
   * since it is likely to be read then.
   */
  private boolean hasUnreadRoom(int distance, int bytes) {
    return !isUnreadLimited
        || (distance == 0 ? !isUnreadFull : heldBytes() + bytes <= MAX_UNREAD_BYTES);
  }

  /** The free window, in segments. */
  int freeWindow() {
    return isUnreadFull ? 0 : Math.max(window() - queue.segments(), 0);
  }

  /**
   * The free window as far as the memory budget has room for it now, in segments.
   *
   * @param segmentBytes the largest segment
   */
  int affordableWindow(int segmentBytes) {
    int free = freeWindow();
    long roomBytes = budget.roomBytes();
    int eachBytes = segmentBytes + ReceiveQueue.BUFFER_OVERHEAD_BYTES;
    return roomBytes >= (long) free * eachBytes ? free : (int) (roomBytes / eachBytes);
  }

  boolean isReceivable() {
    return queue.isReceivable();
  }

  boolean isViolated() {
    return queue.isViolated();
  }

  int heldBytes() {
    return reordered.heldBytes() + queue.heldBytes() + acks.heldBytes();
  }

  /** Takes in one PUSH. If there is no memory for it, it is dropped and not acknowledged. */
  void push(int sn, int ts, int frg, ByteBuf data, int index, int bytes) {
    try {
      accept(sn, ts, frg, data, index, bytes);
    } catch (OutOfMemoryError e) {
      counters.add(KcpCounter.ALLOCATION_FAILED, 1);
    }
  }

  private void accept(int sn, int ts, int frg, ByteBuf data, int index, int bytes) {
    int distance = sn - next;
    if (distance >= window()) {
      counters.add(KcpCounter.OUT_OF_WINDOW, 1);
    } else if (distance < 0) {
      counters.add(KcpCounter.DUPLICATES, 1);
      acks.addDuplicate(sn, ts);
    } else if (reordered.contains(sn)) {
      counters.add(KcpCounter.DUPLICATES, 1);
      if (acks.ensureRoom() && reordered.acknowledgeAgain(sn, flushes)) {
        acks.addDuplicateBeyondGap(sn, ts);
      }
    } else if (!hasUnreadRoom(distance, bytes)) {
      counters.add(KcpCounter.OVER_UNREAD_LIMIT, 1);
    } else if (frg >= maxFragments() && refusesFragment()) {
      return;
    } else if (distance == 0 && queue.segments() < window()) {
      pushInOrder(sn, ts, frg, data, index, bytes);
    } else {
      pushBeyondGap(sn, ts, frg, data, index, bytes);
    }
  }

  /** Counts an unexpected fragment. A stream takes its bytes nevertheless. */
  private boolean refusesFragment() {
    counters.add(isStream() ? KcpCounter.FRAGMENT_IN_STREAM : KcpCounter.FRAGMENT_REFUSED, 1);
    return !isStream();
  }

  private void pushInOrder(int sn, int ts, int frg, ByteBuf data, int index, int bytes) {
    if (queue.add(data, index, bytes, frg)) {
      next++;
      if (reordered.isEmpty()) {
        acks.addInOrder(sn, ts);
      } else {
        acks.addBeforeOthers(sn, ts);
        if (ts - tsBeyondGap > 0) { // Sent after them, so sent before and lost.
          redundancy.segmentLost();
        }
        closeGap();
      }
    } else if (!queue.isViolated()) {
      counters.add(KcpCounter.OVER_BUDGET, 1);
    }
  }

  private void pushBeyondGap(int sn, int ts, int frg, ByteBuf data, int index, int bytes) {
    if (reordered.isEmpty() || ts - tsBeyondGap > 0) {
      tsBeyondGap = ts;
    }
    boolean added =
        acks.ensureRoom() && reordered.add(sn, sn - next, frg, data, index, bytes, flushes);
    if (added) {
      acks.addBeyondGap(sn, ts);
    } else {
      counters.add(KcpCounter.OVER_BUDGET, 1);
    }
  }

  /** Whether the reorder buffer holds the next segment in order and the queue has room for it. */
  boolean isMovePending() {
    return reordered.contains(next) && queue.segments() < window();
  }

  /**
   * Moves segments that have become in order to the queue, as far as the queue has room. Moves a
   * limited number at a time, so that no call takes long; each read and each flush continues.
   */
  void closeGap() {
    try {
      int last = next + MAX_MOVED_AT_ONCE;
      while (isMovePending() && next != last && reordered.moveTo(queue, next)) {
        next++;
        if (reordered.isEmpty()) {
          acks.gapClosed();
        }
      }
    } catch (OutOfMemoryError e) { // The segment stays in the reorder buffer until the next try.
      counters.add(KcpCounter.ALLOCATION_FAILED, 1);
    }
  }

  /** The next buffer, which becomes the caller's, or null. */
  ByteBuf receive() {
    ByteBuf taken = queue.take();
    if (taken != null) {
      if (isUnreadFull) {
        endBatch();
      }
      closeGap();
    }
    return taken;
  }

  /** A datagram of this origin has been taken in. */
  void endDatagram(Origin origin) {
    if (acks.endDatagram() && origin == Origin.RECOVERED) {
      redundancy.segmentLost();
    }
  }

  void flushAcks(long nowUs, SegmentWriter writer) {
    flushes++;
    redundancy.flush(nowUs);
    isLossy = isTimely() && redundancy.isForAcks();
    acks.flush(next, isLossy, nowUs, writer);
  }

  void close() {
    reordered.close();
    queue.close();
    acks.gapClosed();
  }
}
