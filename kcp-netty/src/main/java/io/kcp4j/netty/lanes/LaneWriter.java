package io.kcp4j.netty.lanes;

import io.kcp4j.netty.LaneWrite;
import io.kcp4j.netty.internal.ForwardingUnsafe;
import io.netty.buffer.ByteBuf;
import io.netty.channel.Channel;
import io.netty.channel.ChannelOutboundBuffer;
import io.netty.channel.ChannelPromise;
import io.netty.util.ReferenceCountUtil;
import java.util.ArrayDeque;
import java.util.Deque;

/**
 * Writes to a lane. Flushed messages wait in the lane's queue, also after the channel has closed.
 * Each counts in the channel's outbound buffer, too, until it has been sent or dropped, so that the
 * channel's water marks hold. As the channel's {@code Unsafe} it sees writes first. Used by the
 * channel's event loop.
 */
final class LaneWriter extends ForwardingUnsafe {

  /** A user-defined writability bit that users are unlikely to set themselves. */
  private static final int WRITABILITY = 31;

  private final LaneChannel channel;

  /** What the outbound buffer counts, in the same order. */
  private final Deque<Write> counted = new ArrayDeque<>();

  private final Deque<Write> unflushed = new ArrayDeque<>();

  /** Flushed, and not passed to the lane yet. */
  private final Deque<Write> flushed = new ArrayDeque<>();

  LaneWriter(LaneChannel channel, Channel.Unsafe unsafe) {
    super(unsafe);
    this.channel = channel;
  }

  private final class Write extends LaneWrite {

    private boolean isCompleted;

    Write(ByteBuf content, ChannelPromise promise) {
      super(channel.lanes(), channel.lane(), content, promise);
    }

    @Override
    protected void completed() {
      isCompleted = true;
      for (Write first; (first = counted.peek()) != null && first.isCompleted; ) {
        counted.remove();
        ChannelOutboundBuffer buffer = outboundBuffer();
        if (buffer != null) { // Else the channel has closed.
          buffer.remove();
        }
      }
    }
  }

  @Override
  public void write(Object msg, ChannelPromise promise) {
    Exception refusal = channel.refusal(msg);
    if (refusal != null) {
      ReferenceCountUtil.release(msg);
      fail(promise, refusal);
      return;
    }
    ByteBuf content = (ByteBuf) msg;
    Write write = new Write(content.retain(), promise);
    counted.add(write);
    unflushed.add(write);
    ChannelPromise counting = channel.newPromise();
    super.write(content, counting);
    if (counting.isDone()) { // The user's MessageSizeEstimator has thrown.
      counted.removeLast();
      unflushed.removeLast();
      content.release();
      fail(promise, counting.cause());
    }
  }

  private static void fail(ChannelPromise promise, Throwable cause) {
    if (!promise.isVoid()) {
      promise.tryFailure(cause);
    }
  }

  /** What was written has been flushed. */
  void flushed() {
    flushed.addAll(unflushed);
    unflushed.clear();
    send();
  }

  /** Passes what was flushed to the lane, if that may be used. */
  void send() {
    if (flushed.isEmpty() || channel.isOutputHeld()) {
      return;
    }
    for (Write write; (write = flushed.poll()) != null; ) {
      write.send();
    }
    channel.lanes().flush();
  }

  /**
   * Nothing can be written any more. Code that writes as long as the channel is writable would not
   * end otherwise.
   */
  void stop() {
    ChannelOutboundBuffer buffer = outboundBuffer();
    if (buffer != null) {
      buffer.setUserDefinedWritability(WRITABILITY, false);
    }
  }

  /** Fails what was flushed and not passed to the lane. */
  void failFlushed(Exception cause) {
    fail(flushed, cause);
  }

  /** Fails what was not flushed. */
  void failUnflushed(Exception cause) {
    fail(unflushed, cause);
  }

  private static void fail(Deque<Write> writes, Exception cause) {
    for (Write write; (write = writes.poll()) != null; ) {
      write.fail(cause);
    }
  }
}
