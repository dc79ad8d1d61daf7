package io.kcp4j.examples;

import io.kcp4j.command.CommandFailure;
import io.kcp4j.netty.LaneMessage;
import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelHandlerContext;
import java.io.IOException;
import java.util.Arrays;
import java.util.EnumMap;
import java.util.Map;

/**
 * The player's side of a shooter's session: asks the server to begin, and checks what it sends.
 * Succeeds when all reliable messages and the level have arrived.
 */
final class ShooterPlayer extends SessionHandler {

  private final ShooterTraffic traffic;
  private final Map<ShooterLane, LaneCheck> checks = new EnumMap<>(ShooterLane.class);
  private final GeneratedBytes level;
  private int levelBytes;
  private long levelBeganAtNs;
  private long levelEndedAtNs;

  ShooterPlayer(ShooterTraffic traffic) {
    this.traffic = traffic;
    level = traffic.level();
    for (ShooterLane lane : ShooterLane.values()) {
      checks.put(lane, new LaneCheck(lane, traffic.messages(lane), traffic.unmeasured(lane)));
    }
  }

  /** What has arrived on a lane; complete when the handler is done. */
  LaneCheck check(ShooterLane lane) {
    return checks.get(lane);
  }

  /** How long it took from the first to the last part of the level, in seconds. */
  double levelSeconds() {
    return (levelEndedAtNs - levelBeganAtNs) / 1e9;
  }

  @Override
  public void channelActive(ChannelHandlerContext ctx) {
    ByteBuf request = ctx.alloc().buffer(1).writeByte(1);
    ctx.writeAndFlush(new LaneMessage(ShooterLane.EVENTS.id(), request));
    ctx.fireChannelActive();
  }

  @Override
  public void channelRead(ChannelHandlerContext ctx, Object msg) {
    LaneMessage message = (LaneMessage) msg;
    try {
      ShooterLane lane = ShooterLane.of(message.lane());
      if (lane == ShooterLane.LEVEL) {
        receiveLevel(message.content());
      } else {
        checks.get(lane).receive(message.content(), System.nanoTime());
      }
      succeedIfComplete();
    } catch (CommandFailure | IOException e) {
      fail(ctx, e);
    } finally {
      message.release();
    }
  }

  private void receiveLevel(ByteBuf part) throws CommandFailure, IOException {
    if (levelBytes == 0) {
      levelBeganAtNs = System.nanoTime();
    }
    byte[] expected = level.readNBytes(part.readableBytes());
    byte[] received = new byte[part.readableBytes()];
    part.getBytes(part.readerIndex(), received);
    if (!Arrays.equals(expected, received)) {
      throw new CommandFailure("the level was altered after " + levelBytes + " bytes");
    }
    levelBytes += received.length;
    levelEndedAtNs = System.nanoTime();
  }

  private void succeedIfComplete() {
    if (levelBytes == traffic.levelBytes()
        && checks.values().stream().allMatch(LaneCheck::isComplete)) {
      succeed();
    }
  }
}
