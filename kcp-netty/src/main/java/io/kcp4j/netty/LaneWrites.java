package io.kcp4j.netty;

import io.kcp4j.lanes.Lane;
import io.kcp4j.lanes.LaneSend;
import io.kcp4j.lanes.Lanes;
import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelOutboundBuffer;
import io.netty.channel.ChannelPromise;
import io.netty.util.collection.IntObjectHashMap;
import io.netty.util.collection.IntObjectMap;
import java.io.IOException;
import java.nio.channels.ClosedChannelException;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.concurrent.RejectedExecutionException;

/**
 * The {@link LaneMessage}s that were written to a channel, and their promises. They bypass the
 * channel's outbound buffer, where lanes would wait for each other. Each waits here until {@code
 * flush()}, then in its lane. Counts what waits on each lane, and tells when that exceeds the water
 * marks. A promise is completed after the session has finished its work, because its listeners may
 * use the session.
 */
final class LaneWrites {

  /** A user-defined writability bit that users are unlikely to set themselves. */
  private static final int WRITABILITY = 29;

  /** All lanes together may have so many times as much waiting as one of them. */
  private static final int LANES_AT_THE_MARK = 16;

  /** What a message counts beside its content, as in Netty's outbound buffer. */
  private static final int OVERHEAD_BYTES = 96;

  private final KcpChannel channel;
  private final Lanes lanes;
  private final Deque<Write> unflushed = new ArrayDeque<>();

  /** The writes that have been sent or dropped, whose promises are to be completed in order. */
  private final Deque<Write> decided = new ArrayDeque<>();

  /** The lanes on which something waits. */
  private final IntObjectMap<Pending> pendingOf = new IntObjectHashMap<>();

  private long pendingBytes;
  private boolean isTotalUnwritable;
  private boolean isCompleting;

  LaneWrites(KcpChannel channel, Lanes lanes) {
    this.channel = channel;
    this.lanes = lanes;
  }

  /** What waits on one lane. */
  private static final class Pending {
    long bytes;
    boolean isUnwritable;
  }

  private final class Write extends LaneSend {

    private final int lane;
    private final int bytes;
    private final ChannelPromise promise;
    private Throwable failure;

    Write(LaneMessage message, ChannelPromise promise) {
      super(message.content());
      this.lane = message.lane();
      this.promise = promise;
      bytes = message.content().readableBytes() + OVERHEAD_BYTES;
    }

    @Override
    protected void sent() {
      decided.add(this);
      completeSoon();
    }

    @Override
    protected void dropped(Drop reason) {
      fail(reason == Drop.SESSION_CLOSED ? channel.closedBy() : new DroppedException(reason));
    }

    void fail(Throwable cause) {
      failure = cause;
      decided.add(this);
      completeSoon();
    }

    void complete() {
      if (failure == null) {
        promise.trySuccess();
      } else if (!promise.isVoid()) { // A void promise would fire it through the pipeline.
        promise.tryFailure(failure);
      }
    }
  }

  /** Has no stack trace, because many may be thrown in a short time. */
  private static final class DroppedException extends IOException {
    private static final long serialVersionUID = 1L;

    DroppedException(LaneSend.Drop reason) {
      super("message dropped: " + text(reason));
    }

    private static String text(LaneSend.Drop reason) {
      return switch (reason) {
        case LANE_CLOSED -> "the lane was aborted, or the peer reads it no more";
        case NO_SUCH_LANE -> "the peer takes no such lane";
        case TOO_LARGE -> "larger than the peer takes, or than a datagram";
        case UNREADABLE -> "its buffer was released, or made smaller, after it was written";
        case QUEUE_FULL -> "newer ones were written to its lane";
        case SESSION_CLOSED -> throw new AssertionError(reason);
      };
    }

    @Override
    public synchronized Throwable fillInStackTrace() {
      return this;
    }
  }

  /** Keeps a message until it is flushed. */
  void add(LaneMessage message, ChannelPromise promise) {
    Write write = new Write(message, promise);
    unflushed.add(write);
    count(write.lane, write.bytes);
  }

