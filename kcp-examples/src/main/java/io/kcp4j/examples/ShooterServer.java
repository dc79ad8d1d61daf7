package io.kcp4j.examples;

import io.kcp4j.netty.LaneMessage;
import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.util.ReferenceCountUtil;
import io.netty.util.concurrent.Future;
import java.util.concurrent.TimeUnit;

/**
 * The server's side of a shooter's session: sends in each tick, from the player's first message on,
 * and beside that a level.
 */
final class ShooterServer extends ChannelInboundHandlerAdapter {

  private final ShooterTraffic traffic;
  private final GeneratedBytes level;
  private final int[] sent = new int[ShooterLane.values().length];
  private Future<?> schedule;
  private int tick;

  ShooterServer(ShooterTraffic traffic) {
    this.traffic = traffic;
    level = traffic.level();
  }

  @Override
  public void channelRead(ChannelHandlerContext ctx, Object msg) {
    ReferenceCountUtil.release(msg);
    if (schedule == null) {
      schedule =
          ctx.executor()
              .scheduleAtFixedRate(() -> tick(ctx), 0, GameTraffic.TICK_NS, TimeUnit.NANOSECONDS);
    }
  }

  private void tick(ChannelHandlerContext ctx) {
    long nowNs = System.nanoTime();
    for (ShooterLane lane : ShooterLane.values()) {
      for (int left = lane.messagesIn(tick); left > 0; left--) {
        ctx.write(ShooterMessage.of(ctx.alloc(), lane, sent[lane.id()]++, nowNs));
      }
    }
    ctx.flush();
    if (tick == traffic.unmeasuredTicks()) {
      sendLevel(ctx);
    }
    if (++tick == traffic.ticks()) {
      schedule.cancel(false);
    }
  }

  /** Sends the next part of the level, and when it has left, the one behind it. */
  private void sendLevel(ChannelHandlerContext ctx) {
    byte[] bytes = new byte[ShooterLane.LEVEL.messageBytes()];
    int length = level.read(bytes, 0, bytes.length);
    if (length > 0) {
      ByteBuf part = ctx.alloc().buffer(length).writeBytes(bytes, 0, length);
      ctx.writeAndFlush(new LaneMessage(ShooterLane.LEVEL.id(), part))
          .addListener(
              written -> {
                if (written.isSuccess()) {
                  sendLevel(ctx);
                }
              });
    }
  }

  @Override
  public void handlerRemoved(ChannelHandlerContext ctx) {
    if (schedule != null) {
      schedule.cancel(false);
    }
  }

  @Override
  public void exceptionCaught(ChannelHandlerContext ctx, Throwable cause) {
    ctx.close();
  }
}
