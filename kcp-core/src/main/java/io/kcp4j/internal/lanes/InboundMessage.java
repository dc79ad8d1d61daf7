package io.kcp4j.internal.lanes;

import io.kcp4j.KcpCounter;
import io.kcp4j.KcpCounters;
import io.kcp4j.internal.memory.MemoryAccount;
import io.kcp4j.internal.wire.Copying;
import io.netty.buffer.ByteBuf;
import io.netty.util.Recycler;

/**
 * A message of a lane, or an unreliable datagram of a session, of which at least a part has been
 * received, and which has not been read.
 */
public final class InboundMessage {

  /** Stands for a message of an unordered lane that has been read before others have arrived. */
  static final InboundMessage READ = new InboundMessage(null);

  private static final int MAX_POOLED = 256;

  private static final Recycler<InboundMessage> RECYCLER =
      new Recycler<>(MAX_POOLED, 0, 8) {
        @Override
        protected InboundMessage newObject(Handle<InboundMessage> handle) {
          return new InboundMessage(handle);
        }
      };

  private final Recycler.Handle<InboundMessage> handle;

  /** Null once it has been passed to the reader. */
  ByteBuf content;

  int number;
  int totalBytes;
  int receivedBytes;

  /** The size of the buffer that it is to get. */
  int plannedBytes;

  /** Whether all messages before it have arrived. */
  boolean isPassed;

  /** The one behind it in its queue. */
  InboundMessage next;

  private InboundMessage(Recycler.Handle<InboundMessage> handle) {
    this.handle = handle;
  }

  /** One of the pool, without content. */
  static InboundMessage take(int number, int totalBytes) {
    InboundMessage message = RECYCLER.get();
    message.number = number;
    message.totalBytes = totalBytes;
    return message;
  }

  boolean isComplete() {
    return receivedBytes == totalBytes;
  }

  /**
   * Copies a part of the message into its buffer.
   *
   * @param offset where in the message the part belongs
   * @param data its bytes from {@code index} to {@code index + bytes} are the part
   */
  void put(int offset, ByteBuf data, int index, int bytes) {
    int end = content.writerIndex();
    if (offset == end) {
      Copying.appendOwn(content, data, index, bytes);
      return;
    }
    if (offset > end) { // Other memory must never be visible, whatever the peer sends.
      content.setZero(end, offset - end);
    }
    content.setBytes(offset, data, index, bytes);
    content.writerIndex(Math.max(end, offset + bytes));
  }

  /** Returns the message, whose content is no longer its own, to the pool. */
  void giveBack() {
    content = null;
    receivedBytes = 0;
    isPassed = false;
    next = null;
    handle.recycle(this);
  }

  /** Messages that can be read, in order. */
  public static class Queue {

    private InboundMessage first;
    private InboundMessage last;
    private int readable;

    /** How many messages can be read. */
    public final int readable() {
      return readable;
    }

    final InboundMessage first() {
      return first;
    }

    final void add(InboundMessage message) {
      if (first == null) {
        first = message;
      } else {
        last.next = message;
      }
      last = message;
      readable++;
    }

    /** Removes the oldest message. The queue must not be empty. */
    final InboundMessage remove() {
      InboundMessage removed = first;
      first = removed.next;
      removed.next = null;
      readable--;
      if (first == null) {
        last = null;
      }
      return removed;
    }
  }

  /** The memory of messages that are not read: what they take of the session's account. */
  public static final class Memory {

    /** The approximate memory of a message beside its content, its place in an inbox included. */
    static final int OVERHEAD_BYTES = 128;

    /** That of the number of a message which was read before others with lower numbers. */
    static final int NUMBER_BYTES = 32;

    private final MemoryAccount account;
    private final KcpCounters counters;
    private int heldBytes;

    /** Makes the memory of messages that are charged to a session. */
    public Memory(MemoryAccount account, KcpCounters counters) {
      this.account = account;
      this.counters = counters;
    }

    /** The memory that is reserved. */
    int heldBytes() {
      return heldBytes;
    }

    /**
     * Reserves the memory of messages, their overhead included.
     *
     * @param isUrgent whether it may take what is kept free for that which makes memory free
     * @return false if the budget has no room
     */
    boolean tryReserve(int bytes, boolean isUrgent) {
      boolean isReserved =
          isUrgent ? account.tryReserve(bytes) : account.tryReserveBeyondGap(bytes);
      heldBytes += isReserved ? bytes : 0;
      return isReserved;
    }

    /**
     * Allocates a buffer of this capacity for which memory is reserved.
     *
     * @throws OutOfMemoryError if the allocator has no memory
     */
    ByteBuf allocate(int bytes) {
      return account.directBuffer(bytes);
    }

    /** Releases what was reserved and not allocated. */
    void unreserve(int bytes) {
      heldBytes -= bytes;
      account.release(bytes);
    }

    /** A buffer becomes the user's, and counts no longer. */
    void handOver(ByteBuf buffer) {
      unreserve(buffer.capacity() + OVERHEAD_BYTES);
    }

    /** Releases a buffer, if there is one. */
    void release(ByteBuf buffer) {
      if (buffer != null) {
        handOver(buffer);
        buffer.release();
      }
    }

    /** A number has to be remembered whose message counts no more. */
    void keepNumber() {
      heldBytes += NUMBER_BYTES;
      account.charge(NUMBER_BYTES);
    }

    /** It needs not be remembered any more. */
    void releaseNumber() {
      unreserve(NUMBER_BYTES);
    }

    // Unreliable messages

    /**
     * Adds a copy of an unreliable message to a queue that holds {@code limit} messages. Beyond
     * that the oldest is dropped: the newest are of most use. The message is lost if there is no
     * memory. Both are counted.
     *
     * @param data its bytes from {@code index} to {@code index + bytes} are the message
     * @return whether the message was added
     */
    public boolean add(Queue queue, int limit, ByteBuf data, int index, int bytes) {
      InboundMessage message = take(0, bytes);
      message.content = allocateSpare(bytes);
      if (message.content == null) {
        message.giveBack();
        counters.add(KcpCounter.UNRELIABLE_DROPPED, 1);
        return false;
      }
      message.content.writeBytes(data, index, bytes);
      message.receivedBytes = bytes;
      queue.add(message);
      while (queue.readable > limit) {
        drop(queue);
      }
      return true;
    }

    private ByteBuf allocateSpare(int bytes) {
      if (!account.tryReserveSpare(bytes + OVERHEAD_BYTES)) {
        return null;
      }
      heldBytes += bytes + OVERHEAD_BYTES;
      try {
        return allocate(bytes);
      } catch (OutOfMemoryError e) {
        unreserve(bytes + OVERHEAD_BYTES);
        counters.add(KcpCounter.ALLOCATION_FAILED, 1);
        return null;
      }
    }

    /** Drops the oldest message of a queue, which is counted. */
    void drop(Queue queue) {
      counters.add(KcpCounter.UNRELIABLE_DROPPED, 1);
      poll(queue).release();
    }

    /** Removes the oldest unreliable message, which becomes the caller's, or returns null. */
    public ByteBuf poll(Queue queue) {
      if (queue.first == null) {
        return null;
      }
      InboundMessage message = queue.remove();
      ByteBuf content = message.content;
      message.giveBack();
      handOver(content);
      return content;
    }
  }
}
