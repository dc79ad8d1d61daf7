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

  private int count;
  private final int periodMs;
  private final int sizeBytes;
  private final RttSamples samples = new RttSamples();

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
  RttSamples samples() {
    return samples;
  }

  @Override
  public void channelActive(ChannelHandlerContext ctx) {
    schedule =
        ctx.executor().scheduleAtFixedRate(() -> ping(ctx), 0, periodMs, TimeUnit.MILLISECONDS);
    ctx.fireChannelActive();
  }

  /** Ends with the packets sent so far, or with the first {@code min} of them. Event loop only. */
  void endAfter(int min) {
    count = Math.max(sent, min);
    stopWhenSent();
    succeedWhenAnswered();
  }

  private void ping(ChannelHandlerContext ctx) {
    sentAtNs.add(System.nanoTime());
    sent++;
    ctx.writeAndFlush(ctx.alloc().directBuffer(sizeBytes).writeZero(sizeBytes));
    stopWhenSent();
  }

  private void stopWhenSent() {
    if (sent == count) {
      schedule.cancel(false);
    }
  }

  private void succeedWhenAnswered() {
    if (samples.size() == count) {
      succeed();
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
    succeedWhenAnswered();
  }

  @Override
  public void handlerRemoved(ChannelHandlerContext ctx) {
    if (schedule != null) {
      schedule.cancel(false);
    }
  }
}
