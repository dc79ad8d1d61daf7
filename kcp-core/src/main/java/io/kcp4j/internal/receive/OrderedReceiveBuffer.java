package io.kcp4j.internal.receive;

import io.kcp4j.Delivery;
import io.kcp4j.KcpConfig;
import io.kcp4j.KcpCounter;
import io.kcp4j.KcpCounters;
import io.kcp4j.internal.buffer.RingPool;
import io.kcp4j.internal.memory.MemoryAccount;
import io.kcp4j.internal.recovery.Redundancy;
import io.netty.buffer.ByteBuf;

/**
 * Puts segments in order. A segment that arrives in order goes straight to the queue, one beyond a
 * gap to the reorder buffer until the gap closes.
 */
final class OrderedReceiveBuffer extends ReceiveBuffer {

  /** At least the fragments of the longest message, so that the reader finds a whole message. */
  private static final int MAX_MOVED_AT_ONCE = 256;

  private final ReorderBuffer reordered;
  private final ReceiveQueue queue;

  /** Counts the flushes, so that a duplicate is acknowledged once per flush. */
  private int flushes;

  OrderedReceiveBuffer(
      MemoryAccount account,
      RingPool<ReceiveQueue.Ring> rings,
      Redundancy redundancy,
      KcpCounters counters,
      KcpConfig config,
      int firstSn) {
    super(account, redundancy, counters, config, firstSn);
    reordered = new ReorderBuffer(account);
    queue = new ReceiveQueue(account, rings, config.delivery());
  }

  private boolean isStream() {
    return config.delivery() == Delivery.STREAM;
  }

  /** A message of more fragments than the window could never be reassembled: protocol.md 5.3. */
  private int maxFragments() {
    return isStream() ? 1 : config.receivedFragments();
  }

  @Override
  int readableBytes() {
    return queue.heldBytes();
  }

  @Override
  public int heldBytes() {
    return reordered.heldBytes() + queue.heldBytes() + acks.heldBytes();
  }

  @Override
  int unreadSegments() {
    return queue.segments();
  }

  @Override
  public boolean isReceivable() {
    return queue.isReceivable();
  }

  @Override
  public boolean hasUnread() {
    return queue.isReceivable();
  }

  @Override
  public boolean isViolated() {
    return queue.isViolated();
  }

  @Override
  boolean accept(int distance, int sn, int ts, int frg, ByteBuf data, int index, int bytes) {
    if (reordered.contains(sn)) {
      counters.add(KcpCounter.DUPLICATES, 1);
      if (acks.ensureRoom() && reordered.acknowledgeAgain(sn, flushes)) {
        acks.addDuplicateBeyondGap(sn, ts);
      }
    } else if (!hasUnreadRoom(distance, bytes)) {
      counters.add(KcpCounter.OVER_UNREAD_LIMIT, 1);
    } else if (frg >= maxFragments() && refusesFragment()) {
      return false;
    } else if (distance == 0 && queue.segments() < limit()) {
      return pushInOrder(sn, ts, frg, data, index, bytes);
    } else {
      return pushBeyondGap(sn, ts, frg, data, index, bytes);
    }
    return false;
  }

  /** Counts an unexpected fragment. A stream takes its bytes nevertheless. */
  private boolean refusesFragment() {
    counters.add(isStream() ? KcpCounter.FRAGMENT_IN_STREAM : KcpCounter.FRAGMENT_REFUSED, 1);
    return !isStream();
  }

  private boolean pushInOrder(int sn, int ts, int frg, ByteBuf data, int index, int bytes) {
    boolean added = queue.add(data, index, bytes, frg);
    if (added) {
      next++;
      if (reordered.isEmpty()) {
        acks.addInOrder(sn, ts);
      } else {
        gapFilled(sn, ts);
        closeGap();
      }
    } else if (!queue.isViolated()) {
      counters.add(KcpCounter.OVER_BUDGET, 1);
    }
    return added;
  }

  private boolean pushBeyondGap(int sn, int ts, int frg, ByteBuf data, int index, int bytes) {
    arrivedBeyondGap(reordered.isEmpty(), ts);
    boolean added =
        acks.ensureRoom() && reordered.add(sn, sn - next, frg, data, index, bytes, flushes);
    if (added) {
      acks.addBeyondGap(sn, ts);
    } else {
      counters.add(KcpCounter.OVER_BUDGET, 1);
    }
    return added;
  }

  /** Whether the reorder buffer holds the next segment in order and the queue has room for it. */
  @Override
  public boolean isMovePending() {
    return reordered.contains(next) && queue.segments() < limit();
  }

  /**
   * Moves segments that have become in order to the queue, as far as the queue has room. Moves a
   * limited number at a time, so that no call takes long; each read and each flush continues.
   */
  @Override
  public void closeGap() {
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

  @Override
  public ByteBuf receive() {
    ByteBuf taken = queue.take();
    if (taken != null) {
      if (isUnreadFull()) {
        endBatch();
      }
      closeGap();
    }
    return taken;
  }

  @Override
  public void flushAcks(PendingAcks.Output out, long nowUs) {
    flushes++;
    super.flushAcks(out, nowUs);
  }

  @Override
  public void close() {
    reordered.close();
    queue.close();
    super.close();
  }
}
