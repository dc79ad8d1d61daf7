package io.kcp4j.session;

import io.kcp4j.MemoryAccount;
import io.netty.buffer.ByteBuf;
import java.util.ArrayDeque;
import java.util.Deque;

/**
 * Unreliable datagrams that wait to be read. When the queue is full the oldest is dropped: the
 * newest are of most use. Owns its buffers, and charges them to the account.
 */
final class UnreliableQueue {

  /** The approximate memory of a datagram beside its content. */
  private static final int OVERHEAD_BYTES = 128;

  private final MemoryAccount account;
  private final Deque<ByteBuf> waiting = new ArrayDeque<>();

  UnreliableQueue(MemoryAccount account) {
    this.account = account;
  }

  boolean isEmpty() {
    return waiting.isEmpty();
  }

  /**
   * Adds a copy of a datagram, the bytes of {@code packet} from {@code index} on.
   *
   * @return how many were dropped: the oldest beyond {@code limit}, or this one if there is no
   *     memory
   * @throws OutOfMemoryError if the allocator has none; nothing is held then
   */
  int add(ByteBuf packet, int index, int bytes, int limit) {
    if (!account.tryReserveSpare(bytes + OVERHEAD_BYTES)) {
      return 1;
    }
    ByteBuf copy = null;
    try {
      copy = account.directBuffer(bytes);
      waiting.add(copy);
    } catch (OutOfMemoryError e) {
      account.release(bytes + OVERHEAD_BYTES);
      if (copy != null) {
        copy.release();
      }
      throw e;
    }
    copy.writeBytes(packet, index, bytes);
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
      account.release(oldest.capacity() + OVERHEAD_BYTES);
    }
    return oldest;
  }

  void close() {
    for (ByteBuf datagram; (datagram = poll()) != null; ) {
      datagram.release();
    }
  }
}
