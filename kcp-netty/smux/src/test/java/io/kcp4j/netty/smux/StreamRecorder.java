package io.kcp4j.netty.smux;

import static java.nio.charset.StandardCharsets.ISO_8859_1;

import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.socket.ChannelInputShutdownEvent;
import io.netty.channel.socket.ChannelInputShutdownReadComplete;
import java.util.ArrayList;
import java.util.List;

/** Records the events of a stream's channel. Used by one thread. */
class StreamRecorder extends ChannelInboundHandlerAdapter {

  /** Such as {@code active}, {@code read abc}, {@code read complete}. */
  final List<String> events = new ArrayList<>();

  final List<Throwable> exceptions = new ArrayList<>();

  private final StringBuilder received = new StringBuilder();

  /** A character for each byte. */
  String received() {
    return received.toString();
  }

  @Override
  public void channelActive(ChannelHandlerContext ctx) {
    events.add("active");
    ctx.fireChannelActive();
  }

  @Override
  public void channelRead(ChannelHandlerContext ctx, Object msg) {
    ByteBuf bytes = (ByteBuf) msg;
    String text = bytes.toString(ISO_8859_1);
    bytes.release();
    received.append(text);
    events.add("read " + text);
  }

  @Override
  public void channelReadComplete(ChannelHandlerContext ctx) {
    events.add("read complete");
    ctx.fireChannelReadComplete();
  }

  @Override
  public void channelWritabilityChanged(ChannelHandlerContext ctx) {
    events.add(ctx.channel().isWritable() ? "writable" : "not writable");
    ctx.fireChannelWritabilityChanged();
  }

  @Override
  public void userEventTriggered(ChannelHandlerContext ctx, Object event) {
    if (event == ChannelInputShutdownEvent.INSTANCE) {
      events.add("input shutdown");
    } else if (event == ChannelInputShutdownReadComplete.INSTANCE) {
      events.add("input shutdown read complete");
    }
    ctx.fireUserEventTriggered(event);
  }

  @Override
  public void channelInactive(ChannelHandlerContext ctx) {
    events.add("inactive");
    ctx.fireChannelInactive();
  }

  @Override
  public void exceptionCaught(ChannelHandlerContext ctx, Throwable cause) {
    exceptions.add(cause);
    events.add("exception");
  }
}
