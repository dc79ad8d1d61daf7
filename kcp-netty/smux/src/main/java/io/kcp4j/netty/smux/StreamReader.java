package io.kcp4j.netty.smux;

import io.kcp4j.smux.SmuxStream;
import io.netty.buffer.ByteBuf;
import java.util.ArrayDeque;
import java.util.Queue;

/**
 * Reads from a stream into its channel's pipeline, as {@code autoRead} and {@code read()} ask for
 * it. What is taken from the stream counts as consumed before a handler receives it. As long as it
 * waits for another read, it counts in the memory of the connection. Used by the channel's event
 * loop.
 */
final class StreamReader implements Runnable {

  /** What a buffer takes beside its content, approximately. */
  private static final int BUFFER_BYTES = 128;

  /** A larger queue is not kept when it is empty. */
  private static final int MAX_IDLE_BUFFERS = 16;

  private final SmuxStreamChannel channel;

  /** What was taken from the stream and no handler has received. */
  private Queue<ByteBuf> taken = newQueue();

  private boolean isQueueLarge;

  private int takenBytes;

  /** What counts in the memory of the connection. */
  private int chargedBytes;

  /** Whether {@link #taken} has slices of what the connection has read, which they keep whole. */
  private boolean hasSlices;

  private boolean isPending;
  private boolean isScheduled;
  private long reads;

  StreamReader(SmuxStreamChannel channel) {
    this.channel = channel;
  }

  private static Queue<ByteBuf> newQueue() {
    return new ArrayDeque<>(4);
  }

  /** How many buffers handlers have received. */
  long reads() {
    return reads;
  }

  /** Whether a read is requested. */
  boolean isPending() {
    return isPending;
  }

  /** Requests one read, which is made when there is input, or its end. */
  void begin() {
    isPending = true;
    if (!isScheduled && (isReadable() || channel.isInputEndUnreported())) {
      isScheduled = true;
      channel.eventLoop().execute(this);
    }
  }

  /** Cancels the request because {@code autoRead} was switched off. From any thread. */
  void autoReadCleared() {
    if (!channel.isRegistered() || channel.eventLoop().inEventLoop()) {
      isPending = false;
    } else {
      channel.eventLoop().execute(() -> isPending = channel.config().isAutoRead());
    }
  }

  /** Makes a read that was requested when there was input already. */
  @Override
  public void run() {
    isScheduled = false;
    channel.progressed();
    charge();
  }

  /** Bytes have arrived: takes them now if they are to be read, while that needs no copy. */
  void inputArrived() {
    if (channel.isReading()) {
      if (isPending && taken.isEmpty()) {
        take();
        hasSlices = true;
      }
    } else if (channel.isActive()) {
      discard();
    }
  }

  /** Takes everything that has arrived, before the session ends and releases it. */
  void takeAll() {
    take();
    charge();
  }

  private void take() {
    SmuxStream stream = channel.stream();
    for (ByteBuf bytes; (bytes = stream.read()) != null; ) {
      add(bytes);
    }
  }

  private void add(ByteBuf bytes) {
    taken.add(bytes);
    isQueueLarge |= taken.size() > MAX_IDLE_BUFFERS;
    takenBytes += bytes.readableBytes();
  }

  /**
   * Counts what waits for another read. If none is requested, slices are replaced by a copy of them
   * all: they would keep more, and each of them may have a few bytes only.
   */
  private void charge() {
    if (hasSlices && !isPending && takenBytes > 0) {
      hasSlices = false;
      join();
    }
    int bytes = takenBytes + BUFFER_BYTES * taken.size();
    if (bytes > chargedBytes) {
      channel.memory().chargeUnread(bytes - chargedBytes);
    } else if (bytes < chargedBytes) {
      channel.memory().releaseUnread(chargedBytes - bytes);
    }
    chargedBytes = bytes;
    hasSlices &= bytes > 0;
    if (isQueueLarge && taken.isEmpty()) {
      taken = newQueue();
      isQueueLarge = false;
    }
  }

  /** Without memory for a copy, the slices stay. */
  private void join() {
    ByteBuf copy;
    try {
      copy = channel.alloc().buffer(takenBytes, takenBytes);
    } catch (RuntimeException | OutOfMemoryError e) {
      return;
    }
    for (ByteBuf slice; (slice = taken.poll()) != null; slice.release()) {
      copy.writeBytes(slice);
    }
    taken.add(copy);
  }

  /** Makes the requested read if there is input. */
  void readIfPending() {
    if (isPending && isReadable()) {
      readAvailable();
    }
  }

  private boolean isReadable() {
    return channel.isReading() && !isDrained();
  }

  /** Whether handlers have received everything that has arrived. */
  boolean isDrained() {
    return taken.isEmpty() && channel.stream().readableBytes() == 0;
  }

  private void readAvailable() {
    var handle = channel.unsafe().recvBufAllocHandle();
    handle.reset(channel.config());
    do {
      ByteBuf read = next(handle.guess());
      int bytes = read.readableBytes();
      handle.attemptedBytesRead(bytes);
      handle.lastBytesRead(bytes);
      handle.incMessagesRead(1);
      isPending = false;
      reads++;
      channel.pipeline().fireChannelRead(read);
    } while (isReadable() && handle.continueReading());
    handle.readComplete();
    channel.pipeline().fireChannelReadComplete();
    charge();
  }

  private ByteBuf next(int maxBytes) {
    if (taken.isEmpty()) {
      add(channel.stream().read());
    }
    ByteBuf next = taken.element();
    int bytes = Math.min(next.readableBytes(), maxBytes);
    takenBytes -= bytes;
    return next.readableBytes() > bytes ? next.readRetainedSlice(bytes) : taken.remove();
  }

  /** Discards what has arrived, so that the peer may send as much again. */
  void discard() {
    takeAll();
    release();
  }

  /** Releases what no handler has received. */
  void release() {
    for (ByteBuf bytes; (bytes = taken.poll()) != null; ) {
      bytes.release();
    }
    takenBytes = 0;
    charge();
  }
}
