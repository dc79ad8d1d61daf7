package io.kcp4j.netty.smux;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kcp4j.smux.SmuxConfig;
import io.kcp4j.smux.SmuxException;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelFutureListener;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelOption;
import io.netty.channel.FixedRecvByteBufAllocator;
import io.netty.channel.socket.ChannelOutputShutdownException;
import java.io.IOException;
import java.nio.channels.ClosedChannelException;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** How a stream's channel ends: half-close, close, and the end of its connection. */
class SmuxStreamCloseTest {

  private static final int INITIAL_WINDOW = 256 * 1024;
  private static final int CLOSE_TIMEOUT_MS = 5_000;
  private static final SmuxConfig CONFIG =
      SmuxConfig.builder()
          .closeTimeoutMs(CLOSE_TIMEOUT_MS)
          .keepAliveMs(0)
          .keepAliveTimeoutMs(0)
          .build();

  // Half-close.

  @Test
  void channelClosesAtThePeersFin() {
    try (EmbeddedConnection connection = new EmbeddedConnection(CONFIG)) {
      connection.receive(Frame.syn(3), Frame.push(3, "a"), Frame.fin(3));
      assertEquals(List.of("active", "read a", "read complete", "inactive"), events(connection));
      assertTrue(connection.sent().contains(Frame.fin(3)));
    }
  }

  @Test
  void peersFinIsAnEventWithHalfClosure() {
    try (EmbeddedConnection connection = halfClosing()) {
      connection.receive(Frame.syn(3), Frame.push(3, "a"), Frame.fin(3));
      assertEquals(
          List.of(
              "active",
              "read a",
              "read complete",
              "input shutdown",
              "input shutdown read complete"),
          events(connection));
      SmuxStreamChannel stream = connection.accepted.get(0);
      assertTrue(stream.isInputShutdown());
      assertFalse(stream.isOutputShutdown());
      assertTrue(stream.isWritable());
      stream.writeAndFlush(connection.buffer("answer"));
      assertEquals("answer", connection.sent(stream));
    }
  }

  @Test
  void peersFinIsNoEventBeforeAllHasBeenRead() {
    try (EmbeddedConnection connection = halfClosing()) {
      SmuxStreamChannel stream = connection.accept(3);
      stream.config().setAutoRead(false);
      connection.receive(Frame.push(3, "a"), Frame.fin(3));
      assertFalse(stream.isInputShutdown());
      stream.config().setAutoRead(true);
      connection.channel.runPendingTasks();
      assertEquals("a", connection.recorders.get(0).received());
      assertTrue(stream.isInputShutdown());
    }
  }

  @Test
  void peersFinIsAnEventForTheHandlersThatAreThereWhenItIsRead() {
    try (EmbeddedConnection connection = withoutAutoRead()) {
      connection.receive(Frame.syn(3), Frame.fin(3));
      SmuxStreamChannel stream = connection.accepted.get(0);
      assertFalse(stream.isInputShutdown());
      StreamRecorder late = new StreamRecorder();
      stream.pipeline().addLast(late);
      stream.read();
      connection.channel.runPendingTasks();
      assertEquals(List.of("input shutdown", "input shutdown read complete"), late.events);
      assertTrue(stream.isInputShutdown());
      assertTrue(stream.isOpen());
      stream.read();
      connection.channel.runPendingTasks();
      assertEquals(2, late.events.size());
    }
  }

  @Test
  void peersFinIsAnEventAtOnceForAReadThatWaits() {
    try (EmbeddedConnection connection = withoutAutoRead()) {
      SmuxStreamChannel stream = connection.accept(3);
      stream.read();
      connection.receive(Frame.fin(3));
      assertTrue(stream.isInputShutdown());
      assertTrue(events(connection).contains("input shutdown"));
    }
  }

  @Test
  void peersFinThatIsNotReadKeepsTheChannelOpen() {
    try (EmbeddedConnection connection = withoutAutoRead()) {
      SmuxStreamChannel stream = connection.accept(3);
      connection.receive(Frame.fin(3));
      stream.shutdownOutput();
      connection.channel.runPendingTasks();
      assertTrue(stream.isOpen());
      stream.read();
      connection.channel.runPendingTasks();
      assertEquals(
          List.of("active", "input shutdown", "input shutdown read complete", "inactive"),
          events(connection).stream().filter(event -> !event.endsWith("writable")).toList());
    }
  }

