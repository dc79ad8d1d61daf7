package io.kcp4j.load;

import io.netty.buffer.ByteBuf;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelPromise;

/** Writes as fast as its channel takes it, always the same buffer, and counts what comes back. */
final class Saturator extends Reported {

  private static final int WRITE_BYTES = 64 << 10;

  private final Payload payload;
  private final Marks marks;
  private ByteBuf buffer;
  private boolean closing;

  Saturator(Payload payload, Marks marks) {
    this.payload = payload;
    this.marks = marks;
  }

  @Override
  public void handlerAdded(ChannelHandlerContext ctx) {
    buffer = payload.fill(ctx.alloc().directBuffer(WRITE_BYTES, WRITE_BYTES));
  }

  @Override
  public void channelActive(ChannelHandlerContext ctx) {
    fill(ctx);
  }

  @Override
  public void channelWritabilityChanged(ChannelHandlerContext ctx) {
    fill(ctx);
  }

  private void fill(ChannelHandlerContext ctx) {
    Channel channel = ctx.channel();
    while (!closing && channel.isActive() && channel.isWritable()) {
      ctx.write(buffer.retainedDuplicate(), ctx.voidPromise());
    }
    ctx.flush();
  }

  @Override
  public void channelRead(ChannelHandlerContext ctx, Object msg) {
    ByteBuf echo = (ByteBuf) msg;
    marks.addBytes(echo.readableBytes());
    echo.release();
  }

  /** A closing channel may be writable for a while, yet takes no more. */
  @Override
  public void close(ChannelHandlerContext ctx, ChannelPromise promise) {
    closing = true;
    ctx.close(promise);
  }

  @Override
  public void handlerRemoved(ChannelHandlerContext ctx) {
    closing = true;
    buffer.release();
  }
}
