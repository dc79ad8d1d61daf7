package io.kcp4j.load;

import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;

/** Logs the numbered bytes that arrive on a session, and why the session ends. */
abstract class NumberedHandler extends ChannelInboundHandlerAdapter {

  private final DeliveryLog log;
  private DeliveryLog.Session session;
  private long sentBytes;

  NumberedHandler(DeliveryLog log) {
    this.log = log;
  }

  /** A client is not connected yet: what it connects with is part of its session. */
  @Override
  public final void handlerAdded(ChannelHandlerContext ctx) {
    session = log.begin();
  }

  @Override
  public final void channelRead(ChannelHandlerContext ctx, Object msg) {
    ByteBuf data = (ByteBuf) msg;
    onReceived(ctx, data, session.received(data));
  }

  /**
   * Bytes have arrived.
   *
   * @param data to be released
   * @param receivedBytes how many have arrived in all, these included
   */
  abstract void onReceived(ChannelHandlerContext ctx, ByteBuf data, long receivedBytes);

  /** How many sessions of this process began earlier. */
  final int sessionNumber() {
    return session.number();
  }

  /** How many numbered bytes were written. */
  final long sentBytes() {
    return sentBytes;
  }

  /**
   * Writes the next numbered bytes. A write can change the writability, and so lead to the next.
   */
  final void write(ChannelHandlerContext ctx, int count) {
    long position = sentBytes;
    sentBytes += count;
    ctx.write(NumberedBytes.from(position, count, ctx.alloc()), ctx.voidPromise());
  }

  @Override
  public final void exceptionCaught(ChannelHandlerContext ctx, Throwable cause) {
    session.ended(cause.toString());
    ctx.close();
  }

  @Override
  public void channelInactive(ChannelHandlerContext ctx) {
    session.ended("the channel was closed");
  }
}
