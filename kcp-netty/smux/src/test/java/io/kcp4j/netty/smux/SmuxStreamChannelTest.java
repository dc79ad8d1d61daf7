package io.kcp4j.netty.smux;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kcp4j.smux.SmuxConfig;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelOption;
import io.netty.channel.ChannelPromise;
import io.netty.channel.FixedRecvByteBufAllocator;
import io.netty.channel.WriteBufferWaterMark;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** How a stream's channel reads and writes, against a peer that is written out frame by frame. */
class SmuxStreamChannelTest {

  private static final int INITIAL_WINDOW = 256 * 1024;

  // Reading.

  @Test
  void bytesOfThePeerAreReadByTheStreamsHandler() {
    try (EmbeddedConnection connection = new EmbeddedConnection()) {
      connection.receive(Frame.syn(3), Frame.push(3, "ab"), Frame.syn(5), Frame.push(5, "x"));
      assertEquals(List.of("active", "read ab", "read complete"), events(connection, 0));
      assertEquals(List.of("active", "read x", "read complete"), events(connection, 1));
    }
  }

  @Test
  void framesThatAreCutAnywhereAreReadWhole() {
    try (EmbeddedConnection connection = new EmbeddedConnection()) {
      ByteBuf all = connection.bytes(Frame.syn(3), Frame.push(3, "abc"), Frame.push(3, "de"));
      while (all.isReadable()) {
        connection.channel.writeInbound(all.readBytes(1));
      }
      all.release();
      assertEquals("abcde", connection.recorders.get(0).received());
    }
  }

  @Test
  void nothingIsReadWhileAutoReadIsOff() {
    try (EmbeddedConnection connection =
        new EmbeddedConnection(SmuxConfig.DEFAULT, stream -> stream.config().setAutoRead(false))) {
      connection.receive(Frame.syn(3), Frame.push(3, "a"));
      connection.receive(Frame.push(3, "b"));
      assertEquals(List.of("active"), events(connection, 0));
      assertNotEquals(0, connection.unreadBytes());
      connection.accepted.get(0).read();
      connection.channel.runPendingTasks();
      assertEquals(List.of("active", "read a", "read complete"), events(connection, 0));
      connection.accepted.get(0).config().setAutoRead(true);
      connection.channel.runPendingTasks();
      assertEquals("ab", connection.recorders.get(0).received());
    }
  }

  @Test
  void readThatWasRequestedBeforeThereWasInputIsMadeOnce() {
    try (EmbeddedConnection connection =
        new EmbeddedConnection(SmuxConfig.DEFAULT, stream -> stream.config().setAutoRead(false))) {
      SmuxStreamChannel stream = connection.accept(3);
      stream.read();
      connection.receive(Frame.push(3, "a"));
      connection.receive(Frame.push(3, "b"));
      assertEquals("a", connection.recorders.get(0).received());
    }
  }

  @Test
  void receiveBufferAllocatorLimitsTheSizeOfReads() {
    try (EmbeddedConnection connection =
        new EmbeddedConnection(
            SmuxConfig.DEFAULT,
            stream -> stream.config().setRecvByteBufAllocator(new FixedRecvByteBufAllocator(2)))) {
      connection.receive(Frame.syn(3), Frame.push(3, "abcde"));
      assertEquals(
          List.of(
              "active",
              "read ab",
              "read complete",
              "read cd",
              "read complete",
              "read e",
              "read complete"),
          events(connection, 0));
    }
  }

  @Test
  void whatIsReadCountsAsConsumedBeforeTheHandlerReceivesIt() {
    List<Long> unread = new ArrayList<>();
    AtomicReference<EmbeddedConnection> current = new AtomicReference<>();
    try (EmbeddedConnection connection =
        new EmbeddedConnection(
            SmuxConfig.DEFAULT,
            stream ->
                stream
                    .pipeline()
                    .addFirst(
                        new ChannelInboundHandlerAdapter() {
                          @Override
                          public void channelRead(ChannelHandlerContext ctx, Object msg) {
                            unread.add(current.get().unreadBytes());
                            ctx.fireChannelRead(msg);
                          }
                        }))) {
      current.set(connection);
      connection.receive(Frame.syn(3), Frame.push(3, "abc"));
      assertEquals(List.of(0L), unread);
    }
  }

