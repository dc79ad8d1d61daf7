package io.kcp4j.load;

import io.kcp4j.netty.LaneMessage;
import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelDuplexHandler;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelPromise;

/** Sends what is written as messages of one lane, for a handler that knows of none. */
final class OneLane extends ChannelDuplexHandler {

  private static final int LANE = 0;

  @Override
  public void write(ChannelHandlerContext ctx, Object msg, ChannelPromise promise) {
    ctx.write(new LaneMessage(LANE, (ByteBuf) msg), promise);
  }

  @Override
  public void channelRead(ChannelHandlerContext ctx, Object msg) {
    ctx.fireChannelRead(((LaneMessage) msg).content());
  }
}
