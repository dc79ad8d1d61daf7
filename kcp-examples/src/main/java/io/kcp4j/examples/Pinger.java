package io.kcp4j.examples;

import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelHandlerContext;
import io.netty.util.concurrent.Future;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.concurrent.TimeUnit;

/**
 * Sends small packets to an echo server at a constant rate and measures the round-trip time of
 * each. KCP delivers in order: an echo belongs to the oldest unanswered packet.
 */
final class Pinger extends SessionHandler {

  private final int count;
  private final int periodMs;
  private final int sizeBytes;
  private final LatencySamples samples = new LatencySamples();

  /** The send time of each unanswered packet, in nanoseconds, oldest first. */
  private final Deque<Long> sentAtNs = new ArrayDeque<>();

  private Future<?> schedule;
  private int sent;
  private int partBytes;

  /**
   * Makes a pinger that succeeds when {@code count} packets have been echoed.
   *
   * @param sizeBytes of each packet, at least 1
   */
  Pinger(int count, int periodMs, int sizeBytes) {
    this.count = count;
    this.periodMs = periodMs;
    this.sizeBytes = sizeBytes;
  }

  /** The round-trip times so far; for any thread. */
  LatencySamples samples() {
    return samples;
  }

  @Override
  public void channelActive(ChannelHandlerContext ctx) {
    schedule =
        ctx.executor().scheduleAtFixedRate(() -> ping(ctx), 0, periodMs, TimeUnit.MILLISECONDS);
    ctx.fireChannelActive();
  }

  private void ping(ChannelHandlerContext ctx) {
    sentAtNs.add(System.nanoTime());
    ctx.writeAndFlush(ctx.alloc().directBuffer(sizeBytes).writeZero(sizeBytes));
    if (++sent == count) {
      schedule.cancel(false);
    }
  }

  @Override
  public void channelRead(ChannelHandlerContext ctx, Object msg) {
    ByteBuf echo = (ByteBuf) msg;
    partBytes += echo.readableBytes();
    echo.release();
    long nowNs = System.nanoTime();
    for (; partBytes >= sizeBytes && !sentAtNs.isEmpty(); partBytes -= sizeBytes) {
      samples.add(nowNs - sentAtNs.remove());
    }
    if (samples.size() == count) {
      succeed();
    }
  }

  @Override
  public void handlerRemoved(ChannelHandlerContext ctx) {
    if (schedule != null) {
      schedule.cancel(false);
    }
  }
}
