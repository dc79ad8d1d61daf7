package io.kcp4j.netty.interop;

import static java.util.concurrent.TimeUnit.MILLISECONDS;

import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelHandlerContext;

/** Sends a little at a time, as a game does in each tick; the echo may come in other pieces. */
final class TickCheck extends InteropEchoCheck {

  private static final int TICK_BYTES = 1250;
  private static final int TICK_MS = 5;
  private static final int SEED = 8;

  private final Pattern toSend = new Pattern(SEED);
  private final Pattern expected = new Pattern(SEED);
  private final int ticks;
  private int due;
  private int sent;
  private long receivedBytes;

  TickCheck(int ticks) {
    this.ticks = ticks;
  }

  @Override
  public void channelActive(ChannelHandlerContext ctx) {
    due++;
    sendWhileWritable(ctx);
    if (due < ticks) {
      ctx.executor().schedule(() -> channelActive(ctx), TICK_MS, MILLISECONDS);
    }
  }

  @Override
  ByteBuf nextToSend(ChannelHandlerContext ctx) {
    if (sent == due) {
      return null;
    }
    sent++;
    return toSend.next(ctx.alloc(), TICK_BYTES);
  }

  @Override
  boolean isExpected(ByteBuf received) {
    receivedBytes += received.readableBytes();
    return expected.continuesWith(received);
  }

  @Override
  boolean isComplete() {
    return receivedBytes == (long) ticks * TICK_BYTES;
  }

  @Override
  public String toString() {
    return "%d ticks sent and %d bytes received of %d ticks".formatted(sent, receivedBytes, ticks);
  }
}
