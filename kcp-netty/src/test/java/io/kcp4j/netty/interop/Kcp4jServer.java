package io.kcp4j.netty.interop;

import static java.util.concurrent.TimeUnit.SECONDS;

import io.kcp4j.KcpConfig;
import io.kcp4j.KcpCounter;
import io.kcp4j.netty.KcpChannelOption;
import io.kcp4j.netty.KcpServerChannel;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.group.ChannelGroup;
import io.netty.channel.group.DefaultChannelGroup;
import io.netty.util.concurrent.GlobalEventExecutor;
import java.net.InetAddress;
import java.net.InetSocketAddress;

/** A server of kcp4j on loopback that sends back what its sessions receive. */
final class Kcp4jServer implements AutoCloseable {

  private static final int DATAGRAM_QUEUE = 256;

  private final EventLoopGroup group;
  private final Channel channel;
  private final ChannelGroup children;

  private Kcp4jServer(EventLoopGroup group, Channel channel, ChannelGroup children) {
    this.group = group;
    this.channel = channel;
    this.children = children;
  }

  static Kcp4jServer start(PeerTransport transport, SessionSettings settings) {
    EventLoopGroup group = transport.newGroup();
    ChannelGroup children = new DefaultChannelGroup(GlobalEventExecutor.INSTANCE);
    KcpConfig config =
        settings.config().toBuilder().datagramQueue(DATAGRAM_QUEUE).lingerMs(0).build();
    ServerBootstrap bootstrap =
        new ServerBootstrap()
            .group(group)
            .channel(KcpServerChannel.class)
            .option(KcpChannelOption.KEY_RING, settings.keys())
            .childOption(KcpChannelOption.CONFIG, config)
            .childOption(KcpChannelOption.FEC, settings.fec())
            .childHandler(
                new ChannelInitializer<Channel>() {
                  @Override
                  protected void initChannel(Channel child) {
                    children.add(child);
                    child.pipeline().addLast(new EchoHandler());
                  }
                });
    InetSocketAddress loopback = new InetSocketAddress(InetAddress.getLoopbackAddress(), 0);
    Channel server = bootstrap.bind(loopback).syncUninterruptibly().channel();
    return new Kcp4jServer(group, server, children);
  }

  /** Where it listens. */
  InetSocketAddress address() {
    return (InetSocketAddress) channel.localAddress();
  }

  /** What has been counted so far, of one kind. */
  long count(KcpCounter counter) {
    return ((KcpServerChannel) channel).counters().get(counter);
  }

  /** Closes the server and its sessions: peers send no close notification. */
  @Override
  public void close() {
    channel.close().syncUninterruptibly();
    children.close().syncUninterruptibly();
    group.shutdownGracefully(0, 5, SECONDS).syncUninterruptibly();
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
