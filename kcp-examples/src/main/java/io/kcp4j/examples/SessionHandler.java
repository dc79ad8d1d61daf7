package io.kcp4j.examples;

import io.netty.channel.ChannelDuplexHandler;
import io.netty.channel.ChannelHandlerContext;
import io.netty.util.concurrent.Future;
import io.netty.util.concurrent.ImmediateEventExecutor;
import io.netty.util.concurrent.Promise;

/** A handler with an end: it succeeds, or its session fails first. */
abstract class SessionHandler extends ChannelDuplexHandler {

  private final Promise<Void> done = ImmediateEventExecutor.INSTANCE.newPromise();

  /** Succeeds when the handler has done its work, fails with what went wrong. */
  final Future<Void> done() {
    return done;
  }

  final void succeed() {
    done.trySuccess(null);
  }

  /** Ends the session as failed. */
  final void fail(ChannelHandlerContext ctx, Throwable cause) {
    done.tryFailure(cause);
    ctx.close();
  }

  @Override
  public void exceptionCaught(ChannelHandlerContext ctx, Throwable cause) {
    fail(ctx, cause);
  }

  @Override
  public void channelInactive(ChannelHandlerContext ctx) {
    done.tryFailure(new CommandFailure("the session was closed before its end"));
    ctx.fireChannelInactive();
  }
}
