package io.kcp4j.netty;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.DefaultByteBufHolder;

/**
 * A datagram beside a session's stream or messages, sent once: it may be lost, repeated, or
 * overtake what was written before it. kcp-go calls it an out-of-band packet. Written to and read
 * from a {@link KcpChannel} like any message, and reference counted.
 *
 * <p>To be sent, it needs {@link KcpChannelOption#UNRELIABLE_QUEUE} and {@link
 * KcpChannelOption#FEC} on this side; and it must be no larger than {@link
 * KcpChannel#maxUnreliableBytes}, or the write fails. The peer takes it once the session has begun
 * there, that is after the first payload has arrived; a kcp-go peer takes it only with FEC on its
 * side too.
 *
 * <p>A datagram goes past the channel's outbound buffer, so that it leaves at once also while the
 * stream waits for the peer's window, and it does not count for {@code isWritable}. The channel
 * owns it from {@code write} on. It waits in the channel for {@code flush()}: no acknowledgement
 * takes it along before. Then it waits in the session until the socket takes it, at the end of the
 * event loop's turn unless that is not writable. In each of the two places {@code UNRELIABLE_QUEUE}
 * of them may wait; then the oldest gives way.
 *
 * <p>Its future succeeds when it has been handed to the socket; that says nothing about its fate on
 * the way. It fails with an {@link java.io.IOException} if it gave way or the memory limit was
 * reached, and with {@link java.nio.channels.ClosedChannelException} or {@link KcpEndException} if
 * the session ended first. Futures of datagrams complete in the order in which their fate is
 * decided, on the event loop, and independently of those of the stream. A void promise learns of no
 * failure, as anywhere in Netty; {@link io.kcp4j.KcpCounter#UNRELIABLE_DROPPED} counts those that
 * gave way.
 */
public final class UnreliableDatagram extends DefaultByteBufHolder {

  /**
   * Makes a datagram.
   *
   * @param content its payload, which is the datagram's from then on
   */
  public UnreliableDatagram(ByteBuf content) {
    super(content);
  }

  @Override
  public UnreliableDatagram copy() {
    return (UnreliableDatagram) super.copy();
  }

  @Override
  public UnreliableDatagram duplicate() {
    return (UnreliableDatagram) super.duplicate();
  }

  @Override
  public UnreliableDatagram retainedDuplicate() {
    return (UnreliableDatagram) super.retainedDuplicate();
  }

  @Override
  public UnreliableDatagram replace(ByteBuf content) {
    return new UnreliableDatagram(content);
  }

  @Override
  public UnreliableDatagram retain() {
    super.retain();
    return this;
  }

  @Override
  public UnreliableDatagram retain(int increment) {
    super.retain(increment);
    return this;
  }

  @Override
  public UnreliableDatagram touch() {
    super.touch();
    return this;
  }

  @Override
  public UnreliableDatagram touch(Object hint) {
    super.touch(hint);
    return this;
  }
}
