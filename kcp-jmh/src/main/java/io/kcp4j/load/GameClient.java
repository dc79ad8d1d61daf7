package io.kcp4j.load;

import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelHandlerContext;
import io.netty.handler.codec.FixedLengthFrameDecoder;

/**
 * Sends numbered messages, those of a tick in one buffer, because Netty's QUIC sends a datagram for
 * each. Measures the time until each echo arrives, from the instant when the message was due:
 * delays of the sender count. Expects every message, in order.
 */
final class GameClient extends LoadHandler {

  private final GameTraffic traffic;
  private final RoundTripHistogram roundTrips;
  private PeriodicTask ticks;
  private long sent;
  private long echoed;

  GameClient(GameTraffic traffic, RoundTripHistogram roundTrips) {
    this.traffic = traffic;
    this.roundTrips = roundTrips;
  }

  @Override
  public void handlerAdded(ChannelHandlerContext ctx) {
    ctx.pipeline().addBefore(ctx.name(), null, new FixedLengthFrameDecoder(traffic.messageBytes()));
  }

  @Override
  public void channelActive(ChannelHandlerContext ctx) {
    ticks = new PeriodicTask(ctx.executor(), System::nanoTime, traffic.periodNs(), () -> tick(ctx));
  }

  private void tick(ChannelHandlerContext ctx) {
    int tickBytes = traffic.entities() * traffic.messageBytes();
    ByteBuf messages = ctx.alloc().directBuffer(tickBytes, tickBytes);
    for (int i = 0; i < traffic.entities(); i++) {
      messages.writeLong(sent++).writeZero(traffic.messageBytes() - Long.BYTES);
    }
    ctx.writeAndFlush(messages, ctx.voidPromise());
  }

  @Override
  public void channelRead(ChannelHandlerContext ctx, Object msg) {
    ByteBuf message = (ByteBuf) msg;
    long number = message.readLong();
    message.release();
    if (number != echoed) {
      throw new IllegalStateException("echo of message " + number + " in place of " + echoed);
    }
    echoed++;
    roundTrips.add(ticks.sinceDueNs(number / traffic.entities()));
  }

  @Override
  public void handlerRemoved(ChannelHandlerContext ctx) {
    if (ticks != null) {
      ticks.cancel();
    }
  }
}
