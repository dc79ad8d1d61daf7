package io.kcp4j.load;

import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelHandlerContext;
import java.util.concurrent.TimeUnit;

/**
 * Sends numbered messages, the next one when one is answered by its echo. Measures their round
 * trips.
 */
final class RequestClient extends NumberedHandler {

  private final int messageBytes;
  private final int pauseMs;
  private final RoundTripHistogram roundTrips;

  /** When message n was sent, at the index n modulo the length. */
  private final long[] sentAtNs;

  private long sent;
  private long answered;

  RequestClient(int messageBytes, NumberedTraffic traffic, DeliveryLog log) {
    super(log);
    this.messageBytes = messageBytes;
    pauseMs = traffic.pauseMs();
    sentAtNs = new long[traffic.inFlight()];
    roundTrips = log.roundTrips();
  }

  @Override
  public void channelActive(ChannelHandlerContext ctx) {
    for (int i = 0; i < sentAtNs.length; i++) {
      send(ctx);
    }
    ctx.flush();
  }

  private void send(ChannelHandlerContext ctx) {
    sentAtNs[(int) (sent++ % sentAtNs.length)] = System.nanoTime();
    write(ctx, messageBytes);
  }

  @Override
  void onReceived(ChannelHandlerContext ctx, ByteBuf data, long receivedBytes) {
    data.release();
    while (answered < receivedBytes / messageBytes) {
      roundTrips.add(System.nanoTime() - sentAtNs[(int) (answered++ % sentAtNs.length)]);
      if (pauseMs == 0) {
        send(ctx);
      } else {
        ctx.executor().schedule(() -> sendLater(ctx), pauseMs, TimeUnit.MILLISECONDS);
      }
    }
  }

  private void sendLater(ChannelHandlerContext ctx) {
    send(ctx);
    ctx.flush();
  }

  @Override
  public void channelReadComplete(ChannelHandlerContext ctx) {
    ctx.flush();
  }
}
