package io.kcp4j.netty;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.DefaultByteBufHolder;

/**
 * A datagram beside a session's stream or messages, sent once: it may be lost, repeated, or
 * overtake what was written before it. kcp-go calls it an out-of-band packet. Written to and read
 * from a {@link KcpChannel} like any message, and reference counted.
 *
 * <p>To be sent, it needs {@link KcpChannelOption#UNRELIABLE_QUEUE} and FEC on this side; and it
 * must be no larger than {@link KcpChannel#maxUnreliableBytes}, or the write fails. The peer takes
 * it once the session has begun there, that is after the first payload has arrived; a kcp-go peer
 * takes it only with FEC on its side too. Its future succeeds when all that was written before it
 * has been taken; that says nothing about its fate.
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
