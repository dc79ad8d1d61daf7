package io.kcp4j.session;

import io.kcp4j.MemoryBudget;
import io.netty.buffer.ByteBuf;
import java.util.ArrayDeque;
import java.util.Deque;

/**
 * Unreliable datagrams that wait to be read. When the queue is full the oldest is dropped: the
 * newest are of most use. Owns its buffers, and charges them to the budget.
 */
final class UnreliableQueue {

  private final MemoryBudget budget;
  private final Deque<ByteBuf> waiting = new ArrayDeque<>();

  UnreliableQueue(MemoryBudget budget) {
    this.budget = budget;
  }

  boolean isEmpty() {
    return waiting.isEmpty();
  }

  /**
   * Adds a datagram and takes over its buffer.
   *
   * @return how many were dropped: the oldest beyond {@code limit}, or this one if there is no
   *     memory
   * @throws OutOfMemoryError if there is no memory for the queue itself; nothing is held then
   */
  int add(ByteBuf datagram, int limit) {
    if (!budget.tryReserve(datagram.capacity())) {
      datagram.release();
      return 1;
    }
    try {
      waiting.add(datagram);
    } catch (OutOfMemoryError e) {
      budget.release(datagram.capacity());
      datagram.release();
      throw e;
    }
    int dropped = 0;
    for (; waiting.size() > limit; dropped++) {
      poll().release();
    }
    return dropped;
  }

  /** Removes the oldest datagram, which becomes the caller's, or returns null. */
  ByteBuf poll() {
    ByteBuf oldest = waiting.poll();
    if (oldest != null) {
      budget.release(oldest.capacity());
    }
    return oldest;
  }

  void close() {
    for (ByteBuf datagram; (datagram = poll()) != null; ) {
      datagram.release();
    }
  }
}
