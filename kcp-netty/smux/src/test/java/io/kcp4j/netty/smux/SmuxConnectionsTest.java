package io.kcp4j.netty.smux;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static java.util.concurrent.TimeUnit.SECONDS;
import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.params.provider.Arguments.arguments;

import io.kcp4j.smux.SmuxConfig;
import io.netty.bootstrap.Bootstrap;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.ChannelOption;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.nio.NioIoHandler;
import io.netty.channel.socket.nio.NioServerSocketChannel;
import io.netty.channel.socket.nio.NioSocketChannel;
import io.netty.util.concurrent.Promise;
import java.net.InetAddress;
import java.nio.channels.NotYetConnectedException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;

/** Streams over real connections, between two peers of kcp4j. */
class SmuxConnectionsTest {

  private static final int TIMEOUT_SECONDS = 240;

  static Stream<Arguments> connections() {
    return Stream.of(ConnectionType.values())
        .flatMap(type -> IntStream.of(1, 2).mapToObj(version -> arguments(type, version)));
  }

  @ParameterizedTest
  @MethodSource("connections")
  void hundredStreamsEchoEveryByte(ConnectionType type, int version) throws Exception {
    assertStreamsEchoEveryByte(100, type, version);
  }

  @Tag("slow")
  @ParameterizedTest
  @MethodSource("connections")
  void thousandStreamsEchoEveryByte(ConnectionType type, int version) throws Exception {
    assertStreamsEchoEveryByte(1000, type, version);
  }

  private static void assertStreamsEchoEveryByte(int count, ConnectionType type, int version)
      throws Exception {
    try (SmuxPair pair = new SmuxPair(type, config(version), StreamEcho.initializer())) {
      List<EchoedStream> streams =
          IntStream.range(0, count).mapToObj(i -> new EchoedStream(i, 10_000)).toList();
      streams.forEach(stream -> pair.bootstrap().handler(stream).open());
      for (EchoedStream stream : streams) {
        stream.done().get(TIMEOUT_SECONDS, SECONDS);
      }
    }
  }

  @Tag("slow")
  @ParameterizedTest
  @MethodSource("connections")
  void largeStreamsEchoEveryByte(ConnectionType type, int version) throws Exception {
    try (SmuxPair pair = new SmuxPair(type, config(version), StreamEcho.initializer())) {
      List<EchoedStream> streams =
          IntStream.range(0, 4).mapToObj(i -> new EchoedStream(i, 2_000_000)).toList();
      streams.forEach(pair::open);
      for (EchoedStream stream : streams) {
        stream.done().get(TIMEOUT_SECONDS, SECONDS);
      }
    }
  }

  @ParameterizedTest
  @EnumSource
  void streamsThatAreNotReadDoNotStallAnother(ConnectionType type) throws Exception {
    BlockingQueue<SmuxStreamChannel> accepted = new LinkedBlockingQueue<>();
    StreamEcho echo = new StreamEcho();
    ChannelInitializer<SmuxStreamChannel> firstStreamsAreNotRead =
        new ChannelInitializer<>() {
          @Override
          protected void initChannel(SmuxStreamChannel stream) {
            stream.config().setAutoRead(accepted.size() >= 64);
            stream.config().setOption(ChannelOption.ALLOW_HALF_CLOSURE, true);
            stream.pipeline().addLast(echo);
            accepted.add(stream);
          }
        };
    try (SmuxPair pair = new SmuxPair(type, config(2), firstStreamsAreNotRead)) {
      List<SmuxStreamChannel> unread = new ArrayList<>();
      for (int i = 0; i < 64; i++) {
        SmuxStreamChannel stream = pair.open(new ChannelInboundHandlerAdapter());
        stream.writeAndFlush(Unpooled.wrappedBuffer(new byte[1 << 20]));
        unread.add(stream);
      }
      await().until(() -> accepted.size() == 64);
      EchoedStream another = new EchoedStream(1, 500_000);
      pair.open(another);
      another.done().get(TIMEOUT_SECONDS, SECONDS);
      assertTrue(unread.stream().allMatch(Channel::isOpen));
      assertTrue(unread.stream().noneMatch(Channel::isWritable));
      accepted.forEach(Channel::close); // Or input that is not read outlives the connection.
      await().until(() -> accepted.stream().noneMatch(Channel::isRegistered));
    }
  }

