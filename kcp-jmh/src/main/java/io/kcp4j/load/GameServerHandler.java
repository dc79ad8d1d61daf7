package io.kcp4j.load;

import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelHandler.Sharable;
import io.netty.channel.ChannelHandlerContext;

/**
 * Echoes everything, with one flush for what has arrived together. If there is an answer, that is
 * sent in place of the echo of data that begins with a byte 0xff.
 */
@Sharable
final class GameServerHandler extends LoadHandler {

  private static final int REQUEST = 0xff;

  private final ByteBuf answer;

  GameServerHandler(ByteBuf answer) {
    this.answer = answer;
  }

  @Override
  public void channelRead(ChannelHandlerContext ctx, Object msg) {
    if (answer.isReadable() && msg instanceof ByteBuf data && data.getUnsignedByte(0) == REQUEST) {
      data.release();
      ctx.write(answer.retainedDuplicate(), ctx.voidPromise());
    } else {
      ctx.write(msg, ctx.voidPromise());
    }
  }

  @Override
  public void channelReadComplete(ChannelHandlerContext ctx) {
    ctx.flush();
  }
}
