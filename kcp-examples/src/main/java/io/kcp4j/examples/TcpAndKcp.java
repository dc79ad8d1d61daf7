package io.kcp4j.examples;

import io.kcp4j.netty.KcpChannel;
import io.kcp4j.netty.KcpServerChannel;
import io.netty.bootstrap.Bootstrap;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandler;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.ChannelOption;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.ServerChannel;
import io.netty.channel.SimpleChannelInboundHandler;
import io.netty.channel.nio.NioIoHandler;
import io.netty.channel.socket.nio.NioServerSocketChannel;
import io.netty.channel.socket.nio.NioSocketChannel;
import io.netty.handler.codec.LineBasedFrameDecoder;
import io.netty.handler.codec.string.StringDecoder;
import io.netty.handler.codec.string.StringEncoder;
import java.net.InetAddress;
import java.net.SocketAddress;
import java.util.function.BiConsumer;

/**
 * One service over TCP and KCP, as for clients whose network lets no UDP pass: the bootstraps
 * differ in the type of channel only, and share a {@code ChannelInitializer} and options of TCP.
 */
public final class TcpAndKcp {

  private TcpAndKcp() {}

  /** Sends a greeting over each of both. Servers and clients share this JVM. */
  public static void main(String[] args) throws InterruptedException {
    EventLoopGroup group = new MultiThreadIoEventLoopGroup(NioIoHandler.newFactory());
    try {
      var service = lines((session, line) -> session.writeAndFlush(line + ", too\n"));
      Channel tcp = serve(group, NioServerSocketChannel.class, service);
      Channel kcp = serve(group, KcpServerChannel.class, service);
      call(group, NioSocketChannel.class, tcp.localAddress(), "hello, TCP");
      call(group, KcpChannel.class, kcp.localAddress(), "hello, KCP");
    } finally {
      group.shutdownGracefully().sync();
    }
  }

  private static Channel serve(
      EventLoopGroup group, Class<? extends ServerChannel> type, ChannelHandler service)
      throws InterruptedException {
    return new ServerBootstrap()
        .group(group)
        .channel(type)
        .option(ChannelOption.SO_BACKLOG, 128)
        .childOption(ChannelOption.TCP_NODELAY, true)
        .childHandler(service)
        .bind(InetAddress.getLoopbackAddress(), 0)
        .sync()
        .channel();
  }

  private static void call(
      EventLoopGroup group, Class<? extends Channel> type, SocketAddress server, String greeting)
      throws InterruptedException {
    var client =
        lines(
            (session, line) -> {
              System.out.println(line);
              session.close();
            });
    Channel session =
        new Bootstrap().group(group).channel(type).handler(client).connect(server).sync().channel();
    session.writeAndFlush(greeting + "\n");
    session.closeFuture().sync();
  }

  /** Passes each line to a consumer, and reads only while the session is writable. */
  static ChannelInitializer<Channel> lines(BiConsumer<Channel, String> onLine) {
    return new ChannelInitializer<>() {
      @Override
      protected void initChannel(Channel session) {
        var pipeline = session.pipeline();
        pipeline.addLast(new LineBasedFrameDecoder(256), new StringDecoder(), new StringEncoder());
        pipeline.addLast(
            new SimpleChannelInboundHandler<String>() {
              @Override
              protected void channelRead0(ChannelHandlerContext ctx, String line) {
                onLine.accept(session, line);
              }

              @Override
              public void channelWritabilityChanged(ChannelHandlerContext ctx) {
                session.config().setAutoRead(session.isWritable());
              }
            });
      }
    };
  }
}
