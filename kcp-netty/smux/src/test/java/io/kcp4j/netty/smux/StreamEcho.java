package io.kcp4j.netty.smux;

import io.netty.channel.ChannelHandler.Sharable;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.ChannelOption;
import io.netty.channel.socket.ChannelInputShutdownEvent;
import io.netty.channel.socket.DuplexChannel;

/**
 * Sends back what a stream receives, reads no more while it cannot send, and answers the end of the
 * input by the end of the output.
 */
@Sharable
public final class StreamEcho extends ChannelInboundHandlerAdapter {

  /** A handler that serves the streams of a peer. */
  public static ChannelInitializer<SmuxStreamChannel> initializer() {
    StreamEcho echo = new StreamEcho();
    return new ChannelInitializer<>() {
      @Override
      protected void initChannel(SmuxStreamChannel stream) {
        stream.config().setOption(ChannelOption.ALLOW_HALF_CLOSURE, true);
        stream.pipeline().addLast(echo);
      }
    };
  }

  @Override
  public void channelRead(ChannelHandlerContext ctx, Object msg) {
    ctx.write(msg);
  }

  @Override
  public void channelReadComplete(ChannelHandlerContext ctx) {
    ctx.flush();
  }

  @Override
  public void channelWritabilityChanged(ChannelHandlerContext ctx) {
    ctx.channel().config().setAutoRead(ctx.channel().isWritable());
  }

  @Override
  public void userEventTriggered(ChannelHandlerContext ctx, Object event) {
    if (event == ChannelInputShutdownEvent.INSTANCE) {
      ((DuplexChannel) ctx.channel()).shutdownOutput();
    }
  }

  @Override
  public void exceptionCaught(ChannelHandlerContext ctx, Throwable cause) {
    ctx.close();
  }
}
