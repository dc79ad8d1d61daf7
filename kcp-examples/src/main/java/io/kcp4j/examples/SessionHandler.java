package io.kcp4j.examples;

import io.kcp4j.command.CommandFailure;
import io.netty.channel.ChannelDuplexHandler;
import io.netty.channel.ChannelHandlerContext;
import io.netty.util.concurrent.Future;
import io.netty.util.concurrent.ImmediateEventExecutor;
import io.netty.util.concurrent.Promise;

/** A handler that completes: it succeeds, or fails with its session. */
abstract class SessionHandler extends ChannelDuplexHandler {

  private final Promise<Void> done = ImmediateEventExecutor.INSTANCE.newPromise();

  /** Succeeds when the handler has completed its work, and fails with its failure. */
  final Future<Void> done() {
    return done;
  }

  final void succeed() {
    done.trySuccess(null);
  }

  /** Fails the handler and closes the session. */
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
    done.tryFailure(new CommandFailure("the session was closed early"));
    ctx.fireChannelInactive();
  }
}
