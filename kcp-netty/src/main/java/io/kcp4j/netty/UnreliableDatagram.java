package io.kcp4j.netty;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.DefaultByteBufHolder;

/**
 * A datagram of a session that is sent once, unlike its stream or messages: it may be lost,
 * duplicated or reordered. kcp-go calls it an out-of-band packet. It is written to and read from a
 * {@link KcpChannel} like any message, and is reference counted.
 *
 * <p>Sending one needs {@link io.kcp4j.KcpConfig#datagramQueue()}, and a peer that has the
 * extension or {@link KcpChannelOption#FEC} at the sender, and at most {@link
 * KcpChannel#maxUnreliableBytes} of payload; otherwise the write fails. Without FEC it waits until
 * the peer has shown that it has the extension. The peer accepts it after the session has begun
 * there, that is after the first payload has arrived. A kcp-go peer needs FEC as well.
 *
 * <p>A datagram bypasses the channel's outbound buffer: it is sent even while the stream waits for
 * the peer's window, and it does not count for {@code isWritable}. {@code write} passes the
 * ownership to the channel. The datagram waits in the channel for {@code flush()}; an
 * acknowledgement that is sent before does not include it. Then it waits in the session until it is
 * sent, at the end of the event loop's turn unless the socket is not writable. In each of the two
 * queues up to {@code datagramQueue} datagrams may wait; beyond that the oldest is dropped.
 *
 * <p>The future of a write succeeds when the datagram has been written to the socket; that does not
 * mean that it arrives. It fails with an {@link java.io.IOException} if the datagram was dropped
 * from a queue or the memory limit was reached, and with {@link
 * java.nio.channels.ClosedChannelException} or {@link KcpSessionClosedException} if the session
 * ended first. Futures of datagrams complete on the event loop in the order in which the datagrams
 * were sent or dropped, independently of the futures of the stream. A void promise does not report
 * failures; {@link io.kcp4j.KcpCounter#UNRELIABLE_DROPPED} counts the dropped datagrams.
 */
public final class UnreliableDatagram extends DefaultByteBufHolder {

  /**
   * Makes a datagram.
   *
   * @param content its payload, owned by the datagram from then on
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
