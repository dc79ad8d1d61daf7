package io.kcp4j.session;

import io.kcp4j.KcpCounter;
import io.kcp4j.KcpCounters;
import io.kcp4j.MemoryBudget;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;

/**
 * The unreliable datagrams of one session that wait to be sent and to be read, and the limit on
 * each of the two queues. Most sessions have none, so the queues are made on first use. Owns the
 * buffers.
 */
final class UnreliableQueues {

  private final MemoryBudget budget;
  private final KcpCounters counters;

  private int limit;
  private UnreliableQueue received;
  private UnreliableSendQueue sending;

  UnreliableQueues(MemoryBudget budget, KcpCounters counters) {
    this.budget = budget;
    this.counters = counters;
  }

  /** How many datagrams each queue holds at most. */
  int limit() {
    return limit;
  }

  void limit(int datagrams) {
    limit = datagrams;
  }

  /** Queues a datagram to be sent, and takes over its buffer. */
  void send(UnreliableSend datagram) {
    if (sending == null) {
      sending = new UnreliableSendQueue(budget);
    }
    countDropped(sending.add(datagram, limit));
  }

  boolean hasDatagramsToSend() {
    return sending != null && !sending.isEmpty();
  }

  /**
   * Writes the datagrams that wait to be sent, as far as their path allows. If the output throws,
   * the rest waits for the next flush.
   */
  void flush(int conv, PacketOutput output) {
    if (sending == null) {
      return;
    }
    for (UnreliableSend datagram;
        (datagram = sending.peek()) != null && output.isUnreliableAllowed(datagram); ) {
      output.unreliable(conv, datagram.content());
      counters.add(KcpCounter.UNRELIABLE_OUT, 1);
      sending.remove().sent();
    }
  }

  /** Queues a copy of a received datagram, which begins at {@code index} of its packet. */
  void receive(ByteBuf packet, int index, ByteBufAllocator allocator) {
    if (limit == 0) {
      countDropped(1);
      return;
    }
    int bytes = packet.writerIndex() - index;
    counters.add(KcpCounter.UNRELIABLE_IN, 1);
    int dropped;
    try {
      if (received == null) {
        received = new UnreliableQueue(budget);
      }
      ByteBuf copy = allocator.buffer(bytes);
      dropped = received.add(copy.writeBytes(packet, index, bytes), limit);
    } catch (RuntimeException | OutOfMemoryError e) { // whatever an allocator throws
      counters.add(KcpCounter.ALLOCATION_FAILED, 1);
      dropped = 1;
    }
    countDropped(dropped);
  }

  /** The oldest received datagram, which becomes the caller's, or null. */
  ByteBuf poll() {
    return received == null ? null : received.poll();
  }

  boolean isReceivable() {
    return received != null && !received.isEmpty();
  }

  private void countDropped(int datagrams) {
    if (datagrams > 0) {
      counters.add(KcpCounter.UNRELIABLE_DROPPED, datagrams);
    }
  }

  void close() {
    if (received != null) {
      received.close();
    }
    if (sending != null) {
      sending.close();
    }
  }
}
