package io.kcp4j.examples;

import io.kcp4j.command.CommandFailure;
import io.kcp4j.examples.PerfProtocol.End;
import io.kcp4j.examples.PerfProtocol.Report;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.ChannelHandlerContext;
import io.netty.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;

/** Counts what a {@link PerfSender} sends, and reports it every second and at the end. */
final class PerfReceiver extends PerfSide {

  private static final End NOT_YET = new End(0, 0);

  /** The length field of a frame, or the whole of the last frame. */
  private final ByteBuf head = Unpooled.buffer(PerfProtocol.END_BYTES, PerfProtocol.END_BYTES);

  private long bytes;
  private int frameBytesLeft;
  private boolean started;
  private long startedAtNs;
  private Future<?> everySecond;

  PerfReceiver(Consumer<Report> onReport) {
    super(onReport);
  }

  @Override
  public void channelRead(ChannelHandlerContext ctx, Object msg) throws CommandFailure {
    ByteBuf in = (ByteBuf) msg;
    if (!started) {
      start(ctx);
    }
    try {
      while (in.isReadable()) {
        if (frameBytesLeft > 0) {
          skipPayload(in);
        } else {
          readHead(ctx, in);
        }
      }
    } finally {
      in.release();
    }
  }

  private void skipPayload(ByteBuf in) {
    int n = Math.min(frameBytesLeft, in.readableBytes());
    in.skipBytes(n);
    frameBytesLeft -= n;
    bytes += n;
  }

  private void start(ChannelHandlerContext ctx) {
    started = true;
    startedAtNs = System.nanoTime();
    everySecond =
        ctx.executor()
            .scheduleAtFixedRate(() -> report(ctx, false, NOT_YET), 1, 1, TimeUnit.SECONDS);
  }

  private void readHead(ChannelHandlerContext ctx, ByteBuf in) throws CommandFailure {
    boolean isLast = head.readableBytes() >= Integer.BYTES;
    int wanted = (isLast ? PerfProtocol.END_BYTES : Integer.BYTES) - head.readableBytes();
    head.writeBytes(in, Math.min(wanted, in.readableBytes()));
    if (head.readableBytes() == Integer.BYTES && head.getInt(0) != 0) {
      startFrame(head.readInt());
      head.clear();
    } else if (head.readableBytes() == PerfProtocol.END_BYTES) {
      report(ctx, true, End.decode(head.skipBytes(Integer.BYTES)));
      everySecond.cancel(false);
      head.clear();
    }
  }

  private void startFrame(int length) throws CommandFailure {
    if (length < 0 || length > PerfProtocol.MAX_FRAME_BYTES) {
      throw new CommandFailure(
          "the peer does not speak the protocol of perf-client and perf-server");
    }
    frameBytesLeft = length;
    bytes += Integer.BYTES;
  }

  private void report(ChannelHandlerContext ctx, boolean isFinal, End end) {
    Report report = new Report(isFinal, bytes, System.nanoTime() - startedAtNs);
    ctx.writeAndFlush(report.encode(ctx.alloc()));
    show(report, end);
  }

  @Override
  public void handlerRemoved(ChannelHandlerContext ctx) {
    if (everySecond != null) {
      everySecond.cancel(false);
    }
  }
}
