package io.kcp4j.netty;

import io.kcp4j.Unstable;
import io.kcp4j.lanes.OutboundMessage;
import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelPromise;

/** A message of a lane, and its promise. Used by the channel's event loop. */
@Unstable
public abstract class LaneWrite extends OutboundMessage {

  private final KcpLanes lanes;
  private final int lane;
  private final ChannelPromise promise;
  private Throwable failure;

  /**
   * Makes a write.
   *
   * @param content owned by the write from then on
   */
  protected LaneWrite(KcpLanes lanes, int lane, ByteBuf content, ChannelPromise promise) {
    super(content);
    this.lanes = lanes;
    this.lane = lane;
    this.promise = promise;
  }

  /** The lane's id. */
  protected final int lane() {
    return lane;
  }

  /**
   * Passes the message to its lane, unless its promise has been cancelled. The caller calls {@link
   * KcpLanes#flush}.
   */
  public final void send() {
    if (!promise.setUncancellable()) {
      content().release();
      completed();
      return;
    }
    try {
      lanes.lane(lane).send(this);
    } catch (RuntimeException e) { // The peer's limits are known since, or the lane has ended.
      fail(e);
    }
  }

  /** Fails the promise of a message that was not passed to its lane, and releases it. */
  public final void fail(Throwable cause) {
    content().release();
    decided(cause);
  }

  @Override
  protected final void sent() {
    decided(null);
  }

  @Override
  protected final void dropped(Drop reason) {
    decided(
        reason == Drop.SESSION_CLOSED
            ? lanes.closedBy()
            : new DroppedException("message dropped: " + text(reason)));
  }

  private static String text(Drop reason) {
    return switch (reason) {
      case LANE_CLOSED -> "the lane was aborted, or the peer reads it no more";
      case UNREADABLE -> "its buffer was released, or made smaller, after it was written";
      case NO_SUCH_LANE -> "the peer takes no such lane";
      case TOO_LARGE -> "larger than the peer takes, or than a datagram";
      case QUEUE_FULL -> "newer ones were written to its lane";
      case UNSUPPORTED, OUT_OF_MEMORY, SESSION_CLOSED -> throw new AssertionError(reason);
    };
  }

  private void decided(Throwable failure) {
    this.failure = failure;
    lanes.completions().add(this::complete);
  }

  private void complete() {
    completed();
    WriteCompletions.complete(promise, failure);
  }

  /** The message waits no more. Its promise is completed next, if it is not cancelled. */
  protected abstract void completed();
}
