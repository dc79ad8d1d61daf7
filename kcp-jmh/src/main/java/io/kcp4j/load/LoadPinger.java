package io.kcp4j.load;

import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelHandlerContext;
import io.netty.util.concurrent.Future;
import java.util.concurrent.TimeUnit;

/**
 * Sends a small message at a steady pace and measures when its echo is back: from the instant when
 * it was due, so that a sender which comes too late is not spared. Sessions deliver in order, so
 * the bytes that have come back tell which message they are of.
 */
final class LoadPinger extends Reported {

  private static final int MESSAGE_BYTES = 50;
  private static final long PERIOD_NS = TimeUnit.MILLISECONDS.toNanos(10);

  private final Marks marks;
  private ByteBuf message;
  private Future<?> schedule;
  private long startedAtNs;
  private long echoedBytes;
  private long echoes;

  LoadPinger(Marks marks) {
    this.marks = marks;
  }

  @Override
  public void handlerAdded(ChannelHandlerContext ctx) {
    message = Payload.ECHOED.fill(ctx.alloc().directBuffer(MESSAGE_BYTES, MESSAGE_BYTES));
  }

  @Override
  public void channelActive(ChannelHandlerContext ctx) {
    startedAtNs = System.nanoTime();
    schedule =
        ctx.executor().scheduleAtFixedRate(() -> ping(ctx), 0, PERIOD_NS, TimeUnit.NANOSECONDS);
  }

  private void ping(ChannelHandlerContext ctx) {
    ctx.writeAndFlush(message.retainedDuplicate(), ctx.voidPromise());
  }

  @Override
  public void channelRead(ChannelHandlerContext ctx, Object msg) {
    ByteBuf echo = (ByteBuf) msg;
    echoedBytes += echo.readableBytes();
    echo.release();
    long nowNs = System.nanoTime();
    for (; echoes < echoedBytes / MESSAGE_BYTES; echoes++) {
      marks.addRoundTrip(nowNs - startedAtNs - echoes * PERIOD_NS);
    }
  }

  @Override
  public void handlerRemoved(ChannelHandlerContext ctx) {
    if (schedule != null) {
      schedule.cancel(false);
    }
    message.release();
  }
}
