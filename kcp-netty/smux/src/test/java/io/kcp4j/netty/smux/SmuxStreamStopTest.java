package io.kcp4j.netty.smux;

import static java.util.concurrent.TimeUnit.SECONDS;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.params.provider.Arguments.arguments;

import io.kcp4j.smux.SmuxConfig;
import io.kcp4j.smux.SmuxException;
import io.netty.buffer.ByteBuf;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelFutureListener;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.ChannelOption;
import io.netty.channel.socket.ChannelOutputShutdownEvent;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** What a channel does whose peer has closed the stream and reads no more of it. */
class SmuxStreamStopTest {

  private static final int INITIAL_WINDOW = 262_144;
  private static final int TIMEOUT_SECONDS = 20;

  /** Reports more than can have been sent, and gives no window. */
  private static final Frame STOP = Frame.update(3, 1 << 30, 0);

  private final List<Object> events = new ArrayList<>();

  private EmbeddedConnection connect(int version) {
    return new EmbeddedConnection(
        SmuxConfig.builder().version(version).build(),
        stream -> {
          stream.config().setOption(ChannelOption.ALLOW_HALF_CLOSURE, true);
          stream
              .pipeline()
              .addLast(
                  new ChannelInboundHandlerAdapter() {
                    @Override
                    public void userEventTriggered(ChannelHandlerContext ctx, Object event) {
                      events.add(event);
                    }
                  });
        });
  }

  private static ChannelFuture writeMoreThanTheWindow(
      EmbeddedConnection connection, SmuxStreamChannel stream) {
    return stream.writeAndFlush(connection.buffer("x".repeat(INITIAL_WINDOW + 1)));
  }

  @Test
  void pendingWritesFailAndFinFollows() {
    try (EmbeddedConnection connection = connect(2)) {
      SmuxStreamChannel stream = connection.accept(3);
      ChannelFuture sent = stream.writeAndFlush(connection.buffer("sent"));
      ChannelFuture partly = writeMoreThanTheWindow(connection, stream);
      ChannelFuture waiting = stream.writeAndFlush(connection.buffer("waiting"));
      ChannelFuture unflushed = stream.write(connection.buffer("not flushed"));
      connection.sent();
      connection.receive(STOP);
      assertTrue(sent.isSuccess());
      for (ChannelFuture write : List.of(partly, waiting, unflushed)) {
        assertInstanceOf(SmuxException.class, write.cause());
      }
      assertEquals(List.of(Frame.fin(3)), connection.sent());
      assertEquals(List.of(ChannelOutputShutdownEvent.INSTANCE), events);
      assertEquals(0, connection.handler().stats().unacknowledgedBytes());
    }
  }

  @Test
  void inputGoesOnUntilItsEnd() {
    try (EmbeddedConnection connection = connect(2)) {
      SmuxStreamChannel stream = connection.accept(3);
      connection.receive(STOP);
      assertTrue(stream.isActive());
      assertTrue(stream.isOutputShutdown());
      assertFalse(stream.isInputShutdown());
      assertFalse(stream.isWritable());
      assertNotNull(stream.writeAndFlush(connection.buffer("late")).cause());
      connection.receive(Frame.push(3, "input"));
      assertEquals("input", connection.recorders.get(0).received());
      connection.sent();
      assertTrue(stream.isOpen());
      connection.receive(Frame.fin(3));
      assertFalse(stream.isOpen());
      assertEquals(List.of(), connection.recorders.get(0).exceptions);
    }
  }

  @Test
  void secondFinStopsAStreamOfVersionOne() {
    try (EmbeddedConnection connection = connect(1)) {
      connection.receive(Frame.syn(3).v1());
      SmuxStreamChannel stream = connection.accepted.get(0);
      connection.setWritable(false);
      ChannelFuture write = stream.writeAndFlush(connection.buffer("waiting"));
      connection.receive(Frame.fin(3).v1());
      assertFalse(write.isDone());
      assertTrue(stream.isOpen());
      connection.receive(Frame.fin(3).v1());
      assertInstanceOf(SmuxException.class, write.cause());
      connection.setWritable(true);
      assertEquals(List.of(Frame.fin(3).v1()), connection.sent());
      assertFalse(stream.isOpen());
    }
  }

  @Test
  void shutdownThatWaitsFails() {
    try (EmbeddedConnection connection = connect(2)) {
      SmuxStreamChannel stream = connection.accept(3);
      ChannelFuture write = writeMoreThanTheWindow(connection, stream);
      ChannelFuture shutdown = stream.shutdownOutput();
      connection.receive(STOP);
      assertInstanceOf(SmuxException.class, write.cause());
      assertInstanceOf(SmuxException.class, shutdown.cause());
      assertTrue(stream.shutdownOutput().isDone() || stream.isOpen());
    }
  }

