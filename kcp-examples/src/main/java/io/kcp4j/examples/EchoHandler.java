package io.kcp4j.examples;

import io.netty.channel.Channel;
import io.netty.channel.ChannelFutureListener;
import io.netty.channel.ChannelHandler.Sharable;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;

/** Echoes what it receives, and reads no faster than it can write. */
@Sharable
final class EchoHandler extends ChannelInboundHandlerAdapter {

  @Override
  public void channelRead(ChannelHandlerContext ctx, Object msg) {
    ctx.write(msg).addListener(ChannelFutureListener.CLOSE_ON_FAILURE);
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

  @Override
  public void exceptionCaught(ChannelHandlerContext ctx, Throwable cause) {
    ctx.close();
  }

  private static void readWhileWritable(Channel channel) {
    channel.config().setAutoRead(channel.isWritable());
  }
}
