package io.kcp4j.session;

import io.kcp4j.MemoryBudget;
import java.util.ArrayDeque;
import java.util.Deque;

/**
 * Unreliable datagrams that wait to be sent. When it is full the oldest gives way, as in {@link
 * UnreliableQueue}. Owns the buffers, counts them against the budget, and tells each datagram what
 * becomes of it.
 */
final class UnreliableSendQueue {

  private final MemoryBudget budget;
  private final Deque<UnreliableSend> waiting = new ArrayDeque<>();

  UnreliableSendQueue(MemoryBudget budget) {
    this.budget = budget;
  }

  boolean isEmpty() {
    return waiting.isEmpty();
  }

  /**
   * Takes a datagram.
   *
   * @return how many were dropped: the oldest ones beyond {@code limit}, or this one for want of
   *     memory
   */
  int add(UnreliableSend datagram, int limit) {
    if (!budget.tryReserve(datagram.content().capacity())) {
      datagram.content().release();
      datagram.dropped(UnreliableSend.Drop.OUT_OF_MEMORY);
      return 1;
    }
    waiting.add(datagram);
    int dropped = 0;
    for (; waiting.size() > limit; dropped++) {
      remove().dropped(UnreliableSend.Drop.GAVE_WAY);
    }
    return dropped;
  }

  /** The oldest, which stays in the queue, or null. */
  UnreliableSend peek() {
    return waiting.peek();
  }

  /** Takes out the oldest, which there must be, and releases its buffer. */
  UnreliableSend remove() {
    UnreliableSend oldest = waiting.remove();
    budget.release(oldest.content().capacity());
    oldest.content().release();
    return oldest;
  }

  void close() {
    while (!waiting.isEmpty()) {
      remove().dropped(UnreliableSend.Drop.CLOSED);
    }
  }
}
