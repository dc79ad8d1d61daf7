package io.kcp4j.netty.smux;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kcp4j.smux.SmuxConfig;
import io.kcp4j.smux.SmuxException;
import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelOutboundHandlerAdapter;
import io.netty.channel.ChannelPromise;
import io.netty.channel.DefaultEventLoop;
import io.netty.channel.embedded.EmbeddedChannel;
import io.netty.channel.socket.ChannelInputShutdownEvent;
import io.netty.util.concurrent.Future;
import java.io.IOException;
import java.nio.channels.ClosedChannelException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Test;

/** What a connection does with its streams, against a peer that is written out frame by frame. */
class SmuxHandlerTest {

  // Sending.

  @Test
  void nothingIsWrittenToAnUnwritableConnection() {
    try (EmbeddedConnection connection = new EmbeddedConnection()) {
      SmuxStreamChannel stream = connection.accept(3);
      connection.setWritable(false);
      connection.receive(Frame.push(3, "needs an update"), Frame.syn(5), Frame.fin(5));
      stream.writeAndFlush(connection.buffer("a"));
      connection.advanceMs(SmuxConfig.DEFAULT.keepAliveMs());
      assertEquals(0, connection.writes);
      connection.setWritable(true);
      assertTrue(connection.writes >= 4, "writes: " + connection.writes);
      assertTrue(connection.sent().contains(Frame.push(3, "a")));
    }
  }

  @Test
  void connectionThatBecomesWritableRunsNoHandlersOfStreamsMeanwhile() {
    List<String> order = new ArrayList<>();
    try (EmbeddedConnection connection = new EmbeddedConnection()) {
      SmuxStreamChannel stream = connection.accept(3);
      stream.writeAndFlush(connection.buffer("a")).addListener(written -> order.add("written"));
      order.add("event");
      connection.channel.pipeline().fireChannelWritabilityChanged();
      order.add("end of event");
      assertEquals(1, connection.writes);
      connection.channel.runPendingTasks();
      assertEquals(List.of("event", "end of event", "written"), order);
    }
  }

  @Test
  void framesOfARoundAreFlushedOnce() {
    try (EmbeddedConnection connection = new EmbeddedConnection()) {
      SmuxStreamChannel one = connection.accept(3);
      SmuxStreamChannel two = connection.accept(5);
      int writes = connection.writes;
      int flushes = connection.flushes;
      one.writeAndFlush(connection.buffer("1"));
      two.writeAndFlush(connection.buffer("2"));
      one.writeAndFlush(connection.buffer("3"));
      connection.channel.runPendingTasks();
      assertEquals(2, connection.writes - writes);
      assertEquals(1, connection.flushes - flushes);
    }
  }

  @Test
  void answersToABatchOfReadsAreFlushedOnceAtItsEnd() {
    try (EmbeddedConnection connection =
        new EmbeddedConnection(
            SmuxConfig.DEFAULT, stream -> stream.pipeline().addFirst(new Echo()))) {
      connection.receive(Frame.syn(3), Frame.syn(5));
      int flushes = connection.flushes;
      connection.channel.pipeline().fireChannelRead(connection.bytes(Frame.push(3, "a")));
      connection.channel.pipeline().fireChannelRead(connection.bytes(Frame.push(5, "b")));
      assertEquals(0, connection.flushes - flushes);
      connection.channel.pipeline().fireChannelReadComplete();
      assertEquals(1, connection.flushes - flushes);
      List<Frame> sent = connection.sent();
      assertTrue(sent.contains(Frame.push(3, "a")), sent.toString());
      assertTrue(sent.contains(Frame.push(5, "b")), sent.toString());
    }
  }

  @Test
  void keepAliveFramesAreSentAndAPeerThatSendsNothingIsGivenUp() {
    SmuxConfig config = SmuxConfig.builder().keepAliveMs(1_000).keepAliveTimeoutMs(3_000).build();
    try (EmbeddedConnection connection = new EmbeddedConnection(config)) {
      SmuxStreamChannel stream = connection.accept(3);
      connection.advanceMs(1_000);
      assertEquals(List.of(Frame.nop()), connection.sent());
      for (int i = 0; i < 5; i++) {
        connection.receive(Frame.nop());
        connection.advanceMs(1_000);
      }
      assertTrue(stream.isOpen());
      for (int i = 0; i < 5; i++) {
        connection.advanceMs(1_000);
      }
      assertFalse(connection.channel.isOpen());
      assertFalse(stream.isOpen());
      assertInstanceOf(SmuxException.class, connection.exceptions.get(0));
    }
  }

