package io.kcp4j.netty.internal;

import io.kcp4j.internal.lanes.Lane;
import io.kcp4j.internal.lanes.OutboundMessage;
import io.kcp4j.internal.session.Session;
import io.kcp4j.netty.KcpChannelOption;
import io.kcp4j.netty.UnreliableDatagram;
import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelPromise;
import io.netty.channel.EventLoop;
import java.io.IOException;
import java.util.concurrent.RejectedExecutionException;

/**
 * A message that is written past the outbound buffer of its channel, and its promise: a message of
 * a lane or an {@link UnreliableDatagram}. It waits in a {@link Queue} until {@code flush()}, and
 * then in its lane or in the session. Owns the buffer. Used by the channel's event loop.
 */
public final class PendingWrite extends OutboundMessage {

  /** Counts what waits, as Netty's outbound buffer does. */
  public interface Counter {

    /** A write waits no more. Its promise is completed next, if it is not cancelled. */
    void completed(PendingWrite write);
  }

  /** The session on which a queue's writes are sent. */
  public interface Owner {

    /** The event loop of the session's channel. */
    EventLoop eventLoop();

    /** The session. */
    Session get();

    /** The exception of writes when the session has closed. */
    Exception closedBy();
  }

  private final Queue queue;

  /** Null if nobody counts the write. */
  private final Counter counter;

  /** The lane on which it is sent; null for an unreliable datagram. */
  private final Lane lane;

  private final ChannelPromise promise;

  /** The size of the content when it was written, in bytes. */
  private final int contentBytes;

  private Throwable failure;

  /** Whether the counter has been told. */
  private boolean isCompleted;

  /**
   * Makes a write.
   *
   * @param queue completes its promise
   * @param counter null for none
   * @param lane null for an unreliable datagram
   * @param content owned by the write from then on
   */
  public PendingWrite(
      Queue queue, Counter counter, Lane lane, ByteBuf content, ChannelPromise promise) {
    super(content);
    this.queue = queue;
    this.counter = counter;
    this.lane = lane;
    this.promise = promise;
    contentBytes = content.readableBytes();
  }

  int contentBytes() {
    return contentBytes;
  }

  public boolean isCompleted() {
    return isCompleted;
  }

  /**
   * Passes the message to its lane or to the session, unless its promise has been cancelled. The
   * caller schedules a flush of the session.
   */
  public void send(Session session) {
    if (!promise.setUncancellable()) {
      content().release();
      complete();
      return;
    }
    try {
      if (lane == null) {
        session.sendUnreliable(this);
      } else {
        lane.send(this);
      }
    } catch (RuntimeException e) { // Settings or limits have changed, or the lane has ended since.
      fail(e);
    }
  }

  /** Fails the promise of a message that was not passed to a lane or session, and releases it. */
  public void fail(Throwable cause) {
    content().release();
    decided(cause);
  }

  @Override
  protected void sent() {
    decided(null);
  }

  @Override
  protected void dropped(Drop reason) {
    decided(
        reason == Drop.SESSION_CLOSED
            ? queue.owner.closedBy()
            : new DroppedException(
                (lane == null ? "unreliable datagram" : "message") + " dropped: " + text(reason)));
  }

  private String text(Drop reason) {
    return switch (reason) {
      case LANE_CLOSED -> "the lane was aborted, or the peer reads it no more";
      case NO_SUCH_LANE -> "the peer takes no such lane";
      case TOO_LARGE -> "larger than the peer takes, or than a datagram";
      case UNREADABLE -> "its buffer was released, or made smaller, after it was written";
      case QUEUE_FULL ->
          "newer ones were written, and "
              + (lane == null ? "datagramQueue" : KcpChannelOption.LANES)
              + " limits the queue";
      case UNSUPPORTED -> "the peer does not have the extension, and FEC is off";
      case OUT_OF_MEMORY -> "out of memory";
      case SESSION_CLOSED -> throw new AssertionError(reason);
    };
  }

  private void decided(Throwable failure) {
    this.failure = failure;
    queue.decided(this);
  }

  private void complete() {
    isCompleted = true;
    if (counter != null) {
      counter.completed(this);
    }
    if (failure == null) {
      promise.trySuccess();
    } else {
      fail(promise, failure);
    }
  }

  /** Fails a promise. A void promise would fire the failure through the pipeline. */
  public static void fail(ChannelPromise promise, Throwable failure) {
    if (!promise.isVoid()) {
      promise.tryFailure(failure);
    }
  }

  /** A message was dropped. Has no stack trace, because many may be made in a short time. */
  private static final class DroppedException extends IOException {

    private static final long serialVersionUID = 1L;

    DroppedException(String message) {
      super(message);
    }

    @Override
    public synchronized Throwable fillInStackTrace() {
      return this;
    }
  }

  /**
   * The writes of a channel that wait for {@code flush()}, and those that have been sent or dropped
   * and are to be completed. In the channel's outbound buffer they would wait for each other or
   * behind the stream.
   *
   * <p>Promises are completed in the order in which writes were sent or dropped. That is done after
   * the session has finished its work, because their listeners may use the session: when the
   * session has been flushed, or else in the next turn of the event loop.
   */
  public static final class Queue implements Runnable {

    private final Owner owner;
    private final OutboundMessage.Queue<PendingWrite> unflushed = new OutboundMessage.Queue<>();
    private final OutboundMessage.Queue<PendingWrite> decided = new OutboundMessage.Queue<>();
    private boolean isScheduled;

    public Queue(Owner owner) {
      this.owner = owner;
    }

    /** Keeps a write until it is flushed. */
    public void add(PendingWrite write) {
      unflushed.add(write);
    }

    /** Drops the oldest writes beyond a limit on what waits to be flushed; returns their number. */
    public int dropBeyond(int limit) {
      int dropped = 0;
      for (; unflushed.messages() > limit; dropped++) {
        unflushed.remove().drop(Drop.QUEUE_FULL);
      }
      return dropped;
    }

    /** Passes the writes to their lanes or to the session; returns whether there were any. */
    public boolean flush() {
      if (unflushed.isEmpty()) {
        return false;
      }
      Session session = owner.get();
      while (!unflushed.isEmpty()) {
        unflushed.remove().send(session);
      }
      return true;
    }

    /** A write has been sent or dropped, and is to be completed. */
    private void decided(PendingWrite write) {
      decided.add(write);
      if (isScheduled) {
        return;
      }
      isScheduled = true;
      try {
        owner.eventLoop().execute(this);
      } catch (RejectedExecutionException e) {
        isScheduled = false; // The event loop has ended: close() completes them.
      }
    }

    /** Completes what has been decided, in a turn of its own. */
    @Override
    public void run() {
      isScheduled = false;
      complete();
    }

    /**
     * Completes what has been decided. A listener may write again, and so drop others: those are
     * completed in the next turn.
     *
     * @return whether there was anything
     */
    public boolean complete() {
      int most = decided.messages();
      for (int left = most; left > 0 && !decided.isEmpty(); left--) {
        decided.remove().complete();
      }
      return most > 0;
    }

    /** Fails the writes that were not flushed, and completes all, after the session has closed. */
    public void close() {
      while (!unflushed.isEmpty()) {
        unflushed.remove().drop(Drop.SESSION_CLOSED);
      }
      complete();
    }
  }
}
