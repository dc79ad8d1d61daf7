package io.kcp4j.netty;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.SlicedByteBuf;
import io.netty.buffer.UnpooledByteBufAllocator;
import io.netty.buffer.UnpooledDirectByteBuf;

/**
 * The memory that the epoll sockets of an event loop receive into, one read after the other: always
 * the same as long as nobody holds on to it, so that it stays in the processor's cache. No leak
 * detector looks at it.
 */
final class ReceiveSpace {

  /** What the largest read takes: one recvmmsg, or the longest train. */
  private static final int CAPACITY_BYTES =
      Math.max(ReceiveBuffers.SLOTS * Transport.SLOT_BYTES, ReceiveBuffers.TRAIN_BYTES);

  private Space space;

  /** An empty buffer for a read, which the caller releases. */
  ByteBuf acquire() {
    if (space == null || space.refCnt() > 1) {
      release();
      space = new Space();
    }
    return space.clear().retain();
  }

  /**
   * A datagram of a read as a range of the whole space, between its indices, valid until the next
   * one. Netty cuts a slice for each, and a slice has to make a view of itself before bytes can be
   * copied from it, where Netty has no Unsafe. What is no such slice is returned as it is.
   */
  @SuppressWarnings("ReferenceEquality")
  ByteBuf locate(ByteBuf datagram) {
    if (!(datagram instanceof Range range) || range.unwrap() != space) {
      return datagram;
    }
    int start = range.start + range.readerIndex();
    return space.setIndex(start, start + range.readableBytes());
  }

  /** Gives the memory back; the next read takes new one. */
  void release() {
    if (space != null) {
      space.release();
      space = null;
    }
  }

  /** A buffer whose slices know where they are in it. */
  private static final class Space extends UnpooledDirectByteBuf {

    Space() {
      super(UnpooledByteBufAllocator.DEFAULT, CAPACITY_BYTES, CAPACITY_BYTES);
    }

    @Override
    public ByteBuf slice(int index, int length) {
      return new Range(this, index, length);
    }
  }

  /** Such a slice. A slice of it is one of the whole space again. */
  @SuppressWarnings("deprecation") // Netty's own classes do that, too, and are not public.
  private static final class Range extends SlicedByteBuf {

    final int start;

    Range(Space space, int index, int length) {
      super(space, index, length);
      start = index;
    }
  }
}