  @ParameterizedTest
  @EnumSource
  void streamsEndWhenThePeerClosesTheConnection(ConnectionType type) throws Exception {
    BlockingQueue<SmuxStreamChannel> accepted = new LinkedBlockingQueue<>();
    ChannelInitializer<SmuxStreamChannel> closing =
        new ChannelInitializer<>() {
          @Override
          protected void initChannel(SmuxStreamChannel stream) {
            accepted.add(stream);
            stream
                .pipeline()
                .addLast(
                    new ChannelInboundHandlerAdapter() {
                      @Override
                      public void channelRead(ChannelHandlerContext ctx, Object msg) {
                        ctx.writeAndFlush(msg)
                            .addListener(written -> ctx.channel().parent().close());
                      }
                    });
          }
        };
    try (SmuxPair pair = new SmuxPair(type, config(2), closing)) {
      StringBuilder received = new StringBuilder();
      SmuxStreamChannel stream =
          pair.open(
              new ChannelInboundHandlerAdapter() {
                @Override
                public void channelRead(ChannelHandlerContext ctx, Object msg) {
                  ByteBuf bytes = (ByteBuf) msg;
                  received.append(bytes.toString(US_ASCII));
                  bytes.release();
                }
              });
      stream.writeAndFlush(Unpooled.wrappedBuffer(new byte[] {'b', 'y', 'e'}));
      assertTrue(stream.closeFuture().await(TIMEOUT_SECONDS, SECONDS));
      assertEquals("bye", received.toString());
      assertTrue(pair.client.closeFuture().await(TIMEOUT_SECONDS, SECONDS));
      assertTrue(accepted.take().closeFuture().await(TIMEOUT_SECONDS, SECONDS));
    }
  }

  @Test
  void streamsMayBeOpenedByAnyThread() throws Exception {
    try (SmuxPair pair = new SmuxPair(ConnectionType.TCP, config(2), StreamEcho.initializer())) {
      List<EchoedStream> streams =
          IntStream.range(0, 100).mapToObj(i -> new EchoedStream(i, 1000)).toList();
      streams.parallelStream().forEach(pair::open);
      for (EchoedStream stream : streams) {
        stream.done().get(TIMEOUT_SECONDS, SECONDS);
      }
    }
  }

  @Test
  void openingFailsBeforeTheConnectionIsActive() {
    MultiThreadIoEventLoopGroup group =
        new MultiThreadIoEventLoopGroup(1, NioIoHandler.newFactory());
    Channel connection =
        new Bootstrap()
            .group(group)
            .channel(NioSocketChannel.class)
            .handler(new SmuxHandler(SmuxConfig.DEFAULT, true, null))
            .register()
            .syncUninterruptibly()
            .channel();
    var open = new SmuxStreamChannelBootstrap(connection).open().awaitUninterruptibly();
    assertInstanceOf(NotYetConnectedException.class, open.cause());
    connection.close().syncUninterruptibly();
    group.shutdownGracefully(0, 1, SECONDS).syncUninterruptibly();
  }

  @Test
  void aListenerOfConnectMayOpenStreams() {
    MultiThreadIoEventLoopGroup group =
        new MultiThreadIoEventLoopGroup(1, NioIoHandler.newFactory());
    Channel server =
        new ServerBootstrap()
            .group(group)
            .channel(NioServerSocketChannel.class)
            .childHandler(new ChannelInboundHandlerAdapter())
            .bind(InetAddress.getLoopbackAddress(), 0)
            .syncUninterruptibly()
            .channel();
    Promise<SmuxStreamChannel> opened = group.next().newPromise();
    Bootstrap client =
        new Bootstrap()
            .group(group)
            .channel(NioSocketChannel.class)
            .handler(new SmuxHandler(SmuxConfig.DEFAULT, true, null));
    ChannelFuture connected = client.connect(server.localAddress());
    connected.addListener(
        future -> new SmuxStreamChannelBootstrap(connected.channel()).open(opened));
    SmuxStreamChannel stream = opened.syncUninterruptibly().getNow();
    assertTrue(stream.isActive());
    connected.channel().close().syncUninterruptibly();
    server.close().syncUninterruptibly();
    group.shutdownGracefully(0, 1, SECONDS).syncUninterruptibly();
  }

  private static SmuxConfig config(int version) {
    return SmuxConfig.builder().version(version).build();
  }
}
