package io.kcp4j.examples.tunnel;

import io.kcp4j.examples.CommandFailure;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;

/** The last handler of a session: logs why the session fails, closes it, and logs its end. */
final class SessionEnd extends ChannelInboundHandlerAdapter {

  private final TunnelLog log;

  SessionEnd(TunnelLog log) {
    this.log = log;
  }

  @Override
  public void exceptionCaught(ChannelHandlerContext ctx, Throwable cause) {
    log.line("session failed: %s: %s", ctx.channel(), CommandFailure.describe(cause));
    ctx.close();
  }

  @Override
  public void channelInactive(ChannelHandlerContext ctx) {
    log.line("session ended: %s", ctx.channel());
  }
}
