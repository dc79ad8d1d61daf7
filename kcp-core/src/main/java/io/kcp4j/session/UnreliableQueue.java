package io.kcp4j.session;

import io.kcp4j.MemoryBudget;
import io.netty.buffer.ByteBuf;
import java.util.ArrayDeque;
import java.util.Deque;

/**
 * Unreliable datagrams that wait to be read. When it is full the oldest gives way: of what may be
 * lost, the newest is worth most. Owns its buffers, and counts them against the budget.
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
   * Takes a datagram, which is the queue's from then on.
   *
   * @return how many were dropped: the oldest ones beyond {@code limit}, or this one for want of
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

  /** The oldest, which is the caller's from then on, or null. */
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
