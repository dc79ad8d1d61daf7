package io.kcp4j.netty;

import io.kcp4j.lanes.LanesConfig;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.DefaultByteBufHolder;

/**
 * A message of one lane of a session whose {@link KcpChannelOption#DELIVERY} is {@link
 * io.kcp4j.Delivery#LANES}. It is written to and read from a {@link KcpChannel} like any message,
 * and is reference counted. What the lane guarantees, and who sends first, is set by {@link
 * KcpChannelOption#LANES} or {@link KcpLanes#config}.
 *
 * <p>{@code write} passes the ownership to the channel. The message waits in the channel for {@code
 * flush()}, and then in its lane, until priorities, windows and the peer's credit let it leave: it
 * never waits behind a message of another lane. {@link KcpLanes#isWritable} tells whether little
 * enough waits on a lane.
 *
 * <p>The future of a write succeeds when all of the message has been copied into segments; on an
 * unreliable lane, when it has been copied into a datagram. It fails with {@link
 * IllegalArgumentException} if the message is larger than {@link KcpLanes#maxMessageBytes} or the
 * peer takes no such lane, with {@link IllegalStateException} if the session has no lanes, if the
 * lane has a channel, or if this side has ended it since the message was written, with {@link
 * java.io.IOException} if it was dropped from its queue or the peer reads the lane no more, and
 * with {@link java.nio.channels.ClosedChannelException} or {@link KcpSessionClosedException} if the
 * session ended first.
 */
public final class LaneMessage extends DefaultByteBufHolder {

  private final int lane;

  /**
   * Makes a message.
   *
   * @param lane the lane's id: 0 to {@value LanesConfig#MAX_LANES} - 1
   * @param content its payload, owned by the message from then on
   * @throws IllegalArgumentException if the id is out of range; the content stays the caller's
   */
  public LaneMessage(int lane, ByteBuf content) {
    super(content);
    if (lane < 0 || lane >= LanesConfig.MAX_LANES) {
      throw new IllegalArgumentException(
          "lane: " + lane + " (expected: 0 to " + (LanesConfig.MAX_LANES - 1) + ")");
    }
    this.lane = lane;
  }

  /** The lane's id. */
  public int lane() {
    return lane;
  }

  @Override
  public LaneMessage copy() {
    return (LaneMessage) super.copy();
  }

  @Override
  public LaneMessage duplicate() {
    return (LaneMessage) super.duplicate();
  }

  @Override
  public LaneMessage retainedDuplicate() {
    return (LaneMessage) super.retainedDuplicate();
  }

  @Override
  public LaneMessage replace(ByteBuf content) {
    return new LaneMessage(lane, content);
  }

  @Override
  public LaneMessage retain() {
    super.retain();
    return this;
  }

  @Override
  public LaneMessage retain(int increment) {
    super.retain(increment);
    return this;
  }

  @Override
  public LaneMessage touch() {
    super.touch();
    return this;
  }

  @Override
  public LaneMessage touch(Object hint) {
    super.touch(hint);
    return this;
  }

  @Override
  public boolean equals(Object other) {
    return super.equals(other) && other instanceof LaneMessage message && message.lane == lane;
  }

  @Override
  public int hashCode() {
    return 31 * super.hashCode() + lane;
  }

  @Override
  public String toString() {
    return "LaneMessage(lane " + lane + ", " + contentToString() + ")";
  }
}
