package io.kcp4j.load;

import io.netty.buffer.ByteBuf;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandler.Sharable;
import io.netty.channel.ChannelHandlerContext;

/** The server's side of every session. Reads no faster than it can send back. */
@Sharable
final class Answerer extends Reported {

  private final Marks marks;

  Answerer(Marks marks) {
    this.marks = marks;
  }

  @Override
  public void channelRead(ChannelHandlerContext ctx, Object msg) {
    ByteBuf received = (ByteBuf) msg;
    marks.addBytes(received.readableBytes());
    if (Payload.ECHOED.is(received)) {
      ctx.write(received, ctx.voidPromise());
    } else {
      received.release();
    }
  }

  @Override
  public void channelReadComplete(ChannelHandlerContext ctx) {
    ctx.flush();
    readWhileWritable(ctx.channel());
  }

  @Override
  public void channelWritabilityChanged(ChannelHandlerContext ctx) {
    readWhileWritable(ctx.channel());
  }

  private static void readWhileWritable(Channel channel) {
    channel.config().setAutoRead(channel.isWritable());
  }
}