  @Test
  void frameThatCannotBeWrittenEndsTheConnection() {
    try (EmbeddedConnection connection = new EmbeddedConnection()) {
      SmuxStreamChannel stream = connection.accept(3);
      IOException cause = new IOException("from the test");
      connection.channel.pipeline().addFirst(new FailingWrites(cause));
      stream.writeAndFlush(connection.buffer("a"));
      connection.channel.runPendingTasks();
      assertEquals(List.of(cause), connection.exceptions);
      assertFalse(connection.channel.isOpen());
      assertFalse(stream.isOpen());
    }
  }

  // Receiving.

  @Test
  void connectionStopsReadingWhileItsReceiveBufferIsFull() {
    SmuxConfig config = SmuxConfig.builder().version(1).maxReceiveBuffer(70_000).build();
    try (EmbeddedConnection connection =
        new EmbeddedConnection(config, stream -> stream.config().setAutoRead(false))) {
      SmuxStreamChannel stream = connectVersion1(connection);
      connection.receive(Frame.push(3, "x".repeat(60_000)).v1());
      assertTrue(connection.channel.config().isAutoRead());
      connection.receive(Frame.push(3, "x".repeat(60_000)).v1());
      assertFalse(connection.channel.config().isAutoRead());
      stream.config().setAutoRead(true);
      connection.channel.runPendingTasks();
      assertTrue(connection.channel.config().isAutoRead());
      assertEquals(120_000, connection.recorders.get(0).received().length());
    }
  }

  @Test
  void autoReadThatTheUserHasSwitchedOffStaysOff() {
    SmuxConfig config = SmuxConfig.builder().version(1).maxReceiveBuffer(70_000).build();
    try (EmbeddedConnection connection =
        new EmbeddedConnection(config, stream -> stream.config().setAutoRead(false))) {
      SmuxStreamChannel stream = connectVersion1(connection);
      connection.channel.config().setAutoRead(false);
      connection.receive(Frame.push(3, "x".repeat(60_000)).v1());
      connection.receive(Frame.push(3, "x".repeat(60_000)).v1());
      stream.config().setAutoRead(true);
      connection.channel.runPendingTasks();
      assertEquals(120_000, connection.recorders.get(0).received().length());
      assertFalse(connection.channel.config().isAutoRead());
    }
  }

  private static SmuxStreamChannel connectVersion1(EmbeddedConnection connection) {
    connection.receive(Frame.syn(3).v1());
    return connection.accepted.get(0);
  }

  @Test
  void streamThatStallsTheOthersIsCut() {
    SmuxConfig config =
        SmuxConfig.builder()
            .maxReceiveBuffer(100_000)
            .maxStreamBuffer(65536)
            .stalledStreamMs(1_000)
            .keepAliveTimeoutMs(0)
            .build();
    try (EmbeddedConnection connection =
        new EmbeddedConnection(config, stream -> stream.config().setAutoRead(false))) {
      SmuxStreamChannel small = connection.accept(3);
      SmuxStreamChannel large = connection.accept(5);
      connection.receive(Frame.push(3, "x".repeat(40_000)), Frame.push(5, "x".repeat(60_000)));
      connection.receive(Frame.push(3, "x"));
      assertFalse(connection.channel.config().isAutoRead());
      for (int i = 0; i < 3; i++) {
        connection.advanceMs(1_000);
      }
      assertFalse(large.isOpen());
      assertInstanceOf(SmuxException.class, connection.recorders.get(1).exceptions.get(0));
      assertTrue(small.isOpen());
      assertTrue(connection.channel.config().isAutoRead());
      assertEquals(List.of(), connection.exceptions);
    }
  }

  @Test
  void otherMessagesThanBuffersPass() {
    try (EmbeddedConnection connection = new EmbeddedConnection()) {
      connection.channel.writeInbound("in");
      assertEquals("in", connection.channel.readInbound());
      connection.channel.writeOutbound("out");
      assertEquals("out", connection.channel.readOutbound());
    }
  }

  @Test
  void bytesCanOnlyBeWrittenToStreams() {
    try (EmbeddedConnection connection = new EmbeddedConnection()) {
      ChannelFuture write = connection.channel.writeAndFlush(connection.buffer("raw"));
      assertInstanceOf(UnsupportedOperationException.class, write.cause());
      assertEquals(List.of(), connection.sent());
    }
  }

  @Test
  void streamsOfThePeerAreRefusedWithoutAHandler() {
    try (EmbeddedConnection connection = EmbeddedConnection.client(SmuxConfig.DEFAULT)) {
      connection.receive(Frame.syn(2), Frame.push(2, "a"));
      assertTrue(connection.sent().contains(Frame.fin(2)));
      assertEquals(1, connection.handler().stats().refusedStreams());
      assertEquals(0, connection.unreadBytes());
    }
  }

