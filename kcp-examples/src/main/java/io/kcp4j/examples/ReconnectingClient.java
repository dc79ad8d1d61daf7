package io.kcp4j.examples;

import io.kcp4j.netty.KcpChannel;
import io.kcp4j.netty.KcpChannelEvent;
import io.kcp4j.netty.KcpServerChannel;
import io.netty.bootstrap.Bootstrap;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.buffer.ByteBuf;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandler.Sharable;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.SimpleChannelInboundHandler;
import io.netty.channel.nio.NioIoHandler;
import java.net.InetAddress;
import java.net.SocketAddress;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;

/**
 * A client that counts with the help of a server, and connects again when its session ends. A
 * session that has ended may have lost messages, so the client repeats its last request. The server
 * ends each session after three requests.
 */
public final class ReconnectingClient {

  private static final int LAST = 7;
  private static final int FIRST_DELAY_MS = 50;
  private static final int MAX_DELAY_MS = 10_000;

  private final EventLoopGroup group =
      new MultiThreadIoEventLoopGroup(1, NioIoHandler.newFactory());

  private SocketAddress address;
  private int count;
  private int delayMs = FIRST_DELAY_MS;

  /** Counts to seven. Server and client share this JVM. */
  public static void main(String[] args) throws InterruptedException {
    new ReconnectingClient().run();
  }

  private void run() throws InterruptedException {
    ServerBootstrap server = new ServerBootstrap().group(group).channel(KcpServerChannel.class);
    server.childHandler(new Counter());
    Channel listening = server.bind(InetAddress.getLoopbackAddress(), 0).sync().channel();
    address = listening.localAddress();
    group.execute(this::connect);
    group.terminationFuture().sync();
  }

  private void connect() {
    Bootstrap client = new Bootstrap().group(group).channel(KcpChannel.class).handler(new Client());
    client.connect(address).channel().closeFuture().addListener(closed -> connectAgain());
  }

  /** Waits twice as long each time; chance keeps many clients from returning at once. */
  private void connectAgain() {
    if (count < LAST) {
      System.out.println("again");
      int waitMs = delayMs / 2 + ThreadLocalRandom.current().nextInt(delayMs / 2);
      group.schedule(this::connect, waitMs, TimeUnit.MILLISECONDS);
      delayMs = Math.min(2 * delayMs, MAX_DELAY_MS);
    }
  }

  /** Adds one to each number, and closes after the third. */
  @Sharable
  private static final class Counter extends SimpleChannelInboundHandler<ByteBuf> {
    @Override
    protected void channelRead0(ChannelHandlerContext ctx, ByteBuf request) {
      int number = request.readInt() + 1;
      ctx.writeAndFlush(ctx.alloc().buffer(4).writeInt(number));
      if (number % 3 == 0) {
        ctx.close();
      }
    }
  }

  private final class Client extends SimpleChannelInboundHandler<ByteBuf> {
    @Override
    public void channelActive(ChannelHandlerContext ctx) {
      request(ctx);
    }

    private void request(ChannelHandlerContext ctx) {
      ctx.writeAndFlush(ctx.alloc().buffer(4).writeInt(count));
    }

    @Override
    public void userEventTriggered(ChannelHandlerContext ctx, Object event) {
      if (event == KcpChannelEvent.ESTABLISHED) {
        delayMs = FIRST_DELAY_MS;
      }
    }

    @Override
    protected void channelRead0(ChannelHandlerContext ctx, ByteBuf response) {
      count = response.readInt();
      System.out.println(count);
      if (count < LAST) {
        request(ctx);
      } else {
        group.shutdownGracefully();
      }
    }

    @Override
    public void exceptionCaught(ChannelHandlerContext ctx, Throwable cause) {
      System.out.println(cause.getMessage());
    }
  }
}
