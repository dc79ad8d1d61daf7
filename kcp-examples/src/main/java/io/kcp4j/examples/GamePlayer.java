package io.kcp4j.examples;

import io.netty.buffer.ByteBuf;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.util.concurrent.Future;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.SplittableRandom;
import java.util.concurrent.TimeUnit;

/**
 * Sends a game's messages to an echo server and measures the round-trip time of each, from its tick
 * on. The handler before it has to split the stream into messages, and the one after it is an
 * {@link EchoCheck}.
 */
final class GamePlayer extends ChannelInboundHandlerAdapter {

  private final GameTraffic traffic;
  private final SplittableRandom content;
  private final EchoCheck check;
  private final LatencySamples samples;

  /** The tick of each message that is not echoed yet, in nanoseconds, oldest first. */
  private final Deque<Long> sentAtNs = new ArrayDeque<>();

  private Channel channel;
  private Future<?> schedule;
  private int tick;
  private long echoed;

  /**
   * Makes a player.
   *
   * @param content what the messages contain
   * @param check told when the last message is written
   * @param samples where the round-trip times of the measured messages are added
   */
  GamePlayer(
      GameTraffic traffic, SplittableRandom content, EchoCheck check, LatencySamples samples) {
    this.traffic = traffic;
    this.content = content;
    this.check = check;
    this.samples = samples;
  }

  @Override
  public void handlerAdded(ChannelHandlerContext ctx) {
    channel = ctx.channel();
  }

  /** The channel of its session. */
  Channel channel() {
    return channel;
  }

  /** Begins with the first tick after that delay. Event loop only. */
  void begin(long delayNs) {
    schedule =
        channel
            .eventLoop()
            .scheduleAtFixedRate(this::tick, delayNs, GameTraffic.TICK_NS, TimeUnit.NANOSECONDS);
  }

  /** Writes through the whole pipeline, so that the check sees the messages. */
  private void tick() {
    long nowNs = System.nanoTime();
    for (int i = 0; i < GameTraffic.ENTITIES; i++) {
      sentAtNs.add(nowNs);
      channel.write(message());
    }
    channel.flush();
    if (++tick == traffic.ticks()) {
      schedule.cancel(false);
      check.allWritten();
    }
  }

  private ByteBuf message() {
    byte[] bytes = new byte[GameTraffic.MESSAGE_BYTES];
    content.nextBytes(bytes);
    return channel.alloc().directBuffer(bytes.length).writeBytes(bytes);
  }

  @Override
  public void channelRead(ChannelHandlerContext ctx, Object msg) {
    Long tickNs = sentAtNs.poll();
    if (tickNs != null && echoed++ >= traffic.unmeasuredMessages()) {
      samples.add(System.nanoTime() - tickNs);
    }
    ctx.fireChannelRead(msg);
  }

  @Override
  public void handlerRemoved(ChannelHandlerContext ctx) {
    if (schedule != null) {
      schedule.cancel(false);
    }
  }
}
