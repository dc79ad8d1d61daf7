package io.kcp4j.session;

import io.kcp4j.MemoryAccount;
import java.util.ArrayDeque;
import java.util.Deque;

/**
 * Unreliable datagrams that wait to be sent. When the queue is full the oldest is dropped, as in
 * {@link UnreliableQueue}. Owns the buffers, charges them to the budget, and notifies each datagram
 * of its fate.
 */
final class UnreliableSendQueue {

  private final MemoryAccount account;
  private final Deque<UnreliableSend> waiting = new ArrayDeque<>();

  UnreliableSendQueue(MemoryAccount account) {
    this.account = account;
  }

  boolean isEmpty() {
    return waiting.isEmpty();
  }

  /**
   * Adds a datagram and takes over its buffer.
   *
   * @return how many were dropped: the oldest beyond {@code limit}, or this one if there is no
   *     memory
   */
  int add(UnreliableSend datagram, int limit) {
    if (!account.tryReserveSpare(datagram.content().capacity())) {
      datagram.content().release();
      datagram.dropped(UnreliableSend.Drop.OUT_OF_MEMORY);
      return 1;
    }
    waiting.add(datagram);
    int dropped = 0;
    for (; waiting.size() > limit; dropped++) {
      remove().dropped(UnreliableSend.Drop.QUEUE_FULL);
    }
    return dropped;
  }

  /** The oldest datagram, which stays in the queue, or null. */
  UnreliableSend peek() {
    return waiting.peek();
  }

  /** Removes the oldest datagram and releases its buffer. The queue must not be empty. */
  UnreliableSend remove() {
    UnreliableSend oldest = waiting.remove();
    account.release(oldest.content().capacity());
    oldest.content().release();
    return oldest;
  }

  void close() {
    while (!waiting.isEmpty()) {
      remove().dropped(UnreliableSend.Drop.CLOSED);
    }
  }
}
