package io.kcp4j.load;

import io.netty.channel.ChannelDuplexHandler;
import io.netty.channel.ChannelHandlerContext;

/**
 * A handler that prints exceptions on standard error, to explain a measurement without progress.
 */
abstract class LoadHandler extends ChannelDuplexHandler {

  @Override
  public final void exceptionCaught(ChannelHandlerContext ctx, Throwable cause) {
    // Pending writes of a closed channel fail, too, without new information.
    if (ctx.channel().isActive()) {
      System.err.println(ctx.channel() + ": " + cause);
      ctx.close();
    }
  }
}
