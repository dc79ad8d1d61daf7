package io.kcp4j.examples;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.kcp4j.Delivery;
import io.kcp4j.lanes.LaneConfig;
import io.kcp4j.lanes.LaneKind;
import io.kcp4j.lanes.LanesConfig;
import io.kcp4j.netty.KcpChannel;
import io.kcp4j.netty.KcpChannelOption;
import io.kcp4j.netty.KcpServerChannel;
import io.kcp4j.netty.LaneChannel;
import io.kcp4j.netty.LaneChannelBootstrap;
import io.kcp4j.netty.LaneMessage;
import io.kcp4j.netty.LaneMultiplexHandler;
import io.netty.bootstrap.Bootstrap;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.SimpleChannelInboundHandler;
import io.netty.channel.nio.NioIoHandler;
import java.net.InetAddress;
import java.util.concurrent.CompletableFuture;

/** Lanes of one session: positions, of which only the newest counts, and a chat. */
public final class GameLanes {

  private static final int POSITIONS = 0;
  private static final int CHAT = 1;

  private static final LanesConfig LANES =
      LanesConfig.builder()
          .maxLanes(16)
          .lane(POSITIONS, LaneConfig.of(LaneKind.UNRELIABLE_SEQUENCED))
          .lane(CHAT, LaneConfig.of(LaneKind.RELIABLE_ORDERED).withPriority(5))
          .build();

  private final CompletableFuture<Integer> position = new CompletableFuture<>();
  private final CompletableFuture<String> line = new CompletableFuture<>();

  /** A server echoes what a client sends on two lanes. Both share this JVM. */
  public static void main(String[] args) throws Exception {
    new GameLanes().play();
  }

  private void play() throws Exception {
    EventLoopGroup group = new MultiThreadIoEventLoopGroup(NioIoHandler.newFactory());
    try {
      ServerBootstrap server = new ServerBootstrap().group(group).channel(KcpServerChannel.class);
      server.childOption(KcpChannelOption.DELIVERY, Delivery.LANES);
      server.childOption(KcpChannelOption.LANES, LANES).childHandler(new EchoLanes());
      DeadPeerDetection.apply(server);
      Channel listening = server.bind(InetAddress.getLoopbackAddress(), 0).sync().channel();
      Bootstrap client = new Bootstrap().group(group).channel(KcpChannel.class);
      client.option(KcpChannelOption.DELIVERY, Delivery.LANES);
      client.option(KcpChannelOption.LANES, LANES).handler(new Positions());
      DeadPeerDetection.apply(client);
      Channel session = client.connect(listening.localAddress()).sync().channel();
      ByteBuf ship = session.alloc().buffer(4).writeInt(42);
      session.writeAndFlush(new LaneMessage(POSITIONS, ship));

      var opening = new LaneChannelBootstrap((KcpChannel) session).handler(new Chat()).open(CHAT);
      LaneChannel chat = opening.sync().getNow();
      chat.writeAndFlush(ByteBufUtil.writeUtf8(chat.alloc(), "hello, lane"));
      System.out.println("the ship is at " + position.get() + "; " + line.get());
    } finally {
      group.shutdownGracefully().sync();
    }
  }

  /** The server: each lane of a session has a channel, which echoes. */
  private static final class EchoLanes extends ChannelInitializer<KcpChannel> {
    @Override
    protected void initChannel(KcpChannel session) {
      session.pipeline().addLast(new LaneMultiplexHandler(new EchoHandler()));
    }
  }

  /** The client's session reads lanes that have no channel. */
  private final class Positions extends SimpleChannelInboundHandler<LaneMessage> {
    @Override
    protected void channelRead0(ChannelHandlerContext ctx, LaneMessage message) {
      position.complete(message.content().readInt());
    }
  }

  /** The client's end of the chat. */
  private final class Chat extends SimpleChannelInboundHandler<ByteBuf> {
    @Override
    protected void channelRead0(ChannelHandlerContext ctx, ByteBuf message) {
      line.complete(message.toString(UTF_8));
    }
  }
}
