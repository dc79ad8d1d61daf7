package io.kcp4j.load;

import io.netty.buffer.ByteBuf;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelPromise;

/** Writes the same buffer as fast as its channel accepts it, and counts echoed bytes. */
final class LoadSender extends LoadHandler {

  private static final int WRITE_BYTES = 64 << 10;

  private final LoadPayload payload;
  private final LoadStats stats;
  private ByteBuf buffer;
  private boolean closing;

  LoadSender(LoadPayload payload, LoadStats stats) {
    this.payload = payload;
    this.stats = stats;
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
    stats.addBytes(echo.readableBytes());
    echo.release();
  }

  /** A closing channel may still be writable, but fails all writes. */
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