  @Test
  void windowUpdateLeavesWhenAStreamIsReadOutsideOfTheConnectionsReads() {
    try (EmbeddedConnection connection =
        new EmbeddedConnection(SmuxConfig.DEFAULT, stream -> stream.config().setAutoRead(false))) {
      SmuxStreamChannel stream = connection.accept(3);
      connection.receive(Frame.push(3, "abc"));
      assertEquals(List.of(), connection.sent());
      stream.read();
      assertEquals(
          List.of(Frame.update(3, 3, SmuxConfig.DEFAULT.maxStreamBuffer())), connection.sent());
    }
  }

  @Test
  void framesOfThePeerArriveWhileNoStreamReads() {
    try (EmbeddedConnection connection =
        new EmbeddedConnection(SmuxConfig.DEFAULT, stream -> stream.config().setAutoRead(false))) {
      SmuxStreamChannel stream = connection.accept(3);
      connection.receive(Frame.push(3, "unread"));
      ChannelFuture write = stream.writeAndFlush(connection.buffer("x".repeat(INITIAL_WINDOW + 1)));
      assertEquals(INITIAL_WINDOW, connection.sent(stream).length());
      assertFalse(write.isDone());
      connection.receive(Frame.update(3, 1, INITIAL_WINDOW), Frame.syn(5), Frame.nop());
      assertEquals("x", connection.sent(stream));
      assertTrue(write.isSuccess());
      assertEquals(2, connection.accepted.size());
    }
  }

  // Writing.

  @Test
  void streamIsOpenedAndItsWritesLeaveAsFrames() {
    try (EmbeddedConnection connection = EmbeddedConnection.client(SmuxConfig.DEFAULT)) {
      SmuxStreamChannel stream = connection.open(new StreamRecorder());
      ChannelFuture write = stream.writeAndFlush(connection.buffer("hello"));
      assertEquals(List.of(Frame.syn(3), Frame.push(3, "hello")), connection.sent());
      assertTrue(write.isSuccess());
      assertTrue(stream.isActive());
    }
  }

  @Test
  void writesThatAreNotFlushedDoNotLeave() {
    try (EmbeddedConnection connection = new EmbeddedConnection()) {
      SmuxStreamChannel stream = connection.accept(3);
      stream.write(connection.buffer("a"));
      assertEquals("", connection.sent(stream));
      stream.flush();
      assertEquals("a", connection.sent(stream));
    }
  }

  @Test
  void smallWritesShareAFrame() {
    try (EmbeddedConnection connection = new EmbeddedConnection()) {
      SmuxStreamChannel stream = connection.accept(3);
      List<ChannelFuture> writes =
          IntStream.range(0, 100).mapToObj(i -> stream.write(connection.buffer(i + " "))).toList();
      stream.flush();
      String all = IntStream.range(0, 100).mapToObj(i -> i + " ").collect(Collectors.joining());
      assertEquals(List.of(Frame.push(3, all)), connection.sent());
      assertTrue(writes.stream().allMatch(ChannelFuture::isSuccess));
    }
  }

  @Test
  void largeWriteIsSplitIntoFrames() {
    SmuxConfig config = SmuxConfig.builder().maxFrameSize(1000).build();
    try (EmbeddedConnection connection = new EmbeddedConnection(config)) {
      SmuxStreamChannel stream = connection.accept(3);
      stream.write(connection.buffer("a".repeat(2500)));
      stream.writeAndFlush(connection.buffer("b"));
      assertEquals(
          List.of(
              Frame.push(3, "a".repeat(1000)),
              Frame.push(3, "a".repeat(1000)),
              Frame.push(3, "a".repeat(500) + "b")),
          connection.sent());
    }
  }

