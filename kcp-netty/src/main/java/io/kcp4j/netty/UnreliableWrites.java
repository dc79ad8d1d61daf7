package io.kcp4j.netty;

import io.kcp4j.lanes.OutboundMessage;
import io.kcp4j.session.Session;
import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelPromise;
import io.netty.channel.EventLoop;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.function.Supplier;

/**
 * The {@link UnreliableDatagram}s that were written to a channel, and their promises. They bypass
 * the channel's outbound buffer, where they would wait behind the stream. Each waits here until
 * {@code flush()}, then in the session until it is sent. Owns the buffers.
 */
final class UnreliableWrites {

  private final WriteCompletions completions;
  private final Supplier<Exception> closedBy;
  private final Deque<Write> unflushed = new ArrayDeque<>();

  /**
   * Makes the writes of a channel.
   *
   * @param closedBy makes the exception of the writes that are pending when the channel closes
   */
  UnreliableWrites(EventLoop eventLoop, Supplier<Exception> closedBy) {
    completions = new WriteCompletions(eventLoop);
    this.closedBy = closedBy;
  }

  private final class Write extends OutboundMessage {

    private final ChannelPromise promise;

    Write(ByteBuf content, ChannelPromise promise) {
      super(content);
      this.promise = promise;
    }

    @Override
    protected void sent() {
      decided(null);
    }

    @Override
    protected void dropped(Drop reason) {
      decided(reason == Drop.SESSION_CLOSED ? closedBy.get() : new DroppedException(text(reason)));
    }

    void decided(Throwable failure) {
      completions.add(() -> WriteCompletions.complete(promise, failure));
    }
  }

  private static String text(OutboundMessage.Drop reason) {
    return "unreliable datagram dropped: "
        + switch (reason) {
          case QUEUE_FULL ->
              "newer ones were written, and "
                  + KcpChannelOption.UNRELIABLE_QUEUE
                  + " limits the queue";
          case TOO_LARGE -> KcpChannelOption.MTU + " has become too small for it";
          case UNSUPPORTED -> "the peer does not have the extension, and FEC is off";
          case OUT_OF_MEMORY -> "out of memory";
          case LANE_CLOSED, NO_SUCH_LANE, UNREADABLE, SESSION_CLOSED ->
              throw new AssertionError(reason);
        };
  }

  /**
   * Keeps a datagram until it is flushed.
   *
   * @param limit the most that may wait; beyond it the oldest are dropped
   * @return the number of dropped ones
   */
  int add(ByteBuf content, ChannelPromise promise, int limit) {
    unflushed.add(new Write(content, promise));
    int dropped = 0;
    for (; unflushed.size() > limit; dropped++) {
      Write oldest = unflushed.remove();
      oldest.drop(OutboundMessage.Drop.QUEUE_FULL);
    }
    return dropped;
  }

  /** Passes the pending writes to the session; returns whether there were any. */
  boolean flush(Session session) {
    if (unflushed.isEmpty()) {
      return false;
    }
    for (Write write; (write = unflushed.poll()) != null; ) {
      if (!write.promise.setUncancellable()) {
        write.content().release();
        continue;
      }
      try {
        session.sendUnreliable(write);
      } catch (IllegalArgumentException e) { // The settings have changed since the write.
        write.content().release();
        write.decided(e);
      }
    }
    return true;
  }

  /** Fails the pending writes, after the session has been closed, and completes all promises. */
  void close() {
    for (Write write; (write = unflushed.poll()) != null; ) {
      write.drop(OutboundMessage.Drop.SESSION_CLOSED);
    }
    completions.run();
  }
}
