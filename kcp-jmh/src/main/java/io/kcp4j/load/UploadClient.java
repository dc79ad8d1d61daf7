package io.kcp4j.load;

import io.netty.buffer.ByteBuf;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;

/** Sends numbered bytes as fast as its channel accepts them. */
final class UploadClient extends NumberedHandler {

  private static final int WRITE_BYTES = 64 << 10;

  private final long totalBytes;
  private final Runnable onAnswered;

  /**
   * A client.
   *
   * @param totalBytes how many bytes to send; 0: without end
   * @param onAnswered runs when the server has received all of them
   */
  UploadClient(long totalBytes, Runnable onAnswered, DeliveryLog log) {
    super(log);
    this.totalBytes = totalBytes == 0 ? Long.MAX_VALUE : totalBytes;
    this.onAnswered = onAnswered;
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
    while (channel.isActive() && channel.isWritable() && sentBytes() < totalBytes) {
      write(ctx, (int) Math.min(WRITE_BYTES, totalBytes - sentBytes()));
    }
    ctx.flush();
  }

  @Override
  void onReceived(ChannelHandlerContext ctx, ByteBuf data, long receivedBytes) {
    data.release();
    if (receivedBytes == NumberedTraffic.ANSWER_BYTES) {
      onAnswered.run();
    }
  }
}