  @Test
  void closeThatWaitsForTheWindowEndsAtOnce() {
    try (EmbeddedConnection connection = connect(2)) {
      SmuxStreamChannel stream = connection.accept(3);
      ChannelFuture write = writeMoreThanTheWindow(connection, stream);
      ChannelFuture close = stream.close();
      connection.sent();
      assertFalse(close.isDone());
      connection.receive(STOP);
      connection.sent();
      assertInstanceOf(SmuxException.class, write.cause());
      assertTrue(close.isSuccess());
    }
  }

  @Test
  void listenerOfAWriteThatFailsMayClose() {
    try (EmbeddedConnection connection = connect(2)) {
      SmuxStreamChannel stream = connection.accept(3);
      writeMoreThanTheWindow(connection, stream)
          .addListener(ChannelFutureListener.CLOSE_ON_FAILURE);
      ChannelFuture second = stream.writeAndFlush(connection.buffer("second"));
      connection.receive(STOP, Frame.push(3, "unwanted"));
      connection.sent();
      assertNotNull(second.cause());
      assertFalse(stream.isOpen());
    }
  }

  @Test
  void connectionThatEndsAfterAStopEndsTheStream() {
    try (EmbeddedConnection connection = connect(2)) {
      SmuxStreamChannel stream = connection.accept(3);
      stream.config().setAutoRead(false);
      connection.receive(STOP, Frame.push(3, "unread"));
      connection.sent();
      connection.channel.unsafe().close(connection.channel.voidPromise());
      connection.channel.runPendingTasks();
      assertTrue(stream.isOpen(), "its input can be read");
      connection.advanceMs(SmuxConfig.DEFAULT.closeTimeoutMs());
      assertFalse(stream.isOpen());
    }
  }

  static Stream<Arguments> connections() {
    return Stream.of(ConnectionType.TCP, ConnectionType.KCP)
        .flatMap(type -> Stream.of(arguments(type, 1), arguments(type, 2)));
  }

  /** Writes as long as it can, whatever the peer has ended. */
  private static final class EndlessDownload extends ChannelInboundHandlerAdapter {

    final CompletableFuture<Throwable> failure;

    EndlessDownload(CompletableFuture<Throwable> failure) {
      this.failure = failure;
    }

    @Override
    public void channelActive(ChannelHandlerContext ctx) {
      write(ctx.channel());
    }

    @Override
    public void channelWritabilityChanged(ChannelHandlerContext ctx) {
      write(ctx.channel());
    }

    private void write(Channel stream) {
      while (stream.isWritable()) {
        ByteBuf bytes = stream.alloc().buffer(10_000).writeZero(10_000);
        stream
            .write(bytes)
            .addListener(
                written -> {
                  if (!written.isSuccess()) {
                    failure.complete(written.cause());
                  }
                });
      }
      stream.flush();
    }
  }

  /** Closes the stream when some of the download has arrived. */
  private static final class Aborting extends ChannelInboundHandlerAdapter {

    private int received;

    @Override
    public void channelRead(ChannelHandlerContext ctx, Object msg) {
      received += ((ByteBuf) msg).readableBytes();
      ((ByteBuf) msg).release();
      if (received > 500_000) {
        ctx.close();
      }
    }
  }

  @ParameterizedTest
  @MethodSource("connections")
  void abortedDownloadEnds(ConnectionType type, int version) throws Exception {
    CompletableFuture<Throwable> failure = new CompletableFuture<>();
    CompletableFuture<Channel> sender = new CompletableFuture<>();
    ChannelInitializer<SmuxStreamChannel> download =
        new ChannelInitializer<>() {
          @Override
          protected void initChannel(SmuxStreamChannel stream) {
            stream.config().setOption(ChannelOption.ALLOW_HALF_CLOSURE, true);
            stream.pipeline().addLast(new EndlessDownload(failure));
            sender.complete(stream);
          }
        };
    SmuxConfig config = SmuxConfig.builder().version(version).build();
    try (SmuxPair pair = new SmuxPair(type, config, download)) {
      SmuxStreamChannel reader = pair.open(new Aborting());
      assertTrue(reader.closeFuture().await(TIMEOUT_SECONDS, SECONDS));
      assertInstanceOf(SmuxException.class, failure.get(TIMEOUT_SECONDS, SECONDS));
      Channel stream = sender.get(TIMEOUT_SECONDS, SECONDS);
      assertTrue(stream.closeFuture().await(TIMEOUT_SECONDS, SECONDS));
      assertTrue(pair.client.isActive(), "the session goes on");
    }
  }
}
