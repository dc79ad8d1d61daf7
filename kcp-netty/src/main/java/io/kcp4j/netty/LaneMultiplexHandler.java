package io.kcp4j.netty;

import io.kcp4j.internal.lanes.Lane;
import io.netty.channel.ChannelHandler;
import io.netty.channel.ChannelHandlerAdapter;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import java.util.Objects;

/**
 * Makes a {@link LaneChannel} of each lane on which the peer begins to send, in the pipeline of a
 * {@link KcpChannel} whose {@link KcpChannelOption#DELIVERY} is {@code LANES}. Lanes that were
 * begun by {@link LaneChannelBootstrap} have their channels already. Without this handler, the
 * session's pipeline reads {@link LaneMessage}s. If it is added later, lanes that are in use become
 * channels when something arrives on them next.
 */
public final class LaneMultiplexHandler extends ChannelInboundHandlerAdapter {

  private final ChannelHandler laneHandler;

  /**
   * Makes a handler.
   *
   * @param laneHandler what is added to the pipeline of each lane's channel: sharable, such as a
   *     {@link io.netty.channel.ChannelInitializer}
   * @throws IllegalArgumentException if it is not sharable
   */
  public LaneMultiplexHandler(ChannelHandler laneHandler) {
    this.laneHandler = Objects.requireNonNull(laneHandler, "laneHandler");
    if (laneHandler instanceof ChannelHandlerAdapter adapter && !adapter.isSharable()) {
      throw new IllegalArgumentException(
          "laneHandler: " + laneHandler + " (expected: one that is sharable)");
    }
  }

  @Override
  public void handlerAdded(ChannelHandlerContext ctx) {
    if (ctx.channel().isActive()) {
      begin((KcpChannel) ctx.channel());
    }
  }

  @Override
  public void channelActive(ChannelHandlerContext ctx) {
    begin((KcpChannel) ctx.channel());
    ctx.fireChannelActive();
  }

  @Override
  public void handlerRemoved(ChannelHandlerContext ctx) {
    KcpLanes lanes = ((KcpChannel) ctx.channel()).lanes();
    if (lanes != null) {
      lanes.multiplexer(null);
    }
  }

  private void begin(KcpChannel session) {
    KcpLanes.of(session).multiplexer(this);
  }

  /** Makes the channel of a lane; returns null if a handler has closed it at once. */
  LaneChannel accept(KcpChannel session, Lane lane) {
    LaneChannel channel = new LaneChannel(session, lane);
    channel.pipeline().addLast(laneHandler);
    session.eventLoop().register(channel);
    return channel.isActive() ? channel : null;
  }
}
