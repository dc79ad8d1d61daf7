package io.kcp4j.lanes;

import io.kcp4j.KcpContext;
import io.kcp4j.MemoryBudget;
import io.netty.buffer.ByteBuf;

/**
 * The buffers of messages that are not read, and the rings of inboxes: what they take of the memory
 * budget.
 */
final class MessageMemory {

  /** The approximate memory of a message beside its content. */
  static final int OVERHEAD_BYTES = 128;

  private final KcpContext context;
  private int heldBytes;

  MessageMemory(KcpContext context) {
    this.context = context;
  }

  /** The memory that is reserved. */
  int heldBytes() {
    return heldBytes;
  }

  /**
   * Allocates a buffer of this capacity.
   *
   * @param isUrgent whether it may take what is kept free for that which makes memory free
   * @return null if the budget has no room
   * @throws OutOfMemoryError if the allocator has no memory
   */
  ByteBuf allocate(int bytes, boolean isUrgent) {
    int reserved = bytes + OVERHEAD_BYTES;
    MemoryBudget budget = context.budget();
    boolean hasRoom = isUrgent ? budget.tryReserve(reserved) : budget.tryReserveBeyondGap(reserved);
    return hasRoom ? allocate(bytes) : null;
  }

  /** The same for a message that may be lost. */
  ByteBuf allocateSpare(int bytes) {
    return context.budget().tryReserveSpare(bytes + OVERHEAD_BYTES) ? allocate(bytes) : null;
  }

  /** Allocates a buffer for which memory is reserved. */
  private ByteBuf allocate(int bytes) {
    heldBytes += bytes + OVERHEAD_BYTES;
    try {
      return context.directBuffer(bytes, bytes);
    } catch (OutOfMemoryError e) {
      unaccount(bytes);
      throw e;
    }
  }

  /**
   * Makes room for a number in the ring of an inbox.
   *
   * @return false if the budget has no room
   * @throws OutOfMemoryError if there is no memory
   */
  boolean growRing(LaneInbox inbox, int base, int number) {
    int capacity = inbox.neededCapacity(base, number);
    int more = LaneInbox.ringBytes(capacity) - LaneInbox.ringBytes(inbox.capacity());
    if (more > 0 && !context.budget().tryReserveBeyondGap(more)) {
      return false;
    }
    try {
      inbox.grow(base, capacity);
      heldBytes += more;
      return true;
    } catch (OutOfMemoryError e) {
      context.budget().release(more);
      throw e;
    }
  }

  /** Releases the ring of an inbox, in which nothing is. */
  void releaseRing(LaneInbox inbox) {
    int bytes = LaneInbox.ringBytes(inbox.capacity());
    if (bytes > 0) {
      inbox.releaseRing();
      heldBytes -= bytes;
      context.budget().release(bytes);
    }
  }

  /** A buffer becomes the user's, and counts no longer. */
  void handOver(ByteBuf buffer) {
    unaccount(buffer.capacity());
  }

  /** Releases a buffer, if there is one. */
  void release(ByteBuf buffer) {
    if (buffer != null) {
      unaccount(buffer.capacity());
      buffer.release();
    }
  }

  private void unaccount(int bytes) {
    heldBytes -= bytes + OVERHEAD_BYTES;
    context.budget().release(bytes + OVERHEAD_BYTES);
  }
}