  @Test
  void emptyWriteSucceedsInItsTurn() {
    SmuxConfig config = SmuxConfig.builder().maxFrameSize(1000).build();
    try (EmbeddedConnection connection = new EmbeddedConnection(config)) {
      SmuxStreamChannel stream = connection.accept(3);
      connection.setWritable(false);
      stream.write(connection.buffer("a"));
      ChannelFuture empty = stream.writeAndFlush(Unpooled.EMPTY_BUFFER);
      assertEquals(List.of(), connection.sent());
      assertFalse(empty.isDone());
      connection.setWritable(true);
      assertEquals("a", connection.sent(stream));
      assertTrue(empty.isSuccess());
      assertTrue(stream.writeAndFlush(Unpooled.EMPTY_BUFFER).isSuccess());
    }
  }

  @Test
  void cancelledWriteDoesNotLeave() {
    try (EmbeddedConnection connection = new EmbeddedConnection()) {
      SmuxStreamChannel stream = connection.accept(3);
      stream.write(connection.buffer("a"));
      assertTrue(stream.write(connection.buffer("b")).cancel(false));
      stream.writeAndFlush(connection.buffer("c"));
      assertEquals("ac", connection.sent(stream));
    }
  }

  @Test
  void writesOfListenersAndOfWritabilityChangesLeave() {
    try (EmbeddedConnection connection = new EmbeddedConnection()) {
      SmuxStreamChannel stream = connection.accept(3);
      stream.config().setWriteBufferWaterMark(new WriteBufferWaterMark(1, 2));
      stream
          .pipeline()
          .addFirst(
              new ChannelInboundHandlerAdapter() {
                @Override
                public void channelWritabilityChanged(ChannelHandlerContext ctx) {
                  if (ctx.channel().isWritable()) {
                    ctx.pipeline().remove(this);
                    ctx.channel().writeAndFlush(connection.buffer("c"));
                  }
                }
              });
      stream
          .writeAndFlush(connection.buffer("a"))
          .addListener(written -> stream.writeAndFlush(connection.buffer("b")));
      assertEquals("abc", connection.sent(stream));
    }
  }

  @Test
  void streamIsWritableAgainWhenItsWritesHaveLeft() {
    try (EmbeddedConnection connection = new EmbeddedConnection()) {
      SmuxStreamChannel stream = connection.accept(3);
      stream.config().setWriteBufferWaterMark(new WriteBufferWaterMark(1000, 2000));
      connection.setWritable(false);
      stream.writeAndFlush(connection.buffer("a".repeat(3000)));
      assertFalse(stream.isWritable());
      connection.setWritable(true);
      assertTrue(stream.isWritable());
      assertEquals(List.of("active", "not writable", "writable"), events(connection, 0));
      assertEquals(3000, connection.sent(stream).length());
    }
  }

  @Test
  void otherStreamsAreWritableWhileOnePeersWindowIsClosed() {
    try (EmbeddedConnection connection = new EmbeddedConnection()) {
      SmuxStreamChannel blocked = connection.accept(3);
      SmuxStreamChannel other = connection.accept(5);
      blocked.writeAndFlush(connection.buffer("x".repeat(2 * INITIAL_WINDOW)));
      connection.sent();
      assertFalse(blocked.isWritable());
      other.writeAndFlush(connection.buffer("free"));
      assertEquals("free", connection.sent(other));
      assertTrue(other.isWritable());
    }
  }

  @Test
  void onlyBuffersCanBeWritten() {
    try (EmbeddedConnection connection = new EmbeddedConnection()) {
      ChannelFuture write = connection.accept(3).writeAndFlush("text");
      assertInstanceOf(UnsupportedOperationException.class, write.cause());
    }
  }

  @Test
  void voidPromiseMayBeUsed() {
    try (EmbeddedConnection connection = new EmbeddedConnection()) {
      SmuxStreamChannel stream = connection.accept(3);
      ChannelPromise promise = stream.voidPromise();
      stream.writeAndFlush(connection.buffer("a"), promise);
      assertEquals("a", connection.sent(stream));
    }
  }

  // Identity and options.

