package io.kcp4j.tunnel;

import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.socket.ChannelInputShutdownEvent;
import java.util.ArrayDeque;
import java.util.Queue;

/**
 * Keeps what a connection reads until its stream is open, when it is to be removed. Although {@code
 * autoRead} is off, Netty's epoll channels read once when the peer has ended its output.
 */
final class EarlyInput extends ChannelInboundHandlerAdapter {

  private final Queue<Object> input = new ArrayDeque<>(2);

  @Override
  public void channelRead(ChannelHandlerContext ctx, Object msg) {
    input.add(msg);
  }

  @Override
  public void userEventTriggered(ChannelHandlerContext ctx, Object event) {
    if (event == ChannelInputShutdownEvent.INSTANCE) {
      input.add(event);
    } else {
      ctx.fireUserEventTriggered(event);
    }
  }

  @Override
  public void handlerRemoved(ChannelHandlerContext ctx) {
    for (Object next; (next = input.poll()) != null; ) {
      if (next == ChannelInputShutdownEvent.INSTANCE) {
        ctx.fireUserEventTriggered(next);
      } else {
        ctx.fireChannelRead(next);
        ctx.fireChannelReadComplete();
      }
    }
  }
}
