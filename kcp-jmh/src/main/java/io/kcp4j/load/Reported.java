package io.kcp4j.load;

import io.netty.channel.ChannelDuplexHandler;
import io.netty.channel.ChannelHandlerContext;

/**
 * A handler that says on standard error what went wrong: whoever measures finds no bytes moving.
 */
abstract class Reported extends ChannelDuplexHandler {

  @Override
  public final void exceptionCaught(ChannelHandlerContext ctx, Throwable cause) {
    // What a closed channel has left to write fails, too, and says nothing new.
    if (ctx.channel().isActive()) {
      System.err.println(ctx.channel() + ": " + cause);
      ctx.close();
    }
  }
}
