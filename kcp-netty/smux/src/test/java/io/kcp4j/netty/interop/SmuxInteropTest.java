package io.kcp4j.netty.interop;

import static java.util.concurrent.TimeUnit.SECONDS;
import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.params.provider.Arguments.arguments;

import io.kcp4j.netty.smux.EchoedStream;
import io.kcp4j.netty.smux.SmuxStreamChannel;
import io.kcp4j.netty.smux.StreamEcho;
import io.kcp4j.smux.SmuxConfig;
import io.kcp4j.smux.SmuxException;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelHandler.Sharable;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.ChannelOption;
import io.netty.util.ReferenceCountUtil;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;

/** smux with kcp4j on one side and Go on the other, over TCP and over KCP. */
class SmuxInteropTest {

  private static final int TIMEOUT_SECONDS = 240;
  private static final int UNREAD_STREAMS = 64;
  private static final int MEGABYTE = 1 << 20;
  private static final int INITIAL_WINDOW = 262_144;

  static Stream<Arguments> connections() {
    return Stream.of(SmuxTransport.values())
        .flatMap(
            transport -> IntStream.of(1, 2).mapToObj(version -> arguments(transport, version)));
  }

  @ParameterizedTest
  @MethodSource("connections")
  void hundredStreamsOfAGoClientAreEchoed(SmuxTransport transport, int version) throws Exception {
    assertStreamsOfAGoClientAreEchoed(100, transport, version);
  }

  @Tag("slow")
  @ParameterizedTest
  @MethodSource("connections")
  void thousandStreamsOfAGoClientAreEchoed(SmuxTransport transport, int version) throws Exception {
    assertStreamsOfAGoClientAreEchoed(1000, transport, version);
  }

  private static void assertStreamsOfAGoClientAreEchoed(
      int count, SmuxTransport transport, int version) throws Exception {
    List<String> flags = transport.goFlags(version, "--streams=" + count, "--bytes=10000");
    try (SmuxEnd server = SmuxEnd.serve(transport, config(version), StreamEcho.initializer());
        GoPeer client = GoPeer.client("smux-client", server.address(), TIMEOUT_SECONDS, flags)) {
      client.assertSucceeds();
      assertEquals(count, client.count("streams"));
      assertEquals(0, client.count("failures"));
    }
  }

  @ParameterizedTest
  @MethodSource("connections")
  void hundredStreamsAreEchoedByAGoServer(SmuxTransport transport, int version) throws Exception {
    assertStreamsAreEchoedByAGoServer(100, transport, version);
  }

  @Tag("slow")
  @ParameterizedTest
  @MethodSource("connections")
  void thousandStreamsAreEchoedByAGoServer(SmuxTransport transport, int version) throws Exception {
    assertStreamsAreEchoedByAGoServer(1000, transport, version);
  }

  private static void assertStreamsAreEchoedByAGoServer(
      int count, SmuxTransport transport, int version) throws Exception {
    try (GoPeer server = GoPeer.server("smux-server", transport.goFlags(version));
        SmuxEnd client = SmuxEnd.connect(transport, config(version), server.address())) {
      List<EchoedStream> streams =
          IntStream.range(0, count).mapToObj(i -> new EchoedStream(i, 10_000)).toList();
      streams.forEach(client::open);
      for (EchoedStream stream : streams) {
        stream.done().get(TIMEOUT_SECONDS, SECONDS);
      }
      server.finish();
      assertEquals(count, server.count("streams"));
      assertEquals(0, server.count("open"));
    }
  }

  @ParameterizedTest
  @EnumSource
  void streamsThatAGoServerDoesNotReadDoNotStallAnother(SmuxTransport transport) throws Exception {
    List<String> flags = transport.goFlags(2, "--unread=" + UNREAD_STREAMS);
    try (GoPeer server = GoPeer.server("smux-server", flags);
        SmuxEnd client = SmuxEnd.connect(transport, config(2), server.address())) {
      List<SmuxStreamChannel> unread =
          IntStream.range(0, UNREAD_STREAMS).mapToObj(i -> client.open(new Flood())).toList();
      EchoedStream another = new EchoedStream(1, MEGABYTE);
      client.open(another);
      another.done().get(TIMEOUT_SECONDS, SECONDS);
      assertTrue(unread.stream().allMatch(Channel::isOpen));
      assertTrue(unread.stream().noneMatch(Channel::isWritable));
    }
  }

  @ParameterizedTest
  @EnumSource
  void streamsThatAGoClientDoesNotReadDoNotStallAnother(SmuxTransport transport) throws Exception {
    AtomicInteger accepted = new AtomicInteger();
    ChannelInitializer<SmuxStreamChannel> firstStreamsAreFlooded =
        new ChannelInitializer<>() {
          @Override
          protected void initChannel(SmuxStreamChannel stream) {
            stream.config().setOption(ChannelOption.ALLOW_HALF_CLOSURE, true);
            stream
                .pipeline()
                .addLast(
                    accepted.getAndIncrement() < UNREAD_STREAMS ? new Flood() : new StreamEcho());
          }
        };
    List<String> flags =
        transport.goFlags(2, "--unread=" + UNREAD_STREAMS, "--streams=1", "--bytes=" + MEGABYTE);
    try (SmuxEnd server = SmuxEnd.serve(transport, config(2), firstStreamsAreFlooded);
        GoPeer client = GoPeer.client("smux-client", server.address(), TIMEOUT_SECONDS, flags)) {
      client.assertSucceeds();
      assertEquals(UNREAD_STREAMS + 1, accepted.get());
    }
  }

