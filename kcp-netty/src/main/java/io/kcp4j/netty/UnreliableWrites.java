package io.kcp4j.netty;

import io.kcp4j.session.Session;
import io.kcp4j.session.UnreliableSend;
import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelPromise;
import io.netty.channel.EventLoop;
import java.io.IOException;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.concurrent.RejectedExecutionException;
import java.util.function.Supplier;

/**
 * The {@link UnreliableDatagram}s that were written to a channel, and their promises. They bypass
 * the channel's outbound buffer, where they would wait behind the stream. Each waits here until
 * {@code flush()}, then in the session until it is sent. Owns the buffers. A promise is completed
 * after the session has finished its work, because its listeners may use the session.
 */
final class UnreliableWrites {

  private final EventLoop eventLoop;
  private final Supplier<Exception> closedBy;
  private final Deque<Write> unflushed = new ArrayDeque<>();

  /** The writes that have been sent or dropped, whose promises are to be completed in order. */
  private final Deque<Write> decided = new ArrayDeque<>();

  private boolean completing;

  /**
   * Makes the writes of a channel.
   *
   * @param closedBy makes the exception of the writes that are pending when the channel closes
   */
  UnreliableWrites(EventLoop eventLoop, Supplier<Exception> closedBy) {
    this.eventLoop = eventLoop;
    this.closedBy = closedBy;
  }

  private final class Write implements UnreliableSend {

    private final ByteBuf content;
    private final ChannelPromise promise;
    private Throwable failure;

    Write(ByteBuf content, ChannelPromise promise) {
      this.content = content;
      this.promise = promise;
    }

    @Override
    public ByteBuf content() {
      return content;
    }

    @Override
    public void sent() {
      decided.add(this);
      completeSoon();
    }

    @Override
    public void dropped(Drop reason) {
      fail(reason == Drop.CLOSED ? closedBy.get() : new DroppedException(reason));
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

    DroppedException(UnreliableSend.Drop reason) {
      super("unreliable datagram dropped: " + text(reason));
    }

    private static String text(UnreliableSend.Drop reason) {
      return switch (reason) {
        case QUEUE_FULL ->
            "newer ones were written, and "
                + KcpChannelOption.UNRELIABLE_QUEUE
                + " limits the queue";
        case TOO_LARGE -> KcpChannelOption.MTU + " has become too small for it";
        case UNSUPPORTED -> "the peer does not have the extension, and FEC is off";
        case OUT_OF_MEMORY -> "out of memory";
        case CLOSED -> throw new AssertionError(reason);
      };
    }

    @Override
    public synchronized Throwable fillInStackTrace() {
      return this;
    }
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
      oldest.content.release();
      oldest.dropped(UnreliableSend.Drop.QUEUE_FULL);
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
        write.content.release();
        continue;
      }
      try {
        session.sendUnreliable(write);
      } catch (IllegalArgumentException e) { // The settings have changed since the write.
        write.content.release();
        write.fail(e);
      }
    }
    return true;
  }

  /** Fails the pending writes, after the session has been closed, and completes all promises. */
  void close() {
    for (Write write; (write = unflushed.poll()) != null; ) {
      write.content.release();
      write.dropped(UnreliableSend.Drop.CLOSED);
    }
    complete();
  }

  private void completeSoon() {
    if (!completing) {
      completing = true;
      try {
        eventLoop.execute(this::complete);
      } catch (RejectedExecutionException e) {
        completing = false; // The event loop has ended: close() completes them.
      }
    }
  }

  /** A listener may write again, and so drop others: those are completed in the next turn. */
  private void complete() {
    completing = false;
    Write write;
    for (int left = decided.size(); left > 0 && (write = decided.poll()) != null; left--) {
      write.complete();
    }
  }
}
