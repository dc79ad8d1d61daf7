package io.kcp4j.load;

import io.kcp4j.netty.LaneMessage;
import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelHandlerContext;

/**
 * Sends a message for each entity in each tick, one way: on a lane of its own, or all on one
 * stream. A message begins with the instant when it was due and its tick.
 */
final class EntityClient extends LoadHandler {

  /** What a message on a stream needs to tell its length and its entity, in bytes. */
  static final int STREAM_HEADER_BYTES = 2 * Short.BYTES;

  private final GameTraffic traffic;
  private final boolean hasLanes;
  private PeriodicTask ticks;
  private int tick;

  EntityClient(GameTraffic traffic, boolean hasLanes) {
    this.traffic = traffic;
    this.hasLanes = hasLanes;
  }

  @Override
  public void channelActive(ChannelHandlerContext ctx) {
    ticks = new PeriodicTask(ctx.executor(), System::nanoTime, traffic.periodNs(), () -> tick(ctx));
  }

  private void tick(ChannelHandlerContext ctx) {
    long dueNs = System.nanoTime() - ticks.sinceDueNs(tick);
    if (hasLanes) {
      for (int entity = 0; entity < traffic.entities(); entity++) {
        ByteBuf message = ctx.alloc().directBuffer(traffic.messageBytes());
        ctx.write(new LaneMessage(entity, write(message, dueNs)), ctx.voidPromise());
      }
    } else {
      ByteBuf messages = ctx.alloc().directBuffer(traffic.entities() * streamBytes(traffic));
      for (int entity = 0; entity < traffic.entities(); entity++) {
        write(messages.writeShort(traffic.messageBytes()).writeShort(entity), dueNs);
      }
      ctx.write(messages, ctx.voidPromise());
    }
    ctx.flush();
    tick++;
  }

  /** What a message takes on a stream. */
  static int streamBytes(GameTraffic traffic) {
    return STREAM_HEADER_BYTES + traffic.messageBytes();
  }

  private ByteBuf write(ByteBuf out, long dueNs) {
    int rest = traffic.messageBytes() - Long.BYTES - Integer.BYTES;
    return out.writeLong(dueNs).writeInt(tick).writeZero(rest);
  }

  @Override
  public void handlerRemoved(ChannelHandlerContext ctx) {
    if (ticks != null) {
      ticks.cancel();
    }
  }
}
