package io.kcp4j.netty.udp;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.SlicedByteBuf;
import io.netty.buffer.UnpooledByteBufAllocator;
import io.netty.buffer.UnpooledDirectByteBuf;

/**
 * The memory that the epoll sockets of an event loop receive into, one read after the other: always
 * the same as long as nobody holds on to it, so that it stays in the processor's cache. No leak
 * detector looks at it.
 */
public final class ReceiveSpace {

  /** What the largest read takes: one recvmmsg, or the longest train. */
  private static final int CAPACITY_BYTES =
      Math.max(ReceiveBuffers.MAX_SLOTS * UdpTransport.SLOT_BYTES, ReceiveBuffers.GRO_BATCH_BYTES);

  private Space space;
  private int datagramsOfGroBatches;

  /** Makes a space, which takes its memory when it is first read into. */
  public ReceiveSpace() {}

  /** An empty buffer with room for a read of so many bytes, which the caller releases. */
  ByteBuf acquire(int bytes) {
    if (space == null || space.refCnt() > 1) {
      release();
      space = new Space();
    }
    space.room = bytes;
    return space.clear().retain();
  }

  /** How large each datagram of {@code content} is; only the last of a train may be shorter. */
  public static int datagramBytes(ByteBuf content) {
    return content instanceof Range range ? range.datagramBytes : content.readableBytes();
  }

  /** How many datagrams came in trains so far. */
  int datagramsOfGroBatches() {
    return datagramsOfGroBatches;
  }

  /**
   * A datagram or a train as a range of the whole space, between its indices, valid until the next
   * one: the slice that Netty has cut would have to make a view of itself before bytes can be
   * copied from it, where Netty has no Unsafe. What is no such slice is returned as it is.
   */
  @SuppressWarnings("ReferenceEquality")
  public ByteBuf locate(ByteBuf datagram) {
    if (!(datagram instanceof Range range) || range.unwrap() != space) {
      return datagram;
    }
    int start = range.start + range.readerIndex();
    return space.setIndex(start, start + range.readableBytes());
  }

  /** Gives the memory back; the next read takes new one. */
  public void release() {
    if (space != null) {
      space.release();
      space = null;
    }
  }

  /** A buffer whose slices know where they are in it. */
  private final class Space extends UnpooledDirectByteBuf {

    /** Of all bytes, those that the next read may fill. */
    private int room;

    Space() {
      super(UnpooledByteBufAllocator.DEFAULT, CAPACITY_BYTES, CAPACITY_BYTES);
    }

    @Override
    public int writableBytes() {
      return room - writerIndex();
    }

    @Override
    public ByteBuf slice(int index, int length) {
      return new Range(this, index, length, length);
    }
  }

  /** Such a slice. A slice of it is one of the whole space again. */
  @SuppressWarnings("deprecation") // Netty's own classes do that, too, and are not public.
  private final class Range extends SlicedByteBuf {

    final int start;
    final int datagramBytes;

    Range(Space space, int index, int bytes, int datagramBytes) {
      super(space, index, bytes);
      start = index;
      this.datagramBytes = datagramBytes;
    }

    /**
     * Takes all that is left instead of {@code length} bytes. Netty cuts trains by this method, and
     * has each datagram go through the pipeline; but they need not be handed over one by one.
     */
    @Override
    public ByteBuf readRetainedSlice(int length) {
      int bytes = readableBytes();
      if (bytes > length) {
        datagramsOfGroBatches += (bytes - 1) / length + 1;
      }
      int first = start + readerIndex();
      readerIndex(writerIndex());
      return new Range((Space) unwrap(), first, bytes, /* datagramBytes= */ length).retain();
    }
  }
}
