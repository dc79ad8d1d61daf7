package io.kcp4j.netty;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.SimpleChannelInboundHandler;
import java.io.ByteArrayOutputStream;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;

/** Records the reads and events of a channel. */
public final class Recorder extends SimpleChannelInboundHandler<ByteBuf> {

  final List<Throwable> exceptions = new CopyOnWriteArrayList<>();
  final List<String> events = new CopyOnWriteArrayList<>();
  final List<KcpChannelEvent> livenessEvents = new CopyOnWriteArrayList<>();
  final AtomicInteger writabilityChanges = new AtomicInteger();

  private final List<byte[]> reads = new ArrayList<>();
  private int received;

  @Override
  protected synchronized void channelRead0(ChannelHandlerContext ctx, ByteBuf msg) {
    reads.add(ByteBufUtil.getBytes(msg));
    received += msg.readableBytes();
  }

  public synchronized int received() {
    return received;
  }

  synchronized byte[] bytes() {
    ByteArrayOutputStream all = new ByteArrayOutputStream();
    reads.forEach(all::writeBytes);
    return all.toByteArray();
  }

  synchronized List<byte[]> reads() {
    return List.copyOf(reads);
  }

  @Override
  public void channelActive(ChannelHandlerContext ctx) {
    events.add("active");
    ctx.fireChannelActive();
  }

  @Override
  public void channelInactive(ChannelHandlerContext ctx) {
    events.add("inactive");
    ctx.fireChannelInactive();
  }

  @Override
  public void channelWritabilityChanged(ChannelHandlerContext ctx) {
    writabilityChanges.incrementAndGet();
    ctx.fireChannelWritabilityChanged();
  }

  @Override
  public void userEventTriggered(ChannelHandlerContext ctx, Object event) {
    if (event instanceof KcpChannelEvent liveness) {
      livenessEvents.add(liveness);
    }
    ctx.fireUserEventTriggered(event);
  }

  @Override
  public void exceptionCaught(ChannelHandlerContext ctx, Throwable cause) {
    exceptions.add(cause);
    events.add("exception");
  }
}
