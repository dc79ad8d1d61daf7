package io.kcp4j.lanes;

import io.kcp4j.KcpContext;
import io.netty.buffer.ByteBuf;

/** The buffers of messages that are not read, and what they take of the memory budget. */
final class MessageMemory {

  /** The approximate memory of a message beside its content. */
  private static final int OVERHEAD_BYTES = 128;

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
   * @param isInOrder whether its segment closes a gap, or follows the one before
   * @return null if the budget has no room
   * @throws OutOfMemoryError if the allocator has no memory
   */
  ByteBuf allocate(int bytes, boolean isInOrder) {
    int reserved = bytes + OVERHEAD_BYTES;
    boolean hasRoom =
        isInOrder
            ? context.budget().tryReserve(reserved)
            : context.budget().tryReserveBeyondGap(reserved);
    if (!hasRoom) {
      return null;
    }
    heldBytes += reserved;
    try {
      return context.directBuffer(bytes, bytes);
    } catch (OutOfMemoryError e) {
      unaccount(bytes);
      throw e;
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
