package io.kcp4j.netty.interop;

import static java.util.concurrent.TimeUnit.SECONDS;

import io.kcp4j.netty.KcpChannelOption;
import io.kcp4j.netty.smux.SmuxHandler;
import io.kcp4j.netty.smux.SmuxStreamChannel;
import io.kcp4j.netty.smux.SmuxStreamChannelBootstrap;
import io.kcp4j.smux.SmuxConfig;
import io.netty.bootstrap.Bootstrap;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandler;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.ChannelOption;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.group.ChannelGroup;
import io.netty.channel.group.DefaultChannelGroup;
import io.netty.util.concurrent.GlobalEventExecutor;
import java.net.InetAddress;
import java.net.InetSocketAddress;

/** kcp4j's end of smux: a client, or a server on loopback. */
final class SmuxEnd implements AutoCloseable {

  private final EventLoopGroup group = PeerTransport.NIO.newGroup();
  private final ChannelGroup connections = new DefaultChannelGroup(GlobalEventExecutor.INSTANCE);
  private Channel channel;

  private SmuxEnd() {}

  /** A server whose streams are served by {@code streamHandler}. */
  static SmuxEnd serve(SmuxTransport transport, SmuxConfig config, ChannelHandler streamHandler) {
    SmuxEnd end = new SmuxEnd();
    ServerBootstrap bootstrap = new ServerBootstrap().group(end.group);
    transport.configure(bootstrap);
    bootstrap.childHandler(end.initializer(config, false, streamHandler));
    InetSocketAddress anyPort = new InetSocketAddress(InetAddress.getLoopbackAddress(), 0);
    end.channel = bootstrap.bind(anyPort).syncUninterruptibly().channel();
    return end;
  }

  static SmuxEnd connect(SmuxTransport transport, SmuxConfig config, InetSocketAddress remote) {
    SmuxEnd end = new SmuxEnd();
    Bootstrap bootstrap = new Bootstrap().group(end.group);
    transport.configure(bootstrap);
    bootstrap.handler(end.initializer(config, true, null));
    end.channel = bootstrap.connect(remote).syncUninterruptibly().channel();
    return end;
  }

  private ChannelInitializer<Channel> initializer(
      SmuxConfig config, boolean client, ChannelHandler streamHandler) {
    return new ChannelInitializer<>() {
      @Override
      protected void initChannel(Channel connection) {
        connections.add(connection);
        connection.pipeline().addLast(new SmuxHandler(config, client, streamHandler));
      }
    };
  }

  /** Where a server listens. */
  InetSocketAddress address() {
    return (InetSocketAddress) channel.localAddress();
  }

  /** Opens a stream of a client, which allows half-closure. */
  SmuxStreamChannel open(ChannelHandler handler) {
    return new SmuxStreamChannelBootstrap(channel)
        .option(ChannelOption.ALLOW_HALF_CLOSURE, true)
        .handler(handler)
        .open()
        .syncUninterruptibly()
        .getNow();
  }

  @Override
  public void close() {
    for (Channel connection : connections) {
      connection.config().setOption(KcpChannelOption.LINGER, 0);
    }
    channel.close().syncUninterruptibly();
    connections.close().syncUninterruptibly();
    group.shutdownGracefully(0, 5, SECONDS).syncUninterruptibly();
  }
}
