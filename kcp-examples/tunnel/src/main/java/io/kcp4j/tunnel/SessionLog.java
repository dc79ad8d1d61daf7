package io.kcp4j.tunnel;

import io.kcp4j.command.CommandFailure;
import io.kcp4j.netty.KcpChannelEvent;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;

/**
 * The last handler of a session: logs its beginning and its end, and closes it if it fails. Of a
 * server's sessions only those are logged whose peer has answered, because packets from forged
 * addresses must not fill the log.
 */
final class SessionLog extends ChannelInboundHandlerAdapter {

  private final TunnelLog log;

  private boolean isLogged;

  /**
   * Makes a handler.
   *
   * @param isClient whether this side has begun the session, and has logged that
   */
  SessionLog(TunnelLog log, boolean isClient) {
    this.log = log;
    isLogged = isClient;
  }

  @Override
  public void userEventTriggered(ChannelHandlerContext ctx, Object event) {
    if (event == KcpChannelEvent.ESTABLISHED && !isLogged) {
      isLogged = true;
      log.detailOrLimited(TunnelLog.Kind.SESSION_BEGUN, "session: %s", ctx.channel());
    }
  }

  @Override
  public void exceptionCaught(ChannelHandlerContext ctx, Throwable cause) {
    if (isLogged) {
      log.limited(
          TunnelLog.Kind.SESSION_FAILED,
          "session failed: %s: %s",
          ctx.channel(),
          CommandFailure.describe(cause));
    }
    ctx.close();
  }

  @Override
  public void channelInactive(ChannelHandlerContext ctx) {
    if (isLogged) {
      log.detailOrLimited(TunnelLog.Kind.SESSION_ENDED, "session ended: %s", ctx.channel());
    }
  }
}
