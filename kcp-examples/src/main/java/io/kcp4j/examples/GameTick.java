package io.kcp4j.examples;

import io.kcp4j.Delivery;
import io.kcp4j.netty.KcpChannel;
import io.kcp4j.netty.KcpChannelOption;
import io.kcp4j.netty.KcpServerChannel;
import io.netty.bootstrap.Bootstrap;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandler.Sharable;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.SimpleChannelInboundHandler;
import io.netty.channel.group.ChannelGroup;
import io.netty.channel.group.DefaultChannelGroup;
import io.netty.channel.nio.NioIoHandler;
import java.net.InetAddress;
import java.util.concurrent.TimeUnit;

/**
 * A game of one ball that every player may push. The server ticks 20 times a second and sends the
 * position of the ball to all players. In message mode each write is one message, without framing.
 */
public final class GameTick {

  private static final int LAST_TICK = 20;

  /** One event loop runs the whole game: its state needs no locks. */
  private final EventLoopGroup group =
      new MultiThreadIoEventLoopGroup(1, NioIoHandler.newFactory());

  private final ChannelGroup players = new DefaultChannelGroup(group.next());
  private int tick;
  private int ball;

  /** Plays for one second with one player. Server and client share this JVM. */
  public static void main(String[] args) throws InterruptedException {
    new GameTick().play();
  }

  private void play() throws InterruptedException {
    try {
      ServerBootstrap server = new ServerBootstrap().group(group).channel(KcpServerChannel.class);
      server.childOption(KcpChannelOption.DELIVERY, Delivery.MESSAGE).childHandler(new Pushes());
      DeadPeerDetection.apply(server);
      Channel listening = server.bind(InetAddress.getLoopbackAddress(), 0).sync().channel();
      group.scheduleAtFixedRate(this::tick, 50, 50, TimeUnit.MILLISECONDS);

      Bootstrap client = new Bootstrap().group(group).channel(KcpChannel.class);
      client.option(KcpChannelOption.DELIVERY, Delivery.MESSAGE).handler(new Player());
      DeadPeerDetection.apply(client);
      client.connect(listening.localAddress()).sync().channel().closeFuture().sync();
    } finally {
      group.shutdownGracefully().sync();
    }
  }

  private void tick() {
    players.writeAndFlush(Unpooled.buffer().writeInt(++tick).writeInt(ball));
  }

  /** The handler of each player on the server: each message pushes the ball. */
  @Sharable
  private final class Pushes extends SimpleChannelInboundHandler<ByteBuf> {
    @Override
    public void channelActive(ChannelHandlerContext ctx) {
      players.add(ctx.channel());
    }

    @Override
    protected void channelRead0(ChannelHandlerContext ctx, ByteBuf push) {
      ball += push.readInt();
    }
  }

  /** Pushes the ball once to join the game, and again after each position that it receives. */
  private static final class Player extends SimpleChannelInboundHandler<ByteBuf> {
    @Override
    public void channelActive(ChannelHandlerContext ctx) {
      push(ctx);
    }

    @Override
    protected void channelRead0(ChannelHandlerContext ctx, ByteBuf state) {
      int tick = state.readInt();
      System.out.println("tick " + tick + ": the ball is at " + state.readInt());
      if (tick < LAST_TICK) {
        push(ctx);
      } else {
        ctx.close();
      }
    }

    private static void push(ChannelHandlerContext ctx) {
      ctx.writeAndFlush(ctx.alloc().buffer(4).writeInt(1));
    }
  }
}