  @ParameterizedTest
  @MethodSource("connections")
  void goWriterOfAServerReturnsWhenItsStreamIsClosed(SmuxTransport transport, int version)
      throws Exception {
    try (GoPeer server = GoPeer.server("smux-writer-server", transport.goFlags(version));
        SmuxEnd client = SmuxEnd.connect(transport, config(version), server.address())) {
      CloseOnRead close = new CloseOnRead();
      List<SmuxStreamChannel> streams =
          IntStream.range(0, 4).mapToObj(i -> client.open(close)).toList();
      for (SmuxStreamChannel stream : streams) {
        assertTrue(stream.closeFuture().await(TIMEOUT_SECONDS, SECONDS));
      }
      server.finish();
      assertEquals(4, server.count("writers"));
      assertEquals(0, server.count("blocked"));
    }
  }

  @ParameterizedTest
  @MethodSource("connections")
  void goWriterOfAClientReturnsWhenItsStreamIsClosed(SmuxTransport transport, int version)
      throws Exception {
    List<String> flags = transport.goFlags(version, "--streams=4");
    try (SmuxEnd server = SmuxEnd.serve(transport, config(version), new CloseOnRead());
        GoPeer client =
            GoPeer.client("smux-writer-client", server.address(), TIMEOUT_SECONDS, flags)) {
      client.assertSucceeds();
      assertEquals(4, client.count("writers"));
      assertEquals(0, client.count("blocked"));
    }
  }

  /** Nobody at the peer reads, so nothing wakes a writer that waits but a false window update. */
  @ParameterizedTest
  @EnumSource
  void goWriterThatIgnoresTheCloseFailsAfterAWindow(SmuxTransport transport) throws Exception {
    List<String> flags = transport.goFlags(2, "--streams=4", "--read=false");
    try (SmuxEnd server = SmuxEnd.serve(transport, config(2), new CloseOnRead());
        GoPeer client =
            GoPeer.client("smux-writer-client", server.address(), TIMEOUT_SECONDS, flags)) {
      client.assertSucceeds();
      assertEquals(4, client.count("writers"));
      assertEquals(0, client.count("blocked"));
      long mostBytes = 4L * (INITIAL_WINDOW + SmuxConfig.DEFAULT.maxStreamBuffer());
      assertTrue(client.count("bytes") <= mostBytes, client.count("bytes") + " bytes");
    }
  }

  /** Version 1 has nothing that a Go writer would notice. */
  @ParameterizedTest
  @EnumSource
  void goWriterOfVersionOneThatIgnoresTheCloseMayWriteToItsEnd(SmuxTransport transport)
      throws Exception {
    List<String> flags =
        transport.goFlags(1, "--streams=4", "--read=false", "--bytes=" + 2 * MEGABYTE);
    try (SmuxEnd server = SmuxEnd.serve(transport, config(1), new CloseOnRead());
        GoPeer client =
            GoPeer.client("smux-writer-client", server.address(), TIMEOUT_SECONDS, flags)) {
      client.assertSucceeds();
      assertEquals(0, client.count("blocked"));
      assertEquals(4L * 2 * MEGABYTE, client.count("bytes"));
    }
  }

  @ParameterizedTest
  @EnumSource
  void writesFailWhenAGoPeerHasClosedAndReadsNoMore(SmuxTransport transport) throws Exception {
    SmuxConfig config = SmuxConfig.builder().closeTimeoutMs(500).build();
    try (GoPeer server = GoPeer.server("smux-server", transport.goFlags(2, "--close-after=1000"));
        SmuxEnd client = SmuxEnd.connect(transport, config, server.address())) {
      BlockingQueue<Throwable> exceptions = new LinkedBlockingQueue<>();
      SmuxStreamChannel stream =
          client.open(
              new ChannelInboundHandlerAdapter() {
                @Override
                public void exceptionCaught(ChannelHandlerContext ctx, Throwable cause) {
                  exceptions.add(cause);
                }
              });
      ChannelFuture write = stream.writeAndFlush(Unpooled.wrappedBuffer(new byte[MEGABYTE]));
      await().atMost(TIMEOUT_SECONDS, SECONDS).until(write::isDone);
      assertEquals(SmuxException.class, write.cause().getClass());
      assertTrue(stream.closeFuture().await(TIMEOUT_SECONDS, SECONDS));
      assertEquals(SmuxException.class, exceptions.take().getClass());
      assertTrue(client.open(new ChannelInboundHandlerAdapter()).isActive());
    }
  }

  private static SmuxConfig config(int version) {
    return SmuxConfig.builder().version(version).build();
  }

  /** Writes a megabyte. */
  private static final class Flood extends ChannelInboundHandlerAdapter {
    @Override
    public void channelActive(ChannelHandlerContext ctx) {
      ctx.writeAndFlush(Unpooled.wrappedBuffer(new byte[MEGABYTE]));
      ctx.fireChannelActive();
    }
  }

  /** Closes a stream in the midst of what the peer writes. */
  @Sharable
  private static final class CloseOnRead extends ChannelInboundHandlerAdapter {
    @Override
    public void channelRead(ChannelHandlerContext ctx, Object msg) {
      ReferenceCountUtil.release(msg);
      ctx.close();
    }
  }
}
