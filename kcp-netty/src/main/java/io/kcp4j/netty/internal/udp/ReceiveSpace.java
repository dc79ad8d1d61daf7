package io.kcp4j.netty.internal.udp;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.SlicedByteBuf;
import io.netty.buffer.UnpooledByteBufAllocator;
import io.netty.buffer.UnpooledDirectByteBuf;

/**
 * The memory that the epoll sockets of an event loop receive into, one read after the other. It is
 * reused as long as no buffer of an earlier read is retained, so that it stays in the processor's
 * cache. The leak detector does not track it. Used by the event loop.
 */
public final class ReceiveSpace {

  /** The size of the largest read: one recvmmsg, or the largest GRO batch. */
  private static final int CAPACITY_BYTES =
      Math.max(ReceiveBuffers.MAX_SLOTS * UdpTransport.SLOT_BYTES, ReceiveBuffers.GRO_BATCH_BYTES);

  private Space space;
  private int datagramsOfGroBatches;

  /** Makes a space, which allocates its memory with the first read. */
  public ReceiveSpace() {}

  /** Returns an empty buffer with room for {@code bytes}, which the caller releases. */
  ByteBuf acquire(int bytes) {
    if (space == null || space.refCnt() > 1) {
      release();
      space = new Space();
    }
    space.room = bytes;
    return space.clear().retain();
  }

  /**
   * The size of each datagram of {@code content}, in bytes; the last datagram of a GRO batch may be
   * shorter.
   */
  public static int datagramBytes(ByteBuf content) {
    return content instanceof Range range ? range.datagramBytes : content.readableBytes();
  }

  /** The number of datagrams that have arrived in GRO batches. */
  int datagramsOfGroBatches() {
    return datagramsOfGroBatches;
  }

  /**
   * Returns a datagram or GRO batch as the whole space with the indices of that range, valid until
   * the next call. Without Unsafe, copying from a slice would first create a NIO view of it. A
   * buffer that is no slice of this space is returned unchanged.
   */
  @SuppressWarnings("ReferenceEquality")
  public ByteBuf locate(ByteBuf datagram) {
    if (!(datagram instanceof Range range) || range.unwrap() != space) {
      return datagram;
    }
    int start = range.start + range.readerIndex();
    return space.setIndex(start, start + range.readableBytes());
  }

  /** Releases the memory; the next read allocates it again. */
  public void release() {
    if (space != null) {
      space.release();
      space = null;
    }
  }

  /** A buffer whose slices know their index in it. */
  private final class Space extends UnpooledDirectByteBuf {

    /** Each look-up allocates two objects where Netty has no Unsafe. */
    private final long address;

    /** The number of bytes that the next read may fill. */
    private int room;

    Space() {
      super(UnpooledByteBufAllocator.DEFAULT, CAPACITY_BYTES, CAPACITY_BYTES);
      address = hasMemoryAddress() ? super.memoryAddress() : 0;
    }

    @Override
    public long memoryAddress() {
      ensureAccessible();
      return address == 0 ? super.memoryAddress() : address;
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

  /** A slice of a space, whose own slices are slices of the space again. */
  @SuppressWarnings("deprecation") // Netty's own subclasses are not public.
  private final class Range extends SlicedByteBuf {

    final int start;
    final int datagramBytes;

    Range(Space space, int index, int bytes, int datagramBytes) {
      super(space, index, bytes);
      start = index;
      this.datagramBytes = datagramBytes;
    }

    /**
     * Reads all remaining bytes instead of {@code length}. Netty calls this method to split a GRO
     * batch, and fires one read for each datagram; a batch is faster to process as a whole.
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
