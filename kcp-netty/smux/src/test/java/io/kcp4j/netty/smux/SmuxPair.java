package io.kcp4j.netty.smux;

import static java.util.concurrent.TimeUnit.MILLISECONDS;
import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assertions.assertEquals;

import io.kcp4j.netty.KcpChannel;
import io.kcp4j.netty.KcpChannelOption;
import io.kcp4j.smux.SmuxConfig;
import io.netty.bootstrap.Bootstrap;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.buffer.UnpooledByteBufAllocator;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandler;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.ChannelOption;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.nio.NioIoHandler;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;

/**
 * A connection on loopback with smux at both ends. On closing, asserts that all buffers have been
 * released.
 */
final class SmuxPair implements AutoCloseable {

  final Channel client;

  private final UnpooledByteBufAllocator allocator = new UnpooledByteBufAllocator(true);
  private final MultiThreadIoEventLoopGroup group =
      new MultiThreadIoEventLoopGroup(2, NioIoHandler.newFactory());
  private final Queue<Channel> channels = new ConcurrentLinkedQueue<>();

  /** Connects a client, whose peer serves streams by {@code streamHandler}. */
  SmuxPair(ConnectionType type, SmuxConfig config, ChannelHandler streamHandler) {
    ServerBootstrap serverBootstrap =
        new ServerBootstrap()
            .group(group)
            .option(ChannelOption.ALLOCATOR, allocator)
            .childOption(ChannelOption.ALLOCATOR, allocator);
    Bootstrap bootstrap = new Bootstrap().group(group).option(ChannelOption.ALLOCATOR, allocator);
    type.configure(serverBootstrap, bootstrap);
    serverBootstrap.childHandler(
        new ChannelInitializer<>() {
          @Override
          protected void initChannel(Channel connection) {
            channels.add(connection);
            type.addServerHandlers(connection.pipeline());
            connection.pipeline().addLast(new SmuxHandler(config, false, streamHandler));
          }
        });
    bootstrap.handler(
        new ChannelInitializer<>() {
          @Override
          protected void initChannel(Channel connection) {
            channels.add(connection);
            type.addClientHandlers(connection.pipeline());
            connection.pipeline().addLast(new SmuxHandler(config, true, null));
          }
        });
    InetSocketAddress anyPort = new InetSocketAddress(InetAddress.getLoopbackAddress(), 0);
    Channel server = serverBootstrap.bind(anyPort).syncUninterruptibly().channel();
    channels.add(server);
    client = bootstrap.connect(server.localAddress()).syncUninterruptibly().channel();
  }

  SmuxStreamChannel open(ChannelHandler handler) {
    return bootstrap().handler(handler).open().syncUninterruptibly().getNow();
  }

  /** Opens streams that allow half-closure. */
  SmuxStreamChannelBootstrap bootstrap() {
    return new SmuxStreamChannelBootstrap(client).option(ChannelOption.ALLOW_HALF_CLOSURE, true);
  }

  @Override
  public void close() {
    for (Channel channel : channels) {
      if (channel instanceof KcpChannel) {
        channel.config().setOption(KcpChannelOption.LINGER, 0);
      }
      channel.close();
    }
    await().until(() -> channels.stream().noneMatch(Channel::isRegistered));
    group.shutdownGracefully(10, 5_000, MILLISECONDS).syncUninterruptibly();
    assertEquals(0, allocator.metric().usedDirectMemory(), "bytes of direct buffers left");
    assertEquals(0, allocator.metric().usedHeapMemory(), "bytes of heap buffers left");
  }
}