  @Test
  void channelIsNamedAfterItsConnectionAndStream() {
    try (EmbeddedConnection connection = new EmbeddedConnection()) {
      SmuxStreamChannel stream = connection.accept(3);
      SmuxStreamChannel other = connection.accept(5);
      assertEquals(3, stream.streamId());
      assertEquals(connection.channel.id().asShortText() + "/3", stream.id().asShortText());
      assertEquals(connection.channel.id().asLongText() + "/3", stream.id().asLongText());
      assertTrue(stream.id().compareTo(other.id()) < 0);
      assertNotEquals(stream.id(), other.id());
      assertEquals(connection.channel.remoteAddress(), stream.remoteAddress());
      assertEquals(connection.channel.localAddress(), stream.localAddress());
      assertEquals(connection.channel, stream.parent());
    }
  }

  @Test
  void optionsReadAsTheyWereSet() {
    try (EmbeddedConnection connection = new EmbeddedConnection()) {
      SmuxStreamChannelConfig config = connection.accept(3).config();
      assertEquals(3, config.getOption(SmuxChannelOption.PRIORITY));
      assertEquals(16, config.getOption(SmuxChannelOption.WEIGHT));
      assertEquals(false, config.getOption(ChannelOption.ALLOW_HALF_CLOSURE));
      assertTrue(config.setOption(SmuxChannelOption.PRIORITY, 7));
      assertTrue(config.setOption(SmuxChannelOption.WEIGHT, 256));
      assertTrue(config.setOption(ChannelOption.ALLOW_HALF_CLOSURE, true));
      assertEquals(7, config.getOptions().get(SmuxChannelOption.PRIORITY));
      assertEquals(256, config.getOptions().get(SmuxChannelOption.WEIGHT));
      assertEquals(true, config.getOptions().get(ChannelOption.ALLOW_HALF_CLOSURE));
      assertFalse(config.setOption(ChannelOption.TCP_NODELAY, true));
    }
  }

  @Test
  void optionsOutOfRangeAreRefused() {
    try (EmbeddedConnection connection = new EmbeddedConnection()) {
      SmuxStreamChannelConfig config = connection.accept(3).config();
      assertRefused(config, SmuxChannelOption.PRIORITY, -1);
      assertRefused(config, SmuxChannelOption.PRIORITY, 8);
      assertRefused(config, SmuxChannelOption.WEIGHT, 0);
      assertRefused(config, SmuxChannelOption.WEIGHT, 257);
      assertTrue(config.setOption(SmuxChannelOption.PRIORITY, 0));
      assertTrue(config.setOption(SmuxChannelOption.WEIGHT, 1));
    }
  }

  private static void assertRefused(
      SmuxStreamChannelConfig config, ChannelOption<Integer> option, int value) {
    Integer before = config.getOption(option);
    assertThrows(IllegalArgumentException.class, () -> config.setOption(option, value));
    assertEquals(before, config.getOption(option));
  }

  @Test
  void streamOfHigherPriorityIsServedFirst() {
    try (EmbeddedConnection connection = new EmbeddedConnection()) {
      SmuxStreamChannel bulk = connection.accept(3);
      SmuxStreamChannel urgent = connection.accept(5);
      urgent.config().setOption(SmuxChannelOption.PRIORITY, 0);
      connection.setWritable(false);
      bulk.writeAndFlush(connection.buffer("b".repeat(50_000)));
      urgent.writeAndFlush(connection.buffer("urgent"));
      connection.setWritable(true);
      assertEquals(Frame.push(5, "urgent"), connection.sent().get(0));
    }
  }

  @Test
  void bindAndConnectAreRefused() {
    try (EmbeddedConnection connection = new EmbeddedConnection()) {
      SmuxStreamChannel stream = connection.accept(3);
      assertInstanceOf(
          UnsupportedOperationException.class, stream.bind(stream.localAddress()).cause());
      assertInstanceOf(
          UnsupportedOperationException.class, stream.connect(stream.remoteAddress()).cause());
      assertTrue(stream.isActive());
    }
  }

  private static List<String> events(EmbeddedConnection connection, int stream) {
    return connection.recorders.get(stream).events;
  }
}
