package io.kcp4j.load;

import io.kcp4j.netty.LaneChannel;
import io.kcp4j.netty.LaneMultiplexHandler;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.ChannelHandler;
import io.netty.channel.ChannelInitializer;
import picocli.CommandLine.Option;

/** The server of a game, which may have what attacks ask for. */
final class GameServer {

  @Option(
      names = "--answer-bytes",
      paramLabel = "BYTES",
      description = "Answer data that begins with a byte 0xff by so many bytes, not by an echo.")
  private int answerBytes;

  @Option(names = "--lane-channels", description = "Make a channel of each lane.")
  private boolean hasLaneChannels;

  ChannelHandler handler() {
    ByteBuf answer = Unpooled.directBuffer(answerBytes).writeZero(answerBytes);
    GameServerHandler handler = new GameServerHandler(answer);
    return hasLaneChannels ? new LaneMultiplexHandler(ofLanes(handler)) : handler;
  }

  private static ChannelHandler ofLanes(ChannelHandler handler) {
    return new ChannelInitializer<LaneChannel>() {
      @Override
      protected void initChannel(LaneChannel lane) {
        lane.pipeline().addLast(handler);
      }
    };
  }
}
