package io.kcp4j.internal.receive;

import io.kcp4j.Delivery;
import io.kcp4j.internal.buffer.RingPool;
import io.kcp4j.internal.memory.MemoryAccount;
import io.kcp4j.internal.wire.Copying;
import io.netty.buffer.ByteBuf;

/**
 * Payload in order that the reader has not taken: in stream mode bytes, collected in buffers whose
 * size follows the traffic; in message mode messages, the last of which may be incomplete. The
 * buffers are passed to the reader without copying.
 */
public final class ReceiveQueue {

  private static final int MIN_BUFFER_BYTES = 256;

  /** The largest buffer that Netty's allocator caches per thread. */
  private static final int MAX_BUFFER_BYTES = 32 * 1024;

  /** The approximate overhead of a buffer, counted so that empty messages are not free. */
  static final int BUFFER_OVERHEAD_BYTES = 128;

  /**
   * Limits the first buffer of a fragmented message, unless its first fragment is larger: the peer
   * may send fewer fragments than frg says.
   */
  private static final int FIRST_MESSAGE_BYTES = 4096;

  private static final int NOTHING_EXPECTED = -1;

  private final MemoryAccount account;
  private final RingPool<Ring> rings;
  private final boolean isStream;

  /** Buffers, and how many segments end in each. The last buffer may still be open. */
  private Ring ring = Ring.NONE;

  private int head;
  private int count;
  private boolean lastIsOpen;

  private int segments;
  private int expectedFrg = NOTHING_EXPECTED;
  private int nextBufferBytes = MIN_BUFFER_BYTES;
  private boolean violated;
  private int heldBytes;

  public ReceiveQueue(MemoryAccount account, RingPool<Ring> rings, Delivery delivery) {
    this.account = account;
    this.rings = rings;
    isStream = delivery == Delivery.STREAM;
  }

  /** Segments that the reader has not taken, including those of an incomplete message. */
  int segments() {
    return segments;
  }

  /** The bytes of all buffers, and of the ring unless it is of the smallest size. */
  public int heldBytes() {
    return heldBytes + ring.chargedBytes();
  }

  /** How many buffers the ring has room for. */
  public int ringCapacity() {
    return ring.capacity();
  }

  /** Whether fragments came that do not count down: message boundaries are lost. */
  boolean isViolated() {
    return violated;
  }

  /** Whether {@link #take} would return something. */
  boolean isReceivable() {
    return count > 1 || (count == 1 && (isStream || !lastIsOpen));
  }

  /** The next buffer, which becomes the caller's, or null. */
  public ByteBuf take() {
    if (!isReceivable()) {
      return null;
    }
    ByteBuf taken = ring.buffers[head];
    ring.buffers[head] = null;
    segments -= ring.segmentsIn[head];
    head = (head + 1) & (ring.capacity() - 1);
    count--;
    if (count == 0) {
      lastIsOpen = false;
      if (taken.readableBytes() < nextBufferBytes / 4) {
        // To half of the size of this buffer: it has been doubled since.
        nextBufferBytes = Math.max(nextBufferBytes / 4, MIN_BUFFER_BYTES);
      }
    }
    releaseBuffer(taken.capacity());
    if (count == 0) {
      releaseRing();
    }
    return taken;
  }

  /**
   * Adds the payload of the next segment, copying it.
   *
   * @return false if the memory budget has no room or the fragment is wrong; nothing was added then
   * @throws OutOfMemoryError if there is no memory; nothing has changed then
   */
  public boolean add(ByteBuf data, int index, int bytes, int frg) {
    return isStream ? addToStream(data, index, bytes) : addToMessage(data, index, bytes, frg);
  }

  private boolean addToStream(ByteBuf data, int index, int bytes) {
    if (bytes == 0) {
      return true;
    }
    ByteBuf buffer = lastIsOpen ? last() : null;
    int room = buffer == null ? 0 : buffer.writableBytes();
    ByteBuf opened = room < bytes ? newBuffer(bytes - room) : null;
    if (room < bytes && opened == null) {
      return false;
    }
    // One place that copies, in a loop that seldom runs twice: inlined twice, it would take the
    // JIT's budget for the whole input of a datagram.
    for (int copied = 0, part; copied < bytes; copied += part) {
      if (room == 0) {
        open(opened);
        buffer = opened;
        room = bytes;
      }
      part = Math.min(room, bytes - copied);
      Copying.appendOwn(buffer, data, index + copied, part);
      room = 0;
    }
    countSegment();
    return true;
  }

  /** A buffer for the rest of a segment and those that follow; null if there is no room for it. */
  private ByteBuf newBuffer(int restBytes) {
    int size = Math.max(nextBufferBytes, restBytes);
    if (!reserve(size)) {
      size = restBytes;
      if (!reserve(size)) {
        return null;
      }
    }
    ByteBuf allocated = allocate(size);
    if (allocated != null) {
      nextBufferBytes = Math.min(2 * size, MAX_BUFFER_BYTES);
    }
    return allocated;
  }

