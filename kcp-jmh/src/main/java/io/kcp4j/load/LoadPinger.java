package io.kcp4j.load;

import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelHandlerContext;
import java.util.concurrent.TimeUnit;

/**
 * Sends a small message at a constant rate and measures the time until its echo arrives, from the
 * instant when the message was due: delays of the sender count. Sessions deliver in order, so the
 * number of echoed bytes identifies the message.
 */
final class LoadPinger extends LoadHandler {

  private static final int MESSAGE_BYTES = 50;
  private static final long PERIOD_NS = TimeUnit.MILLISECONDS.toNanos(10);

  private final LoadStats stats;
  private ByteBuf message;
  private PeriodicTask pings;
  private long echoedBytes;
  private long echoes;

  LoadPinger(LoadStats stats) {
    this.stats = stats;
  }

  @Override
  public void handlerAdded(ChannelHandlerContext ctx) {
    message = LoadPayload.ECHOED.fill(ctx.alloc().directBuffer(MESSAGE_BYTES, MESSAGE_BYTES));
  }

  @Override
  public void channelActive(ChannelHandlerContext ctx) {
    pings = new PeriodicTask(ctx.executor(), System::nanoTime, PERIOD_NS, () -> ping(ctx));
  }

  private void ping(ChannelHandlerContext ctx) {
    ctx.writeAndFlush(message.retainedDuplicate(), ctx.voidPromise());
  }

  @Override
  public void channelRead(ChannelHandlerContext ctx, Object msg) {
    ByteBuf echo = (ByteBuf) msg;
    echoedBytes += echo.readableBytes();
    echo.release();
    for (; echoes < echoedBytes / MESSAGE_BYTES; echoes++) {
      stats.addRoundTrip(pings.sinceDueNs(echoes));
    }
  }

  @Override
  public void handlerRemoved(ChannelHandlerContext ctx) {
    if (pings != null) {
      pings.cancel();
    }
    message.release();
  }
}
