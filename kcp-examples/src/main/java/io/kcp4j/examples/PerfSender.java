package io.kcp4j.examples;

import io.kcp4j.KcpCounter;
import io.kcp4j.KcpStats;
import io.kcp4j.command.CommandFailure;
import io.kcp4j.examples.PerfProtocol.End;
import io.kcp4j.examples.PerfProtocol.Report;
import io.kcp4j.netty.KcpChannel;
import io.netty.buffer.ByteBuf;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelPromise;
import io.netty.handler.codec.FixedLengthFrameDecoder;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;

/**
 * Sends as fast as the session accepts it, for a given time. The hot path writes one shared buffer
 * while the channel is writable; nothing happens per segment.
 */
final class PerfSender extends PerfSide {

  private final int frameBytes;
  private final int durationMs;
  private ByteBuf frame;
  private boolean ended;

  /**
   * Makes a sender that starts when {@link #start} is called.
   *
   * @param frameBytes the size of each write, the length field of the frame included
   */
  PerfSender(int frameBytes, int durationMs, Consumer<Report> onReport) {
    super(onReport);
    this.frameBytes = frameBytes;
    this.durationMs = durationMs;
  }

  @Override
  public void handlerAdded(ChannelHandlerContext ctx) {
    ctx.pipeline()
        .addBefore(ctx.name(), null, new FixedLengthFrameDecoder(PerfProtocol.REPORT_BYTES));
    int payload = frameBytes - Integer.BYTES;
    frame = ctx.alloc().directBuffer(frameBytes).writeInt(payload).writeZero(payload);
  }

  /** Starts to send. */
  void start(ChannelHandlerContext ctx) {
    ctx.executor().schedule(() -> end(ctx), durationMs, TimeUnit.MILLISECONDS);
    fill(ctx);
  }

  @Override
  public void channelWritabilityChanged(ChannelHandlerContext ctx) {
    fill(ctx);
  }

  private void fill(ChannelHandlerContext ctx) {
    Channel channel = ctx.channel();
    while (!ended && channel.isWritable()) {
      ctx.write(frame.retainedDuplicate(), ctx.voidPromise());
    }
    ctx.flush();
  }

  private void end(ChannelHandlerContext ctx) {
    ended = true;
    if (ctx.channel().isActive()) {
      ctx.writeAndFlush(counted(ctx).encode(ctx.alloc()));
    }
  }

  @Override
  public void channelRead(ChannelHandlerContext ctx, Object msg) throws CommandFailure {
    ByteBuf in = (ByteBuf) msg;
    try {
      Report report = Report.decode(in);
      show(report, counted(ctx));
      if (report.isFinal()) {
        ctx.close();
      }
    } finally {
      in.release();
    }
  }

  /** A closing channel may still be writable, but fails all writes. */
  @Override
  public void close(ChannelHandlerContext ctx, ChannelPromise promise) {
    ended = true;
    ctx.close(promise);
  }

  private static End counted(ChannelHandlerContext ctx) {
    KcpStats stats = ((KcpChannel) ctx.channel()).stats();
    return new End(stats.get(KcpCounter.RETRANSMITTED), stats.srttUs());
  }

  @Override
  public void handlerRemoved(ChannelHandlerContext ctx) {
    ended = true;
    frame.release();
  }
}