  @Test
  void peersFinCanBeReadAfterTheConnectionHasClosed() {
    try (EmbeddedConnection connection = withoutAutoRead()) {
      SmuxStreamChannel stream = connection.accept(3);
      connection.receive(Frame.fin(3));
      closeByPeer(connection);
      assertTrue(stream.isActive());
      stream.read();
      connection.channel.runPendingTasks();
      assertEquals(
          List.of("active", "input shutdown", "input shutdown read complete", "inactive"),
          events(connection));
    }
  }

  @Test
  void peersFinThatIsNotReadIsNotKeptForeverAfterTheConnectionHasClosed() {
    try (EmbeddedConnection connection = withoutAutoRead()) {
      SmuxStreamChannel stream = connection.accept(3);
      connection.receive(Frame.fin(3));
      closeByPeer(connection);
      connection.advanceMs(CLOSE_TIMEOUT_MS - 1);
      assertTrue(stream.isActive());
      connection.advanceMs(1);
      assertEquals(List.of("active", "inactive"), events(connection));
    }
  }

  @Test
  void shutdownOfOutputSucceedsWhenFinHasLeft() {
    try (EmbeddedConnection connection = halfClosing()) {
      SmuxStreamChannel stream = connection.accept(3);
      connection.setWritable(false);
      ChannelFuture write = stream.write(connection.buffer("last"));
      ChannelFuture shutdown = stream.shutdownOutput();
      ChannelFuture again = stream.shutdownOutput();
      assertTrue(stream.isOutputShutdown());
      assertEquals(List.of(), connection.sent());
      assertFalse(shutdown.isDone());
      connection.setWritable(true);
      assertEquals(List.of(Frame.push(3, "last"), Frame.fin(3)), connection.sent());
      assertTrue(write.isSuccess());
      assertTrue(shutdown.isSuccess());
      assertTrue(again.isSuccess());
      assertTrue(stream.shutdownOutput().isSuccess());
      connection.receive(Frame.push(3, "still read"));
      assertEquals("still read", connection.recorders.get(0).received());
    }
  }

  @Test
  void writesFailAfterShutdownOfOutput() {
    try (EmbeddedConnection connection = halfClosing()) {
      SmuxStreamChannel stream = connection.accept(3);
      stream.shutdownOutput();
      assertFalse(stream.isWritable());
      ChannelFuture write = stream.writeAndFlush(connection.buffer("late"));
      assertInstanceOf(ChannelOutputShutdownException.class, write.cause());
      assertEquals(List.of(Frame.fin(3)), connection.sent());
    }
  }

  @Test
  void channelClosesWhenBothDirectionsHaveEnded() {
    try (EmbeddedConnection connection = halfClosing()) {
      SmuxStreamChannel stream = connection.accept(3);
      stream.shutdownOutput();
      connection.sent();
      assertTrue(stream.isOpen());
      connection.receive(Frame.fin(3));
      assertFalse(stream.isOpen());
      SmuxStreamChannel other = connection.accept(5);
      connection.receive(Frame.fin(5));
      assertTrue(other.isOpen());
      assertTrue(other.shutdownOutput().isSuccess() || other.isOpen());
      connection.sent();
      assertFalse(other.isOpen());
    }
  }

  @Test
  void inputThatIsShutDownIsDiscardedAndCredited() {
    try (EmbeddedConnection connection = halfClosing()) {
      SmuxStreamChannel stream = connection.accept(3);
      assertTrue(stream.shutdownInput().isSuccess());
      connection.receive(Frame.push(3, "unwanted"));
      assertEquals(List.of("active"), events(connection));
      assertEquals(0, connection.unreadBytes());
      assertEquals(
          List.of(Frame.update(3, "unwanted".length(), CONFIG.maxStreamBuffer())),
          connection.sent());
      stream.writeAndFlush(connection.buffer("out"));
      assertEquals("out", connection.sent(stream));
    }
  }

  @Test
  void shutdownOfAClosedChannelFails() {
    try (EmbeddedConnection connection = halfClosing()) {
      SmuxStreamChannel stream = connection.accept(3);
      stream.close();
      assertInstanceOf(ClosedChannelException.class, stream.shutdownOutput().cause());
      assertInstanceOf(ClosedChannelException.class, stream.shutdownInput().cause());
      assertTrue(stream.isShutdown());
    }
  }

  // Closing.

