package io.kcp4j.load;

import io.kcp4j.netty.LaneMessage;
import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelHandlerContext;
import io.netty.handler.codec.FixedLengthFrameDecoder;
import java.util.BitSet;

/**
 * Measures how long the messages of an {@link EntityClient} take from the instant when they were
 * due: both processes are on one machine, whose clock they share. Expects each message once, and
 * those of an entity in order if that is promised.
 */
final class EntityServerHandler extends LoadHandler {

  private final GameTraffic traffic;
  private final KcpProtocol protocol;
  private final RoundTripHistogram delays;
  private final BitSet[] arrived;

  EntityServerHandler(GameTraffic traffic, KcpProtocol protocol, RoundTripHistogram delays) {
    this.traffic = traffic;
    this.protocol = protocol;
    this.delays = delays;
    arrived = new BitSet[traffic.entities()];
    for (int entity = 0; entity < arrived.length; entity++) {
      arrived[entity] = new BitSet();
    }
  }

  @Override
  public void handlerAdded(ChannelHandlerContext ctx) {
    if (!protocol.hasLanes()) {
      int bytes = EntityClient.streamBytes(traffic);
      ctx.pipeline().addBefore(ctx.name(), null, new FixedLengthFrameDecoder(bytes));
    }
  }

  @Override
  public void channelRead(ChannelHandlerContext ctx, Object msg) {
    if (msg instanceof LaneMessage message) {
      received(message.lane(), message.content());
      message.release();
    } else {
      ByteBuf frame = (ByteBuf) msg;
      frame.skipBytes(Short.BYTES);
      received(frame.readUnsignedShort(), frame);
      frame.release();
    }
  }

  private void received(int entity, ByteBuf message) {
    long delayNs = System.nanoTime() - message.readLong();
    int tick = message.readInt();
    BitSet ticks = arrived[entity];
    boolean isExpected = protocol.isOrdered() ? tick == ticks.length() : !ticks.get(tick);
    if (!isExpected) {
      throw new IllegalStateException(
          "entity " + entity + ": tick " + tick + " behind " + (ticks.length() - 1));
    }
    ticks.set(tick);
    delays.add(delayNs);
  }
}
