package io.kcp4j;

import io.netty.buffer.ByteBuf;
import io.netty.util.Recycler;

/** The arrays of a {@link ReceiveQueue}: buffers, and how many segments end in each. */
final class QueueRing {

  /** The size of an entry of both arrays, in bytes. */
  static final int ENTRY_BYTES = 8;

  /** The ring of an empty queue. */
  static final QueueRing NONE = new QueueRing(0, null);

  private static final RingPool<QueueRing> POOL = new RingPool<>(ENTRY_BYTES, QueueRing::new);

  private final Recycler.Handle<QueueRing> handle;

  final ByteBuf[] buffers;
  final int[] segmentsIn;

  private QueueRing(int capacity, Recycler.Handle<QueueRing> handle) {
    this.handle = handle;
    buffers = new ByteBuf[capacity];
    segmentsIn = new int[capacity];
  }

  /**
   * A ring for so many entries or more, without buffers.
   *
   * @throws OutOfMemoryError if there is no memory
   */
  static QueueRing take(int entries) {
    return POOL.take(RingPool.capacityFor(entries));
  }

  int capacity() {
    return buffers.length;
  }

  /** How much the ring counts against the memory budget, in bytes. */
  int chargedBytes() {
    return RingPool.chargedBytes(buffers.length, ENTRY_BYTES);
  }

  /** Returns the ring, which holds no buffers, to the pool. */
  void giveBack() {
    if (handle != null) {
      handle.recycle(this);
    }
  }
}