  // Failures.

  @Test
  void protocolViolationEndsTheConnectionAndIsReportedOnce() {
    try (EmbeddedConnection connection = new EmbeddedConnection()) {
      connection.accept(3);
      SmuxStreamChannel other = connection.accept(5);
      ChannelFuture write = other.write(connection.buffer("pending"));
      connection.receive(new Frame(7, 7, 7, ""));
      assertEquals(1, connection.exceptions.size());
      SmuxException cause = assertInstanceOf(SmuxException.class, connection.exceptions.get(0));
      assertFalse(connection.channel.isOpen());
      assertEquals(List.of("active", "inactive"), connection.recorders.get(0).events);
      assertEquals(List.of("active", "inactive"), connection.recorders.get(1).events);
      assertInstanceOf(ClosedChannelException.class, write.cause());
      assertSame(cause, write.cause().getCause());
    }
  }

  @Test
  void handlerThatThrowsInOneStreamHarmsNoOther() {
    AtomicBoolean isFirst = new AtomicBoolean(true);
    try (EmbeddedConnection connection =
        new EmbeddedConnection(
            SmuxConfig.DEFAULT,
            stream ->
                stream.pipeline().addFirst(isFirst.getAndSet(false) ? new Buggy() : new Echo()))) {
      connection.receive(
          Frame.syn(3), Frame.push(3, "a"), Frame.syn(5), Frame.push(5, "b"), Frame.fin(3));
      assertEquals("b", connection.sent(connection.accepted.get(1)));
      assertTrue(connection.accepted.get(1).isOpen());
      assertEquals(List.of(), connection.exceptions);
    }
  }

  @Test
  void initializerThatThrowsClosesOnlyItsStream() {
    AtomicBoolean isFirst = new AtomicBoolean(true);
    try (EmbeddedConnection connection =
        new EmbeddedConnection(
            SmuxConfig.DEFAULT,
            stream -> {
              if (isFirst.getAndSet(false)) {
                throw new IllegalStateException("from the test");
              }
            })) {
      connection.receive(Frame.syn(3), Frame.push(3, "a"), Frame.syn(5), Frame.push(5, "b"));
      assertFalse(connection.accepted.get(0).isOpen());
      assertTrue(connection.sent().contains(Frame.fin(3)));
      assertEquals("b", connection.recorders.get(1).received());
    }
  }

  @Test
  void halfClosedConnectionIsClosed() {
    try (EmbeddedConnection connection = new EmbeddedConnection()) {
      SmuxStreamChannel stream = connection.accept(3);
      connection.channel.pipeline().fireUserEventTriggered(ChannelInputShutdownEvent.INSTANCE);
      connection.channel.runPendingTasks();
      assertFalse(connection.channel.isOpen());
      assertFalse(stream.isOpen());
    }
  }

  @Test
  void causeOfTheConnectionsEndIsThatOfPendingWrites() {
    try (EmbeddedConnection connection = new EmbeddedConnection()) {
      SmuxStreamChannel stream = connection.accept(3);
      connection.setWritable(false);
      ChannelFuture write = stream.writeAndFlush(connection.buffer("a"));
      IOException cause = new IOException("reset, from the test");
      connection.channel.pipeline().fireExceptionCaught(cause);
      connection.channel.unsafe().close(connection.channel.voidPromise());
      connection.channel.runPendingTasks();
      assertInstanceOf(ClosedChannelException.class, write.cause());
      assertSame(cause, write.cause().getCause());
    }
  }

  @Test
  void removedHandlerEndsItsStreams() {
    try (EmbeddedConnection connection = new EmbeddedConnection()) {
      SmuxStreamChannel stream = connection.accept(3);
      connection.channel.pipeline().remove(connection.handler());
      connection.channel.runPendingTasks();
      assertFalse(stream.isOpen());
      assertTrue(connection.channel.isOpen());
    }
  }

  // Opening.

  @Test
  void streamOpenedWhileItsSessionFailsIsClosed() {
    List<Future<SmuxStreamChannel>> opened = new ArrayList<>();
    EmbeddedConnection[] current = new EmbeddedConnection[1];
    try (EmbeddedConnection connection =
        new EmbeddedConnection(
            SmuxConfig.DEFAULT,
            stream ->
                stream
                    .pipeline()
                    .addFirst(
                        new ChannelInboundHandlerAdapter() {
                          @Override
                          public void channelInactive(ChannelHandlerContext ctx) {
                            opened.add(current[0].bootstrap().open());
                          }

                          @Override
                          public void channelRead(ChannelHandlerContext ctx, Object msg) {
                            ctx.fireChannelRead(msg);
                            opened.add(current[0].bootstrap().open());
                          }
                        }))) {
      current[0] = connection;
      connection.receive(Frame.syn(3), Frame.push(3, "a"), new Frame(7, 7, 7, ""));
      assertEquals(2, opened.size());
      opened.forEach(
          open -> assertInstanceOf(ClosedChannelException.class, open.cause(), open.toString()));
    }
  }