  @Test
  void closeSendsWhatWasFlushedAndFin() {
    try (EmbeddedConnection connection = new EmbeddedConnection(CONFIG)) {
      SmuxStreamChannel stream = connection.accept(3);
      ChannelFuture write = stream.writeAndFlush(connection.buffer("last"));
      ChannelFuture unflushed = stream.write(connection.buffer("not flushed"));
      ChannelFuture close = stream.close();
      assertTrue(write.isSuccess());
      assertTrue(close.isSuccess());
      assertInstanceOf(ClosedChannelException.class, unflushed.cause());
      assertEquals(List.of(Frame.push(3, "last"), Frame.fin(3)), connection.sent());
    }
  }

  @Test
  void closeWaitsForAnUnwritableConnection() {
    try (EmbeddedConnection connection = new EmbeddedConnection(CONFIG)) {
      SmuxStreamChannel stream = connection.accept(3);
      connection.setWritable(false);
      ChannelFuture write = stream.writeAndFlush(connection.buffer("last"));
      ChannelFuture close = stream.close();
      ChannelFuture again = stream.close();
      connection.channel.runPendingTasks();
      assertTrue(stream.isOpen());
      assertFalse(stream.isWritable());
      assertInstanceOf(
          ClosedChannelException.class, stream.writeAndFlush(connection.buffer("late")).cause());
      connection.receive(Frame.push(3, "ignored"));
      assertEquals("", connection.recorders.get(0).received());
      connection.setWritable(true);
      assertTrue(write.isSuccess());
      assertTrue(close.isSuccess());
      assertTrue(again.isSuccess());
      List<Frame> sent = connection.sent();
      assertTrue(sent.contains(Frame.push(3, "last")), sent.toString());
      assertEquals(Frame.fin(3), sent.get(sent.size() - 1));
    }
  }

  @Test
  void closeWaitsUntilFinHasLeft() {
    try (EmbeddedConnection connection = new EmbeddedConnection(CONFIG)) {
      SmuxStreamChannel stream = connection.accept(3);
      connection.setWritable(false);
      ChannelFuture close = stream.close();
      connection.channel.runPendingTasks();
      assertFalse(close.isDone());
      assertEquals(List.of(), connection.sent());
      connection.setWritable(true);
      assertTrue(close.isSuccess());
      assertEquals(List.of(Frame.fin(3)), connection.sent());
    }
  }

  @Test
  void closeWaitsForThePeersWindowForALimitedTime() {
    try (EmbeddedConnection connection = new EmbeddedConnection(CONFIG)) {
      SmuxStreamChannel stream = connection.accept(3);
      ChannelFuture write = stream.writeAndFlush(connection.buffer("x".repeat(INITIAL_WINDOW + 1)));
      ChannelFuture close = stream.close();
      connection.advanceMs(CLOSE_TIMEOUT_MS - 1);
      assertFalse(close.isDone());
      connection.advanceMs(1);
      assertTrue(close.isSuccess());
      assertInstanceOf(ClosedChannelException.class, write.cause());
      assertTrue(connection.sent().contains(Frame.fin(3)));
    }
  }

  @Test
  void closeOfAListenerComesAfterItsWrite() {
    try (EmbeddedConnection connection = new EmbeddedConnection(CONFIG)) {
      SmuxStreamChannel stream = connection.accept(3);
      stream.write(connection.buffer("a")).addListener(ChannelFutureListener.CLOSE);
      ChannelFuture second = stream.write(connection.buffer("b"));
      stream.flush();
      assertEquals(List.of(Frame.push(3, "ab"), Frame.fin(3)), connection.sent());
      assertTrue(second.isSuccess());
      assertFalse(stream.isOpen());
    }
  }

  @Test
  void closedChannelDiscardsWhatThePeerSendsAndAsksItToStop() {
    try (EmbeddedConnection connection = new EmbeddedConnection(CONFIG)) {
      connection.accept(3).close();
      connection.sent();
      connection.receive(Frame.push(3, "x".repeat(40_000)), Frame.push(3, "x".repeat(40_000)));
      assertEquals(Frame.update(3, 80_000 + (1 << 30), 0), lastOf(connection.sent()));
      assertEquals(0, connection.unreadBytes());
    }
  }

