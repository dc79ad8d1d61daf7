package io.kcp4j;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;

/**
 * Segments that arrived beyond a gap, in a ring indexed by sequence number that grows on demand.
 *
 * <p>Payload is copied out of the datagram, since one retained slice would pin a whole receive
 * buffer. Large payloads get a buffer of their own; small ones share blocks of 4 KiB, so that
 * memory follows content however small the segments are. A block is retained once for each segment
 * in it.
 */
final class ReorderBuffer {

  private static final int MIN_CAPACITY = 8;
  private static final int SMALL_BYTES = 512;
  private static final int BLOCK_BYTES = 4096;

  private final KcpContext context;

  private ByteBuf[] payload = {};
  private int[] offset = {};
  private char[] length = {};
  private byte[] frg = {};
  private int[] acknowledgedIn = {};
  private int mask = -1;
  private int size;
  private ByteBuf block;
  private int heldBytes;

  ReorderBuffer(KcpContext context) {
    this.context = context;
  }

  boolean isEmpty() {
    return size == 0;
  }

  int heldBytes() {
    return heldBytes;
  }

  /**
   * Whether a segment is kept.
   *
   * @param distance how far {@code sn} lies beyond the next one in order: beyond the ring's end its
   *     place is another segment's
   */
  boolean contains(int sn, int distance) {
    return distance <= mask && payload[sn & mask] != null;
  }

  /**
   * Keeps a segment that is not contained.
   *
   * @param distance how far {@code sn} lies beyond the next one in order
   * @param flush the number of the current flush, for {@link #acknowledgeAgain}
   * @return false if the memory budget has no room
   * @throws OutOfMemoryError if there is no memory; nothing has changed then
   */
  boolean add(int sn, int distance, int frg, ByteBuf data, int index, int bytes, int flush) {
    if (distance > mask) {
      grow(sn - distance, distance);
    }
    ByteBuf target = reserve(bytes);
    if (target == null) {
      return false;
    }
    int i = sn & mask;
    payload[i] = target;
    offset[i] = target.writerIndex();
    length[i] = (char) bytes;
    this.frg[i] = (byte) frg;
    acknowledgedIn[i] = flush;
    Copying.appendOwn(target, data, index, bytes);
    size++;
    return true;
  }

  /**
   * Whether the contained segment {@code sn} has not been acknowledged in this flush; now it is.
   */
  boolean acknowledgeAgain(int sn, int flush) {
    int i = sn & mask;
    boolean again = acknowledgedIn[i] != flush;
    acknowledgedIn[i] = flush;
    return again;
  }

  /** Offers the contained segment {@code sn} to the queue; drops it from here if that takes it. */
  boolean moveTo(ReceiveQueue queue, int sn) {
    int i = sn & mask;
    ByteBuf from = payload[i];
    if (!queue.add(from, offset[i], length[i], frg[i] & 0xff)) {
      return false;
    }
    payload[i] = null;
    size--;
    release(from);
    if (size == 0) {
      dropBlock();
    }
    return true;
  }

  private ByteBuf reserve(int bytes) {
    if (bytes == 0) {
      return Unpooled.EMPTY_BUFFER;
    }
    if (bytes > SMALL_BYTES) {
      return allocate(bytes);
    }
    if (block == null || block.writableBytes() < bytes) {
      ByteBuf fresh = allocate(BLOCK_BYTES);
      if (fresh == null) {
        return null;
      }
      dropBlock();
      block = fresh;
    }
    return block.retain();
  }

  private ByteBuf allocate(int bytes) {
    if (!context.budget().tryReserveBeyondGap(bytes)) {
      return null;
    }
    heldBytes += bytes;
    try {
      return context.directBuffer(bytes, bytes);
    } catch (OutOfMemoryError e) {
      heldBytes -= bytes;
      context.budget().release(bytes);
      throw e;
    }
  }

  private void dropBlock() {
    if (block != null) {
      release(block);
      block = null;
    }
  }

  private void release(ByteBuf buffer) {
    int bytes = buffer.capacity();
    if (buffer.release()) {
      heldBytes -= bytes;
      context.budget().release(bytes);
    }
  }

  private void grow(int rcvNext, int distance) {
    int capacity = Math.max(MIN_CAPACITY, Integer.highestOneBit(distance) << 1);
    ByteBuf[] oldPayload = payload;
    int[] oldOffset = offset;
    char[] oldLength = length;
    byte[] oldFrg = frg;
    int[] oldAcknowledgedIn = acknowledgedIn;
    ByteBuf[] freshPayload = new ByteBuf[capacity];
    int[] freshOffset = new int[capacity];
    char[] freshLength = new char[capacity];
    byte[] freshFrg = new byte[capacity];
    acknowledgedIn = new int[capacity];
    payload = freshPayload;
    offset = freshOffset;
    length = freshLength;
    frg = freshFrg;
    for (int sn = rcvNext; sn - rcvNext <= mask; sn++) {
      int from = sn & mask;
      int to = sn & (capacity - 1);
      payload[to] = oldPayload[from];
      offset[to] = oldOffset[from];
      length[to] = oldLength[from];
      frg[to] = oldFrg[from];
      acknowledgedIn[to] = oldAcknowledgedIn[from];
    }
    mask = capacity - 1;
  }

  void close() {
    for (int i = 0; i <= mask; i++) {
      if (payload[i] != null) {
        release(payload[i]);
        payload[i] = null;
      }
    }
    size = 0;
    dropBlock();
  }
}