  @Test
  void streamThatWasJustOpenedEndsWithItsConnection() {
    try (EmbeddedConnection connection = EmbeddedConnection.client(SmuxConfig.DEFAULT)) {
      StreamRecorder recorder = new StreamRecorder();
      SmuxStreamChannel stream = connection.bootstrap().handler(recorder).open().getNow();
      ChannelFuture write = stream.writeAndFlush(connection.buffer("a"));
      connection.channel.unsafe().close(connection.channel.voidPromise());
      connection.channel.runPendingTasks();
      assertFalse(stream.isOpen());
      assertTrue(write.isDone());
      assertEquals(List.of("active", "inactive"), recorder.events);
    }
  }

  @Test
  void openingFailsAfterTheConnectionHasClosed() {
    try (EmbeddedConnection connection = EmbeddedConnection.client(SmuxConfig.DEFAULT)) {
      connection.channel.close();
      assertInstanceOf(ClosedChannelException.class, connection.bootstrap().open().cause());
    }
  }

  @Test
  void openingNeedsASmuxHandler() {
    EmbeddedChannel channel = new EmbeddedChannel();
    assertInstanceOf(
        IllegalStateException.class, new SmuxStreamChannelBootstrap(channel).open().cause());
    channel.finishAndReleaseAll();
  }

  @Test
  void openingBeyondTheLimitFails() {
    SmuxConfig config = SmuxConfig.builder().maxStreams(1).build();
    try (EmbeddedConnection connection = EmbeddedConnection.client(config)) {
      SmuxStreamChannel first = connection.open(new StreamRecorder());
      assertInstanceOf(SmuxException.class, connection.bootstrap().open().cause());
      assertTrue(first.isOpen());
      first.close();
    }
  }

  // The handler.

  @Test
  void handlerOfStreamsHasToBeSharable() {
    StreamRecorder recorder = new StreamRecorder();
    assertThrows(
        IllegalArgumentException.class, () -> new SmuxHandler(SmuxConfig.DEFAULT, false, recorder));
  }

  @Test
  @SuppressWarnings("deprecation") // Netty discourages executors, too.
  void handlerMayNotHaveAnExecutorOfItsOwn() {
    DefaultEventLoop executor = new DefaultEventLoop();
    EmbeddedChannel channel = new EmbeddedChannel();
    SmuxHandler handler = new SmuxHandler(SmuxConfig.DEFAULT, true, null);
    channel.pipeline().addLast(executor, handler);
    executor.shutdownGracefully(0, 0, java.util.concurrent.TimeUnit.SECONDS).syncUninterruptibly();
    assertNull(channel.pipeline().context(handler));
    assertThrows(Exception.class, channel::checkException);
  }

  @Test
  void handlerThatIsAddedToAnActiveConnectionBeginsAtOnce() {
    EmbeddedChannel channel = new EmbeddedChannel();
    SmuxHandler handler = new SmuxHandler(SmuxConfig.DEFAULT, true, null);
    channel.pipeline().addLast(handler);
    SmuxStreamChannel stream = new SmuxStreamChannelBootstrap(channel).open().getNow();
    channel.runPendingTasks();
    ByteBuf syn = channel.readOutbound();
    assertEquals(Frame.syn(3), Frame.read(syn));
    syn.release();
    assertEquals(1, handler.stats().openStreams());
    assertNotSame(channel, stream);
    channel.finishAndReleaseAll();
  }

  private static final class Echo extends ChannelInboundHandlerAdapter {
    @Override
    public void channelRead(ChannelHandlerContext ctx, Object msg) {
      ctx.writeAndFlush(msg);
    }
  }

  private static final class Buggy extends ChannelInboundHandlerAdapter {
    @Override
    public void channelRead(ChannelHandlerContext ctx, Object msg) {
      ((ByteBuf) msg).release();
      throw new IllegalStateException("from the test");
    }
  }

  private static final class FailingWrites extends ChannelOutboundHandlerAdapter {

    private final IOException cause;

    FailingWrites(IOException cause) {
      this.cause = cause;
    }

    @Override
    public void write(ChannelHandlerContext ctx, Object msg, ChannelPromise promise) {
      ((ByteBuf) msg).release();
      promise.setFailure(cause);
    }
  }
}