  private boolean addToMessage(ByteBuf data, int index, int bytes, int frg) {
    if (expectedFrg != NOTHING_EXPECTED && frg != expectedFrg) {
      violated = true;
      return false;
    }
    if (!lastIsOpen) {
      int size = Math.min(bytes * (frg + 1), Math.max(bytes, FIRST_MESSAGE_BYTES));
      ByteBuf opened = reserve(size) ? allocate(size) : null;
      if (opened == null) {
        return false;
      }
      open(opened);
    } else if (!growLast(bytes, frg)) {
      return false;
    }
    Copying.appendOwn(last(), data, index, bytes);
    countSegment();
    lastIsOpen = frg != 0;
    expectedFrg = frg - 1;
    return true;
  }

  /** Makes room in the last message for a fragment, and for some of those that follow. */
  private boolean growLast(int bytes, int frg) {
    ByteBuf message = last();
    int before = message.capacity();
    int needed = message.writerIndex() + bytes;
    if (needed <= before) {
      return true;
    }
    int doubled = account.context().allocator().calculateNewCapacity(needed, Integer.MAX_VALUE);
    int after = Math.min(doubled, needed + bytes * frg); // Fragments have one size, or are smaller.
    if (!account.tryReserve(after - before)) {
      return false;
    }
    heldBytes += after - before;
    ByteBuf larger;
    try {
      larger = account.context().directBuffer(after, Integer.MAX_VALUE);
    } catch (OutOfMemoryError e) {
      heldBytes -= after - before;
      account.release(after - before);
      throw e;
    }
    Copying.appendOwn(larger, message, 0, message.writerIndex());
    ring.buffers[lastIndex()] = larger;
    message.release();
    return true;
  }

  private ByteBuf last() {
    return ring.buffers[lastIndex()];
  }

  private int lastIndex() {
    return (head + count - 1) & (ring.capacity() - 1);
  }

  private void countSegment() {
    ring.segmentsIn[lastIndex()]++;
    segments++;
  }

  /**
   * Allocates a buffer of a size that has been accounted for, with room for it in the ring. Returns
   * null, with the size no longer accounted for, if the budget has no room for the ring.
   */
  private ByteBuf allocate(int size) {
    ByteBuf allocated = null;
    try {
      if (count < ring.capacity() || grow()) {
        allocated = account.context().directBuffer(size, Integer.MAX_VALUE);
      }
    } finally {
      if (allocated == null) {
        releaseBuffer(size);
      }
    }
    return allocated;
  }

  private void open(ByteBuf opened) {
    count++;
    ring.buffers[lastIndex()] = opened;
    ring.segmentsIn[lastIndex()] = 0;
    lastIsOpen = true;
  }

  private boolean reserve(int size) {
    if (!account.tryReserve(size + BUFFER_OVERHEAD_BYTES)) {
      return false;
    }
    heldBytes += size + BUFFER_OVERHEAD_BYTES;
    return true;
  }

  private void releaseBuffer(int size) {
    heldBytes -= size + BUFFER_OVERHEAD_BYTES;
    account.release(size + BUFFER_OVERHEAD_BYTES);
  }

  private boolean grow() {
    int more = Ring.chargedBytes(RingPool.capacityFor(2 * count)) - ring.chargedBytes();
    if (!account.tryReserve(more)) {
      return false;
    }
    Ring larger;
    try {
      larger = rings.take(2 * count);
    } catch (OutOfMemoryError e) {
      account.release(more);
      throw e;
    }
    for (int k = 0; k < count; k++) {
      int i = (head + k) & (count - 1);
      larger.buffers[k] = ring.buffers[i];
      larger.segmentsIn[k] = ring.segmentsIn[i];
      ring.buffers[i] = null;
    }
    use(larger);
    return true;
  }

  /** Replaces the ring, which is empty or has been copied. */
  private void use(Ring next) {
    ring.giveBack(rings);
    ring = next;
    head = 0;
  }

  private void releaseRing() {
    account.release(ring.chargedBytes());
    use(Ring.NONE);
  }

  void close() {
    for (; count > 0; count--) {
      ByteBuf buffer = ring.buffers[head];
      ring.buffers[head] = null;
      head = (head + 1) & (ring.capacity() - 1);
      releaseBuffer(buffer.capacity());
      buffer.release();
    }
    releaseRing();
    segments = 0;
    lastIsOpen = false;
  }

  /** The arrays of a {@link ReceiveQueue}: buffers, and how many segments end in each. */
  public static final class Ring {

    /** The size of an entry of both arrays, in bytes. */
    public static final int ENTRY_BYTES = 8;

    /** The ring of an empty queue. */
    static final Ring NONE = new Ring(0);

    final ByteBuf[] buffers;
    final int[] segmentsIn;

    public Ring(int capacity) {
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
    void giveBack(RingPool<Ring> pool) {
      pool.giveBack(this, buffers.length);
    }
  }
}