  /** Passes the pending writes to their lanes; returns whether there were any. */
  boolean flush() {
    if (unflushed.isEmpty()) {
      return false;
    }
    for (Write write; (write = unflushed.poll()) != null; ) {
      if (!write.promise.setUncancellable()) {
        write.content().release();
        count(write.lane, -write.bytes);
        continue;
      }
      try {
        lanes.lane(write.lane).send(write);
      } catch (IllegalArgumentException | IllegalStateException e) {
        write.content().release();
        write.fail(e);
      }
    }
    return true;
  }

  /** Whether less waits on a lane than the water marks say. */
  boolean isWritable(int lane) {
    Pending pending = pendingOf.get(lane);
    return pending == null || !pending.isUnwritable;
  }

  /** How much waits on a lane, in bytes. */
  long pendingBytes(int lane) {
    Pending pending = pendingOf.get(lane);
    return pending == null ? 0 : pending.bytes;
  }

  /** More waits on a lane, or less. */
  private void count(int lane, int bytes) {
    Pending pending = pendingOf.get(lane);
    if (pending == null) {
      pending = new Pending();
      pendingOf.put(lane, pending);
    }
    pending.bytes += bytes;
    pendingBytes += bytes;
    int high = channel.config().getWriteBufferHighWaterMark();
    int low = channel.config().getWriteBufferLowWaterMark();
    boolean wasUnwritable = pending.isUnwritable;
    pending.isUnwritable =
        wasUnwritable ? pending.bytes > 0 && pending.bytes >= low : pending.bytes > high;
    if (pending.bytes == 0) {
      pendingOf.remove(lane);
    }
    updateTotal(low, high);
    if (pending.isUnwritable != wasUnwritable) {
      fire(lane, wasUnwritable ? LaneEvent.Type.WRITABLE : LaneEvent.Type.UNWRITABLE);
    }
  }

  private void updateTotal(int low, int high) {
    boolean isUnwritable =
        isTotalUnwritable
            ? pendingBytes >= (long) LANES_AT_THE_MARK * low
            : pendingBytes > (long) LANES_AT_THE_MARK * high;
    ChannelOutboundBuffer buffer = channel.unsafe().outboundBuffer();
    if (isUnwritable != isTotalUnwritable && buffer != null) {
      isTotalUnwritable = isUnwritable;
      buffer.setUserDefinedWritability(WRITABILITY, !isUnwritable);
    }
  }

  private void fire(int lane, LaneEvent.Type type) {
    if (channel.isActive()) {
      LaneEvent event = new LaneEvent(lane, type);
      channel.eventLoop().execute(() -> channel.pipeline().fireUserEventTriggered(event));
    }
  }

  /** Fails the writes that were not flushed, and completes all promises. */
  void close() {
    for (Write write; (write = unflushed.poll()) != null; ) {
      write.content().release();
      write.fail(new ClosedChannelException());
    }
    complete();
  }

  private void completeSoon() {
    if (!isCompleting) {
      isCompleting = true;
      try {
        channel.eventLoop().execute(this::complete);
      } catch (RejectedExecutionException e) {
        isCompleting = false; // The event loop has ended: close() completes them.
      }
    }
  }

  /** A listener may write again, and so drop others: those are completed in the next turn. */
  private void complete() {
    isCompleting = false;
    Write write;
    for (int left = decided.size(); left > 0 && (write = decided.poll()) != null; left--) {
      count(write.lane, -write.bytes);
      write.complete();
    }
    if (!decided.isEmpty()) {
      completeSoon();
    }
  }

  /** Why a message cannot be sent on a lane, or null. */
  Exception refusal(LaneMessage message) {
    ByteBuf content = message.content();
    try {
      Lane lane = lanes.lane(message.lane());
      int max = lane.maxMessageBytes();
      if (content.readableBytes() > max) {
        return new IllegalArgumentException(
            "message: " + content.readableBytes() + " bytes (expected: <= " + max + ")");
      }
      return lane.isOutputOpen() ? null : new ClosedChannelException();
    } catch (IllegalArgumentException e) {
      return e;
    }
  }
}