  @Test
  void inactiveIsNotFiredWithinAnotherEvent() {
    List<String> order = new ArrayList<>();
    try (EmbeddedConnection connection =
        new EmbeddedConnection(
            CONFIG,
            stream ->
                stream
                    .pipeline()
                    .addFirst(
                        new ChannelInboundHandlerAdapter() {
                          @Override
                          public void channelRead(ChannelHandlerContext ctx, Object msg) {
                            order.add("read begins");
                            ctx.fireChannelRead(msg);
                            ctx.close();
                            order.add("read ends");
                          }

                          @Override
                          public void channelInactive(ChannelHandlerContext ctx) {
                            order.add("inactive");
                          }
                        }))) {
      connection.receive(Frame.syn(3), Frame.push(3, "a"), Frame.push(3, "b"));
      assertEquals(List.of("read begins", "read ends", "inactive"), order);
    }
  }

  @Test
  void deregisteredChannelIsClosedAndItsHandlersLearnOfIt() {
    try (EmbeddedConnection connection = new EmbeddedConnection(CONFIG)) {
      SmuxStreamChannel stream = connection.accept(3);
      stream.deregister();
      connection.channel.runPendingTasks();
      assertEquals(List.of("active", "inactive"), events(connection));
      assertFalse(stream.isOpen());
      assertTrue(connection.sent().contains(Frame.fin(3)));
    }
  }

  @Test
  void pendingWritesFailIfThePeerHasClosedAndReadsNoMore() {
    try (EmbeddedConnection connection = halfClosing()) {
      SmuxStreamChannel stream = connection.accept(3);
      ChannelFuture write = stream.writeAndFlush(connection.buffer("x".repeat(INITIAL_WINDOW + 1)));
      ChannelFuture shutdown = stream.shutdownOutput();
      connection.receive(Frame.fin(3));
      connection.sent();
      assertTrue(stream.isOpen());
      connection.advanceMs(CLOSE_TIMEOUT_MS);
      connection.advanceMs(CLOSE_TIMEOUT_MS);
      assertFalse(stream.isOpen());
      assertInstanceOf(SmuxException.class, write.cause());
      assertInstanceOf(ClosedChannelException.class, shutdown.cause());
      assertInstanceOf(SmuxException.class, connection.recorders.get(0).exceptions.get(0));
    }
  }

  // The end of the connection.

  @Test
  void inputThatArrivedBeforeTheConnectionClosedCanBeRead() {
    try (EmbeddedConnection connection = halfClosing()) {
      SmuxStreamChannel stream = connection.accept(3);
      stream.config().setAutoRead(false);
      connection.receive(Frame.push(3, "a"));
      connection.receive(Frame.push(3, "b"), Frame.fin(3));
      connection.setWritable(false);
      ChannelFuture write = stream.writeAndFlush(connection.buffer("lost"));
      closeByPeer(connection);
      assertNotEquals(null, write.cause());
      assertTrue(stream.isActive());
      stream.read();
      connection.channel.runPendingTasks();
      assertEquals("a", connection.recorders.get(0).received());
      assertTrue(stream.isActive());
      stream.read();
      connection.channel.runPendingTasks();
      assertEquals(
          List.of(
              "active",
              "read a",
              "read complete",
              "read b",
              "read complete",
              "input shutdown",
              "input shutdown read complete",
              "inactive"),
          events(connection).stream().filter(event -> !event.endsWith("writable")).toList());
    }
  }

  @Test
  void inputOfAClosedConnectionIsKeptAsLongAsItIsRead() {
    try (EmbeddedConnection connection = new EmbeddedConnection(CONFIG)) {
      SmuxStreamChannel stream = connection.accept(3);
      stream.config().setAutoRead(false);
      for (String bytes : List.of("a", "b", "c")) {
        connection.receive(Frame.push(3, bytes));
      }
      closeByPeer(connection);
      connection.advanceMs(CLOSE_TIMEOUT_MS - 1);
      stream.read();
      connection.advanceMs(1);
      assertTrue(stream.isActive());
      connection.advanceMs(CLOSE_TIMEOUT_MS - 1);
      assertTrue(stream.isActive());
      connection.advanceMs(1);
      assertFalse(stream.isOpen());
      assertEquals("a", connection.recorders.get(0).received());
    }
  }

  @Test
  void unreadInputIsNotKeptForeverAfterBothDirectionsHaveEnded() {
    try (EmbeddedConnection connection = halfClosing()) {
      SmuxStreamChannel stream = connection.accept(3);
      stream.config().setAutoRead(false);
      connection.receive(Frame.push(3, "a"));
      connection.receive(Frame.push(3, "b"), Frame.fin(3));
      stream.shutdownOutput();
      assertTrue(connection.sent().contains(Frame.fin(3)));
      closeByPeer(connection);
      connection.advanceMs(CLOSE_TIMEOUT_MS - 1);
      stream.read();
      connection.advanceMs(CLOSE_TIMEOUT_MS);
      assertTrue(stream.isActive());
      connection.advanceMs(CLOSE_TIMEOUT_MS);
      assertFalse(stream.isOpen());
      assertEquals("a", connection.recorders.get(0).received());
    }
  }

