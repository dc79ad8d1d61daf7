package io.kcp4j;

import io.netty.buffer.ByteBuf;

/** The arrays of a {@link ReceiveQueue}: buffers, and how many segments end in each. */
final class QueueRing {

  /** The size of an entry of both arrays, in bytes. */
  static final int ENTRY_BYTES = 8;

  /** The ring of an empty queue. */
  static final QueueRing NONE = new QueueRing(0);

  final ByteBuf[] buffers;
  final int[] segmentsIn;

  QueueRing(int capacity) {
    buffers = new ByteBuf[capacity];
    segmentsIn = new int[capacity];
  }

  int capacity() {
    return buffers.length;
  }

  /** How much the ring counts against the memory budget, in bytes. */
  int chargedBytes() {
    return chargedBytes(buffers.length);
  }

  /** How much a ring of this capacity counts, in bytes. */
  static int chargedBytes(int capacity) {
    return RingPool.chargedBytes(capacity, ENTRY_BYTES);
  }

  /** Returns the ring, which holds no buffers, to the pool that it was taken from. */
  void giveBack(RingPool<QueueRing> pool) {
    pool.giveBack(this, buffers.length);
  }
}
