package io.kcp4j.examples;

import io.kcp4j.netty.KcpChannel;
import io.kcp4j.netty.KcpServerChannel;
import io.netty.bootstrap.Bootstrap;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.SimpleChannelInboundHandler;
import io.netty.channel.nio.NioIoHandler;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.nio.charset.StandardCharsets;

/** A minimal server and a minimal client. */
public final class Quickstart {

  private Quickstart() {}

  /** Sends a greeting to an echo server. Server and client share this JVM. */
  public static void main(String[] args) throws InterruptedException {
    EventLoopGroup group = new MultiThreadIoEventLoopGroup(NioIoHandler.newFactory());
    try {
      Channel server = server(group, new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
      client(group, server.localAddress()).closeFuture().sync();
    } finally {
      group.shutdownGracefully().sync();
    }
  }

  static Channel server(EventLoopGroup group, SocketAddress local) throws InterruptedException {
    ServerBootstrap server = new ServerBootstrap();
    server.group(group).channel(KcpServerChannel.class);
    server.childHandler(
        new ChannelInitializer<KcpChannel>() {
          @Override
          protected void initChannel(KcpChannel session) {
            session.pipeline().addLast(new Echo());
          }
        });
    return server.bind(local).sync().channel();
  }

  static Channel client(EventLoopGroup group, SocketAddress server) throws InterruptedException {
    Bootstrap client = new Bootstrap();
    client.group(group).channel(KcpChannel.class).handler(new Printer());
    Channel session = client.connect(server).sync().channel();
    session.writeAndFlush(Unpooled.copiedBuffer("hello, KCP", StandardCharsets.UTF_8));
    return session;
  }

  /** Echoes what it receives, and reads only while the peer takes that. */
  static final class Echo extends ChannelInboundHandlerAdapter {
    @Override
    public void channelRead(ChannelHandlerContext ctx, Object msg) {
      ctx.writeAndFlush(msg);
    }

    @Override
    public void channelWritabilityChanged(ChannelHandlerContext ctx) {
      ctx.channel().config().setAutoRead(ctx.channel().isWritable());
    }
  }

  /** Prints the first message that it receives, and closes. */
  private static final class Printer extends SimpleChannelInboundHandler<ByteBuf> {
    @Override
    protected void channelRead0(ChannelHandlerContext ctx, ByteBuf msg) {
      System.out.println(msg.toString(StandardCharsets.UTF_8));
      ctx.close();
    }
  }
}