  @Test
  void inputIsKeptIfAnExceptionMakesAHandlerCloseTheConnection() {
    try (EmbeddedConnection connection = halfClosing()) {
      SmuxStreamChannel stream = connection.accept(3);
      stream.config().setAutoRead(false);
      connection.receive(Frame.push(3, "a"), Frame.fin(3));
      connection.setWritable(false);
      ChannelFuture write = stream.writeAndFlush(connection.buffer("lost"));
      connection.closeOnException();
      connection.channel.pipeline().fireExceptionCaught(new IOException("a test"));
      connection.channel.runPendingTasks();
      assertFalse(connection.channel.isOpen());
      assertNotEquals(null, write.cause());
      assertTrue(stream.isActive());
      stream.read();
      connection.channel.runPendingTasks();
      assertEquals("a", connection.recorders.get(0).received());
      assertTrue(events(connection).contains("input shutdown"));
      assertFalse(stream.isOpen());
    }
  }

  @Test
  void streamWhoseInputWasCutShortReportsNoEndOfInput() {
    try (EmbeddedConnection connection = halfClosing()) {
      connection.accept(3);
      connection.receive(Frame.push(3, "a"));
      closeByPeer(connection);
      assertEquals(List.of("active", "read a", "read complete", "inactive"), events(connection));
    }
  }

  @Test
  void streamsThatComeWithTheEndOfTheConnectionAreServed() {
    try (EmbeddedConnection connection = new EmbeddedConnection(CONFIG)) {
      connection.receive(
          Frame.syn(3), Frame.push(3, "a"), Frame.fin(3), new Frame(9, 9, 9, "broken"));
      assertEquals(List.of("active", "read a", "read complete", "inactive"), events(connection));
      assertEquals(1, connection.exceptions.size());
      assertFalse(connection.channel.isOpen());
    }
  }

  @Test
  void streamsEndAtOnceWhenTheUserClosesTheConnection() {
    try (EmbeddedConnection connection = new EmbeddedConnection(CONFIG)) {
      SmuxStreamChannel stream = connection.accept(3);
      stream.config().setAutoRead(false);
      connection.receive(Frame.push(3, "unread"));
      ChannelFuture write = stream.writeAndFlush(connection.buffer("last"));
      connection.channel.close();
      assertTrue(write.isSuccess());
      assertFalse(stream.isOpen());
      assertEquals(List.of("active", "inactive"), events(connection));
      assertEquals("last", connection.sent(stream));
    }
  }

  @Test
  void aPieceThatIsHalfReadDoesNotKeepAStreamOpenWhenTheUserClosesTheConnection() {
    try (EmbeddedConnection connection = halfClosing()) {
      SmuxStreamChannel stream = connection.accept(3);
      stream.config().setAutoRead(false);
      stream.config().setRecvByteBufAllocator(new FixedRecvByteBufAllocator(1));
      connection.receive(Frame.push(3, "abc"), Frame.fin(3));
      stream.read();
      connection.channel.runPendingTasks();
      assertEquals("a", connection.recorders.get(0).received());
      connection.channel.close();
      connection.channel.runPendingTasks();
      assertFalse(stream.isOpen());
    }
  }

  private static void closeByPeer(EmbeddedConnection connection) {
    connection.channel.unsafe().close(connection.channel.voidPromise());
    connection.channel.runPendingTasks();
  }

  private static EmbeddedConnection halfClosing() {
    return new EmbeddedConnection(
        CONFIG, stream -> stream.config().setOption(ChannelOption.ALLOW_HALF_CLOSURE, true));
  }

  private static EmbeddedConnection withoutAutoRead() {
    return new EmbeddedConnection(
        CONFIG,
        stream -> {
          stream.config().setOption(ChannelOption.ALLOW_HALF_CLOSURE, true);
          stream.config().setAutoRead(false);
        });
  }

  private static Frame lastOf(List<Frame> frames) {
    return frames.get(frames.size() - 1);
  }

  private static List<String> events(EmbeddedConnection connection) {
    return connection.recorders.get(0).events;
  }
}
