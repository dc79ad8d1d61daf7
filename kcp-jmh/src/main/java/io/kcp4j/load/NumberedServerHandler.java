package io.kcp4j.load;

import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelHandlerContext;

/**
 * The server of one session of numbered bytes: it echoes them, or answers once when an upload has
 * arrived.
 */
final class NumberedServerHandler extends NumberedHandler {

  private final boolean isUpload;
  private final NumberedTraffic traffic;

  NumberedServerHandler(boolean isUpload, NumberedTraffic traffic, DeliveryLog log) {
    super(log);
    this.isUpload = isUpload;
    this.traffic = traffic;
  }

  @Override
  void onReceived(ChannelHandlerContext ctx, ByteBuf data, long receivedBytes) {
    if (!isUpload) {
      ctx.write(data, ctx.voidPromise());
      return;
    }
    data.release();
    if (receivedBytes == traffic.expectedBytes(sessionNumber())) {
      write(ctx, NumberedTraffic.ANSWER_BYTES);
    }
  }

  @Override
  public void channelReadComplete(ChannelHandlerContext ctx) {
    ctx.flush();
  }
}
