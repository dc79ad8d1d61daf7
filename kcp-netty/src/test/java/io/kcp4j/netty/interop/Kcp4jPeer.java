package io.kcp4j.netty.interop;

import static java.util.concurrent.TimeUnit.MILLISECONDS;

import io.kcp4j.netty.KcpChannel;
import io.kcp4j.netty.KcpChannelOption;
import io.kcp4j.netty.KcpServerChannel;
import io.netty.bootstrap.Bootstrap;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.EventLoopGroup;
import java.net.InetAddress;
import java.net.InetSocketAddress;

/** A kcp4j channel, server or client, with an event loop of its own. */
final class Kcp4jPeer implements AutoCloseable {

  private final EventLoopGroup group;
  private final Channel channel;

  private Kcp4jPeer(EventLoopGroup group, Channel channel) {
    this.group = group;
    this.channel = channel;
  }

  /** A server on loopback that sends back what its sessions receive. */
  static Kcp4jPeer echoServer(Transport transport, SessionSettings settings) {
    EventLoopGroup group = transport.newGroup();
    ServerBootstrap bootstrap =
        new ServerBootstrap()
            .group(group)
            .channel(KcpServerChannel.class)
            .childOption(KcpChannelOption.CONFIG, settings.config())
            .childHandler(
                new ChannelInitializer<Channel>() {
                  @Override
                  protected void initChannel(Channel child) {
                    child.pipeline().addLast(new EchoHandler());
                  }
                });
    InetSocketAddress loopback = new InetSocketAddress(InetAddress.getLoopbackAddress(), 0);
    return new Kcp4jPeer(group, bootstrap.bind(loopback).syncUninterruptibly().channel());
  }

  /** Connects a client, waits until its check has succeeded, and closes it. */
  static void assertEchoed(
      InetSocketAddress remote,
      Transport transport,
      SessionSettings settings,
      EchoCheck check,
      int timeoutSeconds)
      throws Exception {
    EventLoopGroup group = transport.newGroup();
    Bootstrap bootstrap =
        new Bootstrap()
            .group(group)
            .channel(KcpChannel.class)
            .option(KcpChannelOption.CONFIG, settings.config())
            .handler(check);
    Kcp4jPeer client =
        new Kcp4jPeer(group, bootstrap.connect(remote).syncUninterruptibly().channel());
    try {
      check.assertSucceeds(timeoutSeconds);
    } finally {
      client.close();
    }
  }

  /** Where a server listens. */
  InetSocketAddress address() {
    return (InetSocketAddress) channel.localAddress();
  }

  /** Closes the channel; what a peer has not acknowledged is not waited for. */
  @Override
  public void close() {
    channel.close().syncUninterruptibly();
    // With a quiet period of 0 an event loop may end without closing what is still open on it.
    group.shutdownGracefully(50, 5000, MILLISECONDS).syncUninterruptibly();
  }

  /** Stops reading while the peer does not take what was written. */
  private static final class EchoHandler extends ChannelInboundHandlerAdapter {

    @Override
    public void channelRead(ChannelHandlerContext ctx, Object msg) {
      ctx.write(msg);
    }

    @Override
    public void channelReadComplete(ChannelHandlerContext ctx) {
      ctx.flush();
      ctx.channel().config().setAutoRead(ctx.channel().isWritable());
    }

    @Override
    public void channelWritabilityChanged(ChannelHandlerContext ctx) {
      ctx.channel().config().setAutoRead(ctx.channel().isWritable());
    }
  }
}
