package io.kcp4j.lanes;

import io.kcp4j.MemoryAccount;
import io.netty.buffer.ByteBuf;

/** The memory of messages that are not read: what they take of the session's account. */
final class MessageMemory {

  /** The approximate memory of a message beside its content, its place in an inbox included. */
  static final int OVERHEAD_BYTES = 128;

  /** That of the number of a message which was read before others with lower numbers. */
  static final int NUMBER_BYTES = 32;

  private final MemoryAccount account;
  private int heldBytes;

  MessageMemory(MemoryAccount account) {
    this.account = account;
  }

  /** The memory that is reserved. */
  int heldBytes() {
    return heldBytes;
  }

  /** Whether the peer may have forged its address, so that it may hold little. */
  boolean isUnvalidated() {
    return account.isUnvalidated();
  }

  /**
   * Reserves the memory of messages, their overhead included.
   *
   * @param isUrgent whether it may take what is kept free for that which makes memory free
   * @return false if the budget has no room
   */
  boolean tryReserve(int bytes, boolean isUrgent) {
    boolean isReserved = isUrgent ? account.tryReserve(bytes) : account.tryReserveBeyondGap(bytes);
    heldBytes += isReserved ? bytes : 0;
    return isReserved;
  }

  /** The same for a message that may be lost. */
  boolean tryReserveSpare(int bytes) {
    boolean isReserved = account.tryReserveSpare(bytes);
    heldBytes += isReserved ? bytes : 0;
    return isReserved;
  }

  /**
   * Allocates a buffer of this capacity for which memory is reserved.
   *
   * @throws OutOfMemoryError if the allocator has no memory
   */
  ByteBuf allocate(int bytes) {
    return account.directBuffer(bytes);
  }

  /** Releases what was reserved and not allocated. */
  void unreserve(int bytes) {
    heldBytes -= bytes;
    account.release(bytes);
  }

  /** A buffer becomes the user's, and counts no longer. */
  void handOver(ByteBuf buffer) {
    unreserve(buffer.capacity() + OVERHEAD_BYTES);
  }

  /** Releases a buffer, if there is one. */
  void release(ByteBuf buffer) {
    if (buffer != null) {
      handOver(buffer);
      buffer.release();
    }
  }

  /** A number has to be remembered whose message counts no more. */
  void keepNumber() {
    heldBytes += NUMBER_BYTES;
    account.charge(NUMBER_BYTES);
  }

  /** It needs not be remembered any more. */
  void releaseNumber() {
    unreserve(NUMBER_BYTES);
  }
}
