package io.kcp4j.load;

import io.netty.buffer.ByteBuf;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandler.Sharable;
import io.netty.channel.ChannelHandlerContext;

/** The handler of every session on the server. Reads no faster than it can echo. */
@Sharable
final class LoadServerHandler extends LoadHandler {

  private final LoadStats stats;

  LoadServerHandler(LoadStats stats) {
    this.stats = stats;
  }

  @Override
  public void channelRead(ChannelHandlerContext ctx, Object msg) {
    ByteBuf received = (ByteBuf) msg;
    stats.addBytes(received.readableBytes());
    if (LoadPayload.ECHOED.is(received)) {
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
