package io.kcp4j.load;

import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelHandlerContext;

/**
 * Sends a numbered message at the beginning of each tick of a game, whether or not the earlier ones
 * were echoed. A round trip begins when its message is due.
 */
final class WriteClient extends NumberedHandler {

  private final GameTraffic traffic;
  private final RoundTripHistogram roundTrips;
  private PeriodicTask ticks;
  private long echoed;

  WriteClient(GameTraffic traffic, DeliveryLog log) {
    super(log);
    this.traffic = traffic;
    roundTrips = log.roundTrips();
  }

  @Override
  public void channelActive(ChannelHandlerContext ctx) {
    ticks = new PeriodicTask(ctx.executor(), System::nanoTime, traffic.periodNs(), () -> tick(ctx));
  }

  private void tick(ChannelHandlerContext ctx) {
    write(ctx, traffic.messageBytes());
    ctx.flush();
  }

  @Override
  void onReceived(ChannelHandlerContext ctx, ByteBuf data, long receivedBytes) {
    data.release();
    for (; echoed < receivedBytes / traffic.messageBytes(); echoed++) {
      roundTrips.add(ticks.sinceDueNs(echoed));
    }
  }

  @Override
  public void handlerRemoved(ChannelHandlerContext ctx) {
    if (ticks != null) {
      ticks.cancel();
    }
  }
}
