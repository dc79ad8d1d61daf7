package io.kcp4j.netty;

import io.kcp4j.internal.session.Session;
import io.kcp4j.netty.internal.ForwardingUnsafe;
import io.kcp4j.netty.internal.PendingWrite;
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
final class LaneWriter extends ForwardingUnsafe implements PendingWrite.Counter {

  /** A user-defined writability bit that users are unlikely to set themselves. */
  private static final int WRITABILITY = 31;

  private final LaneChannel channel;

  /** What the outbound buffer counts, in the same order. */
  private final Deque<PendingWrite> counted = new ArrayDeque<>();

  private final Deque<PendingWrite> unflushed = new ArrayDeque<>();

  /** Flushed, and not passed to the lane yet. */
  private final Deque<PendingWrite> flushed = new ArrayDeque<>();

  LaneWriter(LaneChannel channel, Channel.Unsafe unsafe) {
    super(unsafe);
    this.channel = channel;
  }

  /** The outbound buffer removes writes in their order, in which they need not be completed. */
  @Override
  public void completed(PendingWrite write) {
    for (PendingWrite first; (first = counted.peek()) != null && first.isCompleted(); ) {
      counted.remove();
      ChannelOutboundBuffer buffer = outboundBuffer();
      if (buffer != null) { // Else the channel has closed.
        buffer.remove();
      }
    }
  }

  @Override
  public void write(Object msg, ChannelPromise promise) {
    Exception refusal = channel.refusal(msg);
    if (refusal != null) {
      ReferenceCountUtil.release(msg);
      PendingWrite.fail(promise, refusal);
      return;
    }
    ByteBuf content = (ByteBuf) msg;
    PendingWrite write =
        new PendingWrite(
            channel.lanes().queue(), this, channel.laneOfSession(), content.retain(), promise);
    counted.add(write);
    unflushed.add(write);
    ChannelPromise counting = channel.newPromise();
    super.write(content, counting);
    if (counting.isDone()) { // The user's MessageSizeEstimator has thrown.
      counted.removeLast();
      unflushed.removeLast();
      content.release();
      PendingWrite.fail(promise, counting.cause());
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
    Session session = channel.parent().session().get();
    for (PendingWrite write; (write = flushed.poll()) != null; ) {
      write.send(session);
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

  private static void fail(Deque<PendingWrite> writes, Exception cause) {
    for (PendingWrite write; (write = writes.poll()) != null; ) {
      write.fail(cause);
    }
  }
}
