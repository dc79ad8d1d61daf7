package io.kcp4j.netty.smux.testsuite;

import io.netty.bootstrap.Bootstrap;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelFutureListener;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.ChannelOption;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.socket.nio.NioServerSocketChannel;
import io.netty.channel.socket.nio.NioSocketChannel;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.SocketAddress;

/**
 * A client of TCP whose bytes a relay carries in a stream: some of Netty's tests take a channel
 * with a parent for the server's, and so are streams of clients.
 */
final class RelayedBootstrap extends Bootstrap {

  private final EventLoopGroup group;
  private final StreamBootstrap streams;

  RelayedBootstrap(EventLoopGroup group, StreamBootstrap streams) {
    this.group = group;
    this.streams = streams;
    group(group).channel(NioSocketChannel.class);
  }

  @Override
  public ChannelFuture connect(SocketAddress remote) {
    streams.option(ChannelOption.AUTO_READ, false).handler(new ChannelInboundHandlerAdapter());
    Channel stream = streams.connect(remote).channel();
    Channel relay =
        new ServerBootstrap()
            .group(group)
            .channel(NioServerSocketChannel.class)
            .childOption(ChannelOption.AUTO_READ, false)
            .childHandler(
                new ChannelInitializer<>() {
                  @Override
                  protected void initChannel(Channel tcp) {
                    tcp.pipeline().addLast(new Pipe(stream));
                    stream.pipeline().addLast(new Pipe(tcp));
                  }
                })
            .bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0))
            .syncUninterruptibly()
            .channel();
    ChannelFuture connected = super.connect(relay.localAddress());
    connected.channel().closeFuture().addListener(closed -> relay.close());
    return connected;
  }

  /** Forwards one read at a time. */
  private static final class Pipe extends ChannelInboundHandlerAdapter {

    private final Channel target;

    Pipe(Channel target) {
      this.target = target;
    }

    @Override
    public void handlerAdded(ChannelHandlerContext ctx) {
      ctx.read();
    }

    @Override
    public void channelRead(ChannelHandlerContext ctx, Object msg) {
      target
          .writeAndFlush(msg)
          .addListener(
              written -> {
                if (written.isSuccess()) {
                  ctx.channel().read();
                } else {
                  ctx.close();
                }
              });
    }

    @Override
    public void channelInactive(ChannelHandlerContext ctx) {
      target.writeAndFlush(Unpooled.EMPTY_BUFFER).addListener(ChannelFutureListener.CLOSE);
    }

    @Override
    public void exceptionCaught(ChannelHandlerContext ctx, Throwable cause) {
      ctx.close();
    }
  }
}
