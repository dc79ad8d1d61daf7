package io.kcp4j.netty;

import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kcp4j.Delivery;
import io.kcp4j.EndReason;
import io.kcp4j.KcpCounter;
import io.kcp4j.lanes.LaneConfig;
import io.kcp4j.lanes.LaneKind;
import io.kcp4j.lanes.LanesConfig;
import io.netty.buffer.Unpooled;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelHandler;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.ChannelOption;
import io.netty.channel.WriteBufferWaterMark;
import io.netty.channel.socket.ChannelOutputShutdownEvent;
import io.netty.util.AttributeKey;
import io.netty.util.ReferenceCountUtil;
import io.netty.util.concurrent.Future;
import io.netty.util.concurrent.Promise;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.NotYetConnectedException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import java.util.function.Supplier;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Lanes as channels. */
@Timeout(60)
class LaneChannelTest {

  /** The channels of lanes that the peer has begun, by id; a later one replaces an earlier one. */
  private final Map<Integer, LaneChannel> accepted = new ConcurrentHashMap<>();

  /** Their handlers. */
  private final Map<Integer, ChannelHandler> handlers = new ConcurrentHashMap<>();

  private final AtomicInteger writable = new AtomicInteger();

  private static Fixture laneFixture(TransportUnderTest transport) {
    Fixture fixture = new Fixture(transport);
    fixture.serverBootstrap.childOption(KcpChannelOption.DELIVERY, Delivery.LANES);
    fixture.bootstrap.option(KcpChannelOption.DELIVERY, Delivery.LANES);
    return fixture;
  }

  private static Fixture laneFixture() {
    return laneFixture(TransportUnderTest.NIO);
  }

  private LaneMultiplexHandler acceptor(Supplier<ChannelHandler> laneHandler) {
    return new LaneMultiplexHandler(
        new ChannelInitializer<LaneChannel>() {
          @Override
          protected void initChannel(LaneChannel lane) {
            ChannelHandler handler = laneHandler.get();
            lane.pipeline().addLast(handler);
            handlers.put(lane.lane(), handler);
            accepted.put(lane.lane(), lane);
          }
        });
  }

  private Fixture fixture(TransportUnderTest transport, Supplier<ChannelHandler> laneHandler) {
    Fixture fixture = laneFixture(transport);
    fixture.serve(() -> acceptor(laneHandler));
    return fixture;
  }

  private Fixture fixture(Supplier<ChannelHandler> laneHandler) {
    return fixture(TransportUnderTest.NIO, laneHandler);
  }

  private static LaneChannel open(KcpChannel session, int lane, ChannelHandler handler) {
    return new LaneChannelBootstrap(session)
        .handler(handler)
        .open(lane)
        .syncUninterruptibly()
        .getNow();
  }

  private static ChannelFuture send(LaneChannel lane, String text) {
    return lane.writeAndFlush(Fixture.buffer(lane, text.getBytes(StandardCharsets.US_ASCII)));
  }

  private static ChannelFuture send(LaneChannel lane, int bytes) {
    return lane.writeAndFlush(Fixture.buffer(lane, Fixture.randomBytes(bytes)));
  }

  /** A message in the pipeline of a session. */
  private static ChannelFuture sendMessage(KcpChannel session, int lane, String text) {
    byte[] bytes = text.getBytes(StandardCharsets.US_ASCII);
    return session.writeAndFlush(new LaneMessage(lane, Fixture.buffer(session, bytes)));
  }

  /** Returns when no read is pending that was requested before. */
  private static void stopReading(LaneChannel lane) {
    lane.config().setAutoRead(false);
    lane.eventLoop().submit(() -> {}).syncUninterruptibly();
  }

  /** Runs on the channel's event loop. */
  private static void call(KcpChannel session, Runnable task) {
    session.eventLoop().submit(task).syncUninterruptibly();
  }

  private LaneChannel accepted(int lane) {
    await().until(() -> accepted.containsKey(lane));
    return accepted.get(lane);
  }

  /** What the channel has recorded that the peer has begun last. */
  private LaneRecorder recorder(int lane) {
    accepted(lane);
    return (LaneRecorder) handlers.get(lane);
  }

  // Opening

  @OverEachTransport
  void laneThatOneSideBeginsIsAChannelOfTheOther(TransportUnderTest transport) {
    try (Fixture fixture = fixture(transport, Echo::new)) {
      KcpChannel session = fixture.connect(new ChannelInboundHandlerAdapter());
      for (int id : new int[] {0, 1, 77, 1023}) {
        LaneRecorder recorder = new LaneRecorder();
        LaneChannel lane = open(session, id, recorder);
        assertEquals(id, lane.lane());
        assertSame(session, lane.parent());
        assertEquals(session.remoteAddress(), lane.remoteAddress());
        assertEquals(session.localAddress(), lane.localAddress());
        send(lane, "a");
        send(lane, 30_000);
        send(lane, "c").syncUninterruptibly();
        await().until(() -> recorder.messages().equals(List.of("a", "30000 bytes", "c")));
      }
      assertEquals(4, accepted.size());
    }
  }

  @Test
  void bothSidesFindFreeLanesThatAreNotTheSame() throws Exception {
    try (Fixture fixture = fixture(LaneRecorder::new)) {
      KcpChannel session = fixture.connect(new ChannelInboundHandlerAdapter());
      KcpChannel child = fixture.child();
      await().until(() -> child.lanes().isOpen());
      List<Integer> ids = new ArrayList<>();
      for (int i = 0; i < 3; i++) {
        for (KcpChannel side : List.of(session, child)) {
          ids.add(new LaneChannelBootstrap(side).open().syncUninterruptibly().getNow().lane());
        }
      }
      assertEquals(List.of(0, 1, 2, 3, 4, 5), ids);
    }
  }

  @Test
  void optionsAttributesAndSettingsAreApplied() {
    AttributeKey<String> key = AttributeKey.valueOf("LaneChannelTest");
    LaneConfig config = LaneConfig.of(LaneKind.RELIABLE_UNORDERED).withPriority(1).withWeight(99);
    try (Fixture fixture = fixture(LaneRecorder::new)) {
      KcpChannel session = fixture.connect(new ChannelInboundHandlerAdapter());
      LaneChannel lane =
          new LaneChannelBootstrap(session)
              .config(config)
              .option(ChannelOption.AUTO_READ, false)
              .attr(key, "value")
              .open(5)
              .syncUninterruptibly()
              .getNow();
      assertEquals(config, lane.laneConfig());
      assertFalse(lane.config().isAutoRead());
      assertEquals("value", lane.attr(key).get());
      send(lane, "a");
      await().until(() -> accepted.containsKey(5));
    }
  }

  private static void assertFails(
      Class<? extends Throwable> type, String message, Future<LaneChannel> opening) {
    Throwable cause = opening.awaitUninterruptibly().cause();
    assertInstanceOf(type, cause);
    assertTrue(String.valueOf(cause.getMessage()).contains(message), cause.toString());
  }

  @Test
  void lanesThatCannotBeOpenedFailAndSayWhy() {
    try (Fixture fixture = fixture(LaneRecorder::new)) {
      KcpChannel session = fixture.connect(new ChannelInboundHandlerAdapter());
      LaneChannelBootstrap bootstrap =
          new LaneChannelBootstrap(session).handler(new LaneRecorder());
      LaneChannel lane = bootstrap.open(1).syncUninterruptibly().getNow();
      assertFails(IllegalStateException.class, "lane 1: in use", bootstrap.open(1));
      assertFails(RuntimeException.class, "not a @Sharable handler", bootstrap.open(2));
      LaneChannelBootstrap bare = new LaneChannelBootstrap(session);
      assertFails(IllegalArgumentException.class, "lane: 1024", bare.open(1024));
      assertFails(IllegalArgumentException.class, "lane: -1", bare.open(-1));
      assertTrue(bare.open(2).syncUninterruptibly().isSuccess(), "the failed one left it free");
      assertTrue(
          new LaneChannelBootstrap(session)
              .option(KcpChannelOption.SEND_WINDOW, 5)
              .open(3)
              .syncUninterruptibly()
              .isSuccess(),
          "options of others are logged");
      assertTrue(lane.isActive());
      session.close().syncUninterruptibly();
      assertFails(ClosedChannelException.class, "", bare.open(4));
    }
  }

  @Test
  void laneKeepsItsSettingsIfItsChannelCannotBeSetUp() {
    try (Fixture fixture = fixture(LaneRecorder::new)) {
      KcpChannel session = fixture.connect(new ChannelInboundHandlerAdapter());
      LaneChannelBootstrap bootstrap =
          new LaneChannelBootstrap(session)
              .config(LaneConfig.DEFAULT.withPriority(1))
              .handler(new LaneRecorder());
      bootstrap.open(1).syncUninterruptibly();
      assertFails(RuntimeException.class, "not a @Sharable handler", bootstrap.open(2));
      LaneChannel lane = open(session, 2, new LaneRecorder());
      assertEquals(LaneConfig.DEFAULT, lane.laneConfig());
    }
  }

  @Test
  void promiseThatIsCancelledOpensNoLane() {
    try (Fixture fixture = fixture(LaneRecorder::new)) {
      KcpChannel session = fixture.connect(new ChannelInboundHandlerAdapter());
      call(
          session,
          () -> {
            Promise<LaneChannel> promise = session.eventLoop().newPromise();
            assertTrue(promise.cancel(false));
            new LaneChannelBootstrap(session).open(promise);
          });
      assertEquals(
          0, new LaneChannelBootstrap(session).open().syncUninterruptibly().getNow().lane());
    }
  }

  @Test
  void lanesCannotBeOpenedBeforeTheSessionIsActive() {
    try (Fixture fixture = fixture(LaneRecorder::new)) {
      KcpChannel session =
          (KcpChannel)
              fixture
                  .bootstrap
                  .clone()
                  .handler(new ChannelInboundHandlerAdapter())
                  .register()
                  .syncUninterruptibly()
                  .channel();
      assertFails(NotYetConnectedException.class, "", new LaneChannelBootstrap(session).open());
    }
  }

  @Test
  void messagesOfASessionAreRefusedOnALaneThatHasAChannel() {
    try (Fixture fixture = fixture(LaneRecorder::new)) {
      KcpChannel session = fixture.connect(new ChannelInboundHandlerAdapter());
      LaneChannel lane = open(session, 1, new LaneRecorder());
      Throwable refusal = sendMessage(session, 1, "a").awaitUninterruptibly().cause();
      assertEquals(
          "lane 1: has a channel (expected: none)",
          assertInstanceOf(IllegalStateException.class, refusal).getMessage());
      send(lane, "b").syncUninterruptibly();
      LaneRecorder recorder = recorder(1);
      await().until(() -> recorder.messages().equals(List.of("b")));
    }
  }

  @Test
  void sessionsWithoutLanesOpenNone() {
    try (Fixture fixture = new Fixture(TransportUnderTest.NIO)) {
      fixture.serve(Echo::new);
      KcpChannel stream = fixture.connect(new ChannelInboundHandlerAdapter());
      assertFails(
          IllegalStateException.class, "DELIVERY: STREAM", new LaneChannelBootstrap(stream).open());
      LaneRecorder recorder = new LaneRecorder();
      stream.pipeline().addLast(recorder);
      stream
          .eventLoop()
          .submit(() -> stream.pipeline().addFirst(multiplexer()))
          .awaitUninterruptibly();
      await().until(() -> recorder.exceptions.size() == 1);
    }
  }

  private static LaneMultiplexHandler multiplexer() {
    return new LaneMultiplexHandler(
        new ChannelInitializer<LaneChannel>() {
          @Override
          protected void initChannel(LaneChannel lane) {}
        });
  }

  @Test
  void handlerOfManyLanesHasToBeSharable() {
    assertThrows(IllegalArgumentException.class, () -> new LaneMultiplexHandler(new Echo()));
  }

  // Lanes beside each other

  @Test
  void unreadLaneBlocksNoOther() {
    try (Fixture fixture = fixture(LaneRecorder::new)) {
      KcpChannel session = fixture.connect(new ChannelInboundHandlerAdapter());
      LaneChannel unread = open(session, 1, new LaneRecorder());
      LaneChannel other = open(session, 2, new LaneRecorder());
      send(unread, "first");
      accepted(1).config().setAutoRead(false);
      List<ChannelFuture> waiting = new ArrayList<>();
      while (waiting.size() < 200) {
        waiting.add(send(unread, 20_000));
      }
      for (int i = 0; i < 300; i++) {
        send(other, 10_000);
      }
      LaneRecorder others = recorder(2);
      await().until(() -> others.messages().size() == 300);
      assertFalse(waiting.get(199).isDone());
      assertFalse(unread.isWritable());
      await().until(other::isWritable);

      accepted(1).config().setAutoRead(true);

      LaneRecorder read = recorder(1);
      await().until(() -> read.messages().size() == 201);
      assertTrue(waiting.get(199).syncUninterruptibly().isSuccess());
      await().until(unread::isWritable);
    }
  }

  /** Throws at each message. */
  private static final class Throwing extends LaneRecorder {
    @Override
    public void channelRead(ChannelHandlerContext ctx, Object msg) {
      ReferenceCountUtil.release(msg);
      throw new IllegalStateException("a defect of the user");
    }
  }

  @Test
  void handlerThatThrowsConcernsItsLaneAlone() throws Exception {
    LaneRecorder throwing = new Throwing();
    LaneRecorder others = new LaneRecorder();
    List<ChannelHandler> next = new ArrayList<>(List.of(throwing, others));
    try (Fixture fixture = fixture(() -> next.remove(0))) {
      KcpChannel session = fixture.connect(new ChannelInboundHandlerAdapter());
      LaneChannel thrown = open(session, 1, new LaneRecorder());
      send(thrown, "a");
      accepted(1);
      LaneChannel other = open(session, 2, new LaneRecorder());
      for (int i = 0; i < 100; i++) {
        send(thrown, "a");
        send(other, "b");
      }
      await().until(() -> others.messages().size() == 100);
      await().until(() -> throwing.exceptions.size() == 101);
      assertTrue(thrown.isActive());
      assertTrue(fixture.child().isActive());
    }
  }

  @Test
  void allocatorThatThrowsClosesItsLaneAlone() {
    try (Fixture fixture = fixture(LaneRecorder::new)) {
      KcpChannel session = fixture.connect(new ChannelInboundHandlerAdapter());
      LaneRecorder recorder = new LaneRecorder();
      LaneChannel broken =
          new LaneChannelBootstrap(session)
              .handler(recorder)
              .option(
                  ChannelOption.RECVBUF_ALLOCATOR,
                  () -> {
                    throw new IllegalStateException("a defect of the user");
                  })
              .open(1)
              .syncUninterruptibly()
              .getNow();
      send(broken, "a").syncUninterruptibly();
      send(accepted(1), "b");
      broken.closeFuture().syncUninterruptibly();
      assertEquals(1, recorder.exceptions.size());
      assertTrue(send(open(session, 2, new LaneRecorder()), "c").syncUninterruptibly().isSuccess());
    }
  }

  // Closing

  @Test
  void closeSendsWhatWasFlushedAndClosesThePeersChannelBehindIt() {
    try (Fixture fixture = fixture(LaneRecorder::new)) {
      KcpChannel session = fixture.connect(new ChannelInboundHandlerAdapter());
      LaneChannel other = open(session, 2, new LaneRecorder());
      for (int round = 0; round < 8; round++) {
        LaneChannel lane =
            await()
                .until(
                    () -> {
                      Future<LaneChannel> opening =
                          new LaneChannelBootstrap(session).handler(new LaneRecorder()).open(1);
                      return opening.awaitUninterruptibly().getNow();
                    },
                    opened -> opened != null);
        accepted.remove(1);
        for (int i = 0; i < 50; i++) {
          send(lane, 20_000);
        }
        lane.close().syncUninterruptibly();
        LaneChannel peer = accepted(1);
        peer.closeFuture().syncUninterruptibly();
        assertEquals(50, recorder(1).messages().size());
        send(other, "b" + round).syncUninterruptibly();
      }
      LaneRecorder others = recorder(2);
      await().until(() -> others.messages().size() == 8);
    }
  }

  @Test
  void endOfALaneIsNoticedByARead() {
    try (Fixture fixture = fixture(LaneRecorder::new)) {
      KcpChannel session = fixture.connect(new ChannelInboundHandlerAdapter());
      LaneChannel lane = open(session, 1, new LaneRecorder());
      LaneChannel other = open(session, 2, new LaneRecorder());
      send(lane, "a").syncUninterruptibly();
      LaneRecorder recorder = recorder(1);
      await().until(() -> recorder.messages().size() == 1);
      LaneChannel peer = accepted(1);
      stopReading(peer);
      lane.close().syncUninterruptibly();
      send(other, "b").syncUninterruptibly(); // Arrives behind the end.
      LaneRecorder others = recorder(2);
      await().until(() -> others.messages().size() == 1);
      assertTrue(peer.isOpen());
      peer.read();
      peer.closeFuture().syncUninterruptibly();
    }
  }

  @Test
  void laneThatIsClosedWhileItsPeerSendsStopsThat() {
    try (Fixture fixture = fixture(LaneRecorder::new)) {
      fixture.bootstrap.option(KcpChannelOption.RATE_LIMIT, 2_000_000); // 10 s until all is sent
      KcpChannel session = fixture.connect(new ChannelInboundHandlerAdapter());
      LaneChannel stopped = open(session, 1, new LaneRecorder());
      LaneChannel other = open(session, 2, new LaneRecorder());
      List<ChannelFuture> writes = new ArrayList<>();
      for (int i = 0; i < 1_000; i++) {
        writes.add(send(stopped, 20_000));
        send(other, 100);
      }
      accepted(1).close();

      stopped.closeFuture().syncUninterruptibly();
      assertInstanceOf(IOException.class, writes.get(999).awaitUninterruptibly().cause());
      LaneRecorder others = recorder(2);
      await().until(() -> others.messages().size() == 1_000);
      assertTrue(session.isActive());
      await()
          .until(
              () -> new LaneChannelBootstrap(session).open(1).awaitUninterruptibly().isSuccess());
    }
  }

  @Test
  void bothSidesMayCloseAtOnce() {
    try (Fixture fixture = fixture(LaneRecorder::new)) {
      KcpChannel session = fixture.connect(new ChannelInboundHandlerAdapter());
      for (int round = 0; round < 8; round++) {
        accepted.remove(1);
        LaneChannel lane =
            await()
                .until(
                    () -> new LaneChannelBootstrap(session).open(1).awaitUninterruptibly().getNow(),
                    opened -> opened != null);
        send(lane, "a").syncUninterruptibly();
        LaneChannel peer = accepted(1);
        send(peer, "b");
        ChannelFuture closed = lane.close();
        peer.close().syncUninterruptibly();
        closed.syncUninterruptibly();
      }
      assertEquals(1, accepted.size());
    }
  }

  @Test
  void endOfTheSessionClosesItsLanesAndFailsTheirWrites() throws Exception {
    try (Fixture fixture = fixture(LaneRecorder::new)) {
      KcpChannel session = fixture.connect(new ChannelInboundHandlerAdapter());
      LaneChannel lane = open(session, 1, new LaneRecorder());
      send(lane, "a");
      accepted(1).config().setAutoRead(false);
      List<ChannelFuture> writes = new ArrayList<>();
      for (int i = 0; i < 200; i++) {
        writes.add(send(lane, 20_000));
      }
      session.eventLoop().submit(() -> {}).syncUninterruptibly(); // All are written before the end.
      fixture.child().abort(1);
      lane.closeFuture().syncUninterruptibly();
      accepted(1).closeFuture().syncUninterruptibly();
      Throwable cause = writes.get(199).awaitUninterruptibly().cause();
      assertEquals(
          EndReason.RESET, assertInstanceOf(KcpSessionClosedException.class, cause).reason());
      assertFalse(lane.isActive());
    }
  }

  // Writing and reading

  @Test
  void whatIsNoMessageOfTheLaneIsRefused() {
    try (Fixture fixture = fixture(LaneRecorder::new)) {
      KcpChannel session = fixture.connect(new ChannelInboundHandlerAdapter());
      LaneChannel lane = open(session, 1, new LaneRecorder());
      int max = lane.maxMessageBytes();
      assertEquals(LanesConfig.DEFAULT_BUDGET_BYTES / 8 - 64, max);
      assertInstanceOf(
          IllegalArgumentException.class, send(lane, max + 1).awaitUninterruptibly().cause());
      assertInstanceOf(
          UnsupportedOperationException.class,
          lane.writeAndFlush(new LaneMessage(1, Unpooled.buffer())).awaitUninterruptibly().cause());
      assertInstanceOf(
          UnsupportedOperationException.class,
          lane.bind(new InetSocketAddress(0)).awaitUninterruptibly().cause());
      assertInstanceOf(
          UnsupportedOperationException.class,
          lane.connect(new InetSocketAddress(1)).awaitUninterruptibly().cause());
      send(lane, max).syncUninterruptibly();
      await().until(() -> accepted.containsKey(1));
    }
  }

  @Test
  void eachReadPassesSomeMessages() {
    try (Fixture fixture = fixture(LaneRecorder::new)) {
      KcpChannel session = fixture.connect(new ChannelInboundHandlerAdapter());
      LaneChannel lane = open(session, 1, new LaneRecorder());
      send(lane, "first");
      LaneChannel peer = accepted(1);
      stopReading(peer);
      LaneRecorder recorder = recorder(1);
      await().until(() -> recorder.messages().size() == 1);
      for (int i = 0; i < 20; i++) {
        send(lane, "m" + i);
      }
      await()
          .until(
              () ->
                  peer.eventLoop()
                      .submit(() -> peer.parent().lanes().stats(1).unreadMessages())
                      .syncUninterruptibly()
                      .getNow()
                      .equals(20));
      assertEquals(1, recorder.messages().size());
      peer.read();
      await().until(() -> recorder.messages().size() > 1);
      assertTrue(recorder.messages().size() <= 17, "no more than 16 at a time");
      peer.config().setAutoRead(true);
      await().until(() -> recorder.messages().size() == 21);
    }
  }

  @Test
  void writabilityFollowsTheLane() {
    try (Fixture fixture = fixture(LaneRecorder::new)) {
      KcpChannel session = fixture.connect(new ChannelInboundHandlerAdapter());
      LaneChannel lane =
          new LaneChannelBootstrap(session)
              .option(
                  ChannelOption.WRITE_BUFFER_WATER_MARK, new WriteBufferWaterMark(10_000, 20_000))
              .open(1)
              .syncUninterruptibly()
              .getNow();
      send(lane, "a");
      accepted(1).config().setAutoRead(false);
      int[] sent = {0};
      await()
          .until(
              () -> {
                sent[0]++;
                send(lane, 19_000);
                return !lane.isWritable();
              });
      accepted(1).config().setAutoRead(true);
      await().until(lane::isWritable);
      LaneRecorder recorder = recorder(1);
      await().until(() -> recorder.messages().size() == sent[0] + 1);
    }
  }

  @Test
  void unreliableLanesAreChannelsToo() {
    try (Fixture fixture = fixture(Echo::new)) {
      KcpChannel session = fixture.connect(new ChannelInboundHandlerAdapter());
      LaneRecorder recorder = new LaneRecorder();
      LaneChannel lane =
          new LaneChannelBootstrap(session)
              .config(LaneConfig.of(LaneKind.UNRELIABLE_SEQUENCED))
              .handler(recorder)
              .open(1)
              .syncUninterruptibly()
              .getNow();
      await()
          .until(
              () -> {
                send(lane, "a").syncUninterruptibly();
                return recorder.messages().contains("a");
              });
      lane.close().syncUninterruptibly();
      accepted(1).closeFuture().syncUninterruptibly();
    }
  }

  // Ends of a lane

  /** Replies to each message, and closes at once. */
  private static final class ReplyAndClose extends ChannelInboundHandlerAdapter {
    @Override
    public void channelRead(ChannelHandlerContext ctx, Object msg) {
      ctx.writeAndFlush(msg);
      ctx.close();
    }
  }

  @Test
  void replyIsReadThoughThePeerClosesBehindIt() {
    try (Fixture fixture = fixture(ReplyAndClose::new)) {
      KcpChannel session = fixture.connect(new ChannelInboundHandlerAdapter());
      for (int id = 0; id < 10; id++) {
        LaneRecorder recorder = new LaneRecorder();
        LaneChannel lane = open(session, id, recorder);
        send(lane, "request");
        lane.closeFuture().syncUninterruptibly();
        assertEquals(List.of("request"), recorder.messages());
        assertEquals(List.of(), recorder.exceptions);
      }
    }
  }

  @Test
  void writesFailWhenThePeerReadsNoMoreAndReadingGoesOn() throws Exception {
    try (Fixture fixture = laneFixture()) {
      LaneRecorder served = new LaneRecorder();
      fixture.serve(() -> served);
      KcpChannel session = fixture.connect(new ChannelInboundHandlerAdapter());
      LaneRecorder recorder = new LaneRecorder();
      LaneChannel lane = open(session, 1, recorder);
      send(lane, "a");
      await().until(() -> served.messages().equals(List.of("1:a")));
      KcpChannel child = fixture.child();
      call(child, () -> child.lanes().discardInput(1));
      await().until(() -> recorder.events.contains(ChannelOutputShutdownEvent.INSTANCE));
      assertInstanceOf(IOException.class, send(lane, "b").awaitUninterruptibly().cause());
      assertFalse(lane.isWritable());
      child.writeAndFlush(
          new LaneMessage(1, Unpooled.copiedBuffer("c", StandardCharsets.US_ASCII)));
      await().until(() -> recorder.messages().equals(List.of("c")));
      assertTrue(lane.isActive());
      call(child, () -> child.lanes().shutdownOutput(1));
      lane.closeFuture().syncUninterruptibly();
    }
  }

  @Test
  void laneCanBeOpenedAgainThoughThePeerSendsNothingOnIt() {
    try (Fixture fixture = laneFixture()) {
      LaneRecorder served = new LaneRecorder();
      fixture.serve(() -> served);
      KcpChannel session = fixture.connect(new ChannelInboundHandlerAdapter());
      for (int round = 0; round < 3; round++) {
        LaneChannel lane =
            await()
                .until(
                    () -> new LaneChannelBootstrap(session).open(1).awaitUninterruptibly().getNow(),
                    opened -> opened != null);
        send(lane, "a" + round);
        lane.close().syncUninterruptibly();
      }
      await().until(() -> served.messages().equals(List.of("1:a0", "1:a1", "1:a2")));
    }
  }

  @Test
  void messagesWaitUntilThePeerHasReadTheEarlierEndOfTheirLane() {
    try (Fixture fixture = fixture(ReplyAndClose::new)) {
      LaneRecorder recorder = new LaneRecorder();
      KcpChannel session = fixture.connect(recorder);
      session.config().setAutoRead(false);
      for (String text : List.of("a", "b")) {
        accepted.remove(1);
        await().until(() -> sendMessage(session, 1, text).awaitUninterruptibly().isSuccess());
        call(session, () -> session.lanes().shutdownOutput(1));
        accepted(1).closeFuture().syncUninterruptibly();
      }
      assertEquals(List.of(), recorder.messages());

      session.config().setAutoRead(true);

      await().until(() -> recorder.messages().equals(List.of("1:a", "1:b")));
      LaneEvent end = new LaneEvent(1, LaneEvent.Type.INPUT_ENDED);
      await().until(() -> recorder.events.stream().filter(end::equals).count() == 2);
    }
  }

  @Test
  void messagesThatWaitForAnEarlierEndFailWithTheSession() {
    try (Fixture fixture = fixture(LaneRecorder::new)) {
      KcpChannel session = fixture.connect(new LaneRecorder());
      session.config().setAutoRead(false);
      List<ChannelFuture> replies = new ArrayList<>();
      for (String text : List.of("a", "b")) {
        accepted.remove(1);
        await().until(() -> sendMessage(session, 1, text).awaitUninterruptibly().isSuccess());
        LaneChannel lane = accepted(1);
        replies.add(send(lane, "reply"));
        lane.close().syncUninterruptibly();
        call(session, () -> session.lanes().shutdownOutput(1));
      }
      assertTrue(replies.get(0).syncUninterruptibly().isSuccess());
      assertFalse(replies.get(1).isDone());
      session.abort(1);
      assertInstanceOf(IOException.class, replies.get(1).awaitUninterruptibly().cause());
    }
  }

  @Test
  void deregisteredLaneIsClosed() {
    try (Fixture fixture = fixture(LaneRecorder::new)) {
      KcpChannel session = fixture.connect(new ChannelInboundHandlerAdapter());
      AtomicBoolean isInactive = new AtomicBoolean();
      LaneChannel lane =
          open(
              session,
              1,
              new ChannelInboundHandlerAdapter() {
                @Override
                public void channelInactive(ChannelHandlerContext ctx) {
                  isInactive.set(true);
                }
              });
      send(lane, "a").syncUninterruptibly();
      LaneChannel peer = accepted(1);
      lane.deregister().syncUninterruptibly();
      lane.closeFuture().syncUninterruptibly();
      peer.closeFuture().syncUninterruptibly();
      await().untilTrue(isInactive);
    }
  }

  // Ends of the session

  @Test
  void closeOfTheSessionSendsWhatLanesHaveFlushed() {
    try (Fixture fixture = fixture(LaneRecorder::new)) {
      fixture.bootstrap.option(KcpChannelOption.LINGER, 30_000);
      KcpChannel session = fixture.connect(new ChannelInboundHandlerAdapter());
      LaneChannel lane = open(session, 1, new LaneRecorder());
      List<ChannelFuture> writes = new ArrayList<>();
      call(
          session,
          () -> {
            IntStream.range(0, 10).forEach(i -> writes.add(send(lane, 20_000)));
            session.close();
            writes.add(send(lane, "late"));
            assertFalse(lane.isWritable());
          });
      assertInstanceOf(IOException.class, writes.remove(10).awaitUninterruptibly().cause());
      writes.forEach(ChannelFuture::syncUninterruptibly);
      session.closeFuture().syncUninterruptibly();
      LaneRecorder recorder = recorder(1);
      await().until(() -> recorder.messages().size() == 10);
    }
  }

  @Test
  void halfCloseOfTheSessionSendsWhatLanesHaveFlushed() {
    try (Fixture fixture = fixture(LaneRecorder::new)) {
      fixture.bootstrap.option(ChannelOption.ALLOW_HALF_CLOSURE, true);
      KcpChannel session = fixture.connect(new ChannelInboundHandlerAdapter());
      LaneChannel lane = open(session, 1, new LaneRecorder());
      List<ChannelFuture> writes = new ArrayList<>();
      call(
          session,
          () -> {
            IntStream.range(0, 10).forEach(i -> writes.add(send(lane, 20_000)));
            session.shutdownOutput();
            writes.add(send(lane, "late"));
            assertFalse(lane.isWritable());
          });
      assertInstanceOf(IOException.class, writes.remove(10).awaitUninterruptibly().cause());
      writes.forEach(ChannelFuture::syncUninterruptibly);
      LaneRecorder recorder = recorder(1);
      await().until(() -> recorder.messages().size() == 10);
      accepted(1).parent().closeFuture().syncUninterruptibly();
    }
  }

  @Test
  void sessionClosesWhenALaneHasReadTheRestOfAPeerThatHasClosed() throws Exception {
    try (Fixture fixture = fixture(LaneRecorder::new)) {
      KcpChannel session = fixture.connect(new ChannelInboundHandlerAdapter());
      LaneChannel lane = open(session, 1, new LaneRecorder());
      send(lane, "a");
      LaneChannel peer = accepted(1);
      stopReading(peer);
      LaneRecorder recorder = recorder(1);
      await().until(() -> recorder.messages().size() == 1);
      IntStream.range(0, 3).forEach(i -> send(lane, "b"));
      session.close().syncUninterruptibly();
      KcpChannel child = fixture.child();
      await().until(() -> child.session().get().hasPeerClosed());
      assertTrue(child.isActive());

      peer.config().setAutoRead(true);

      child.closeFuture().syncUninterruptibly();
      assertEquals(4, recorder.messages().size());
    }
  }

  @Test
  void sessionClosesWhenALaneIsClosedThatAPeerHasLeftUnread() throws Exception {
    try (Fixture fixture = fixture(LaneRecorder::new)) {
      KcpChannel session = fixture.connect(new ChannelInboundHandlerAdapter());
      LaneChannel lane = open(session, 1, new LaneRecorder());
      send(lane, "a");
      LaneChannel peer = accepted(1);
      peer.config().setAutoRead(false);
      send(lane, "b");
      session.close().syncUninterruptibly();
      KcpChannel child = fixture.child();
      await().until(() -> child.session().get().hasPeerClosed());
      peer.close();
      child.closeFuture().syncUninterruptibly();
    }
  }

  // Before the limits of the peer are known

  /** Runs on the event loop of each child, before its client's limits are known. */
  private static final class AtOnce extends ChannelInboundHandlerAdapter {
    private final Consumer<KcpChannel> action;

    AtOnce(Consumer<KcpChannel> action) {
      this.action = action;
    }

    @Override
    public void channelActive(ChannelHandlerContext ctx) {
      action.accept((KcpChannel) ctx.channel());
      ctx.fireChannelActive();
    }
  }

  @Test
  void messagesThatTheClientDoesNotTakeFailWhenItsLimitsAreKnown() {
    BlockingQueue<ChannelFuture> writes = new LinkedBlockingQueue<>();
    try (Fixture fixture = laneFixture()) {
      fixture.bootstrap.option(
          KcpChannelOption.LANES, LanesConfig.builder().maxLanes(16).budgetBytes(4 << 20).build());
      fixture.serve(
          () ->
              new AtOnce(
                  child -> {
                    LaneChannelBootstrap bootstrap = new LaneChannelBootstrap(child);
                    writes.add(send(bootstrap.open(20).getNow(), "a"));
                    LaneChannel lane = bootstrap.open(1).getNow();
                    writes.add(send(lane, 600_000));
                    writes.add(send(lane, 20_000));
                    assertFalse(lane.isWritable());
                    lane.pipeline().addLast(new WritableCounter(writable));
                  }));
      LaneRecorder recorder = new LaneRecorder();
      fixture.connect(recorder);
      await().until(() -> writes.size() == 3);
      assertEquals(
          "message dropped: the peer takes no such lane",
          writes.remove().awaitUninterruptibly().cause().getMessage());
      assertEquals(
          "message dropped: larger than the peer takes, or than a datagram",
          writes.remove().awaitUninterruptibly().cause().getMessage());
      writes.remove().syncUninterruptibly();
      await().until(() -> recorder.messages().equals(List.of("1:20000 bytes")));
      await().untilAsserted(() -> assertEquals(1, writable.get()));
    }
  }

  /** Counts how often a channel becomes writable. */
  private static final class WritableCounter extends ChannelInboundHandlerAdapter {
    private final AtomicInteger writable;

    WritableCounter(AtomicInteger writable) {
      this.writable = writable;
    }

    @Override
    public void channelWritabilityChanged(ChannelHandlerContext ctx) {
      if (ctx.channel().isWritable()) {
        writable.incrementAndGet();
      }
    }
  }

  @Test
  void settingsThatChangeAtOnceKeepTheLanes() {
    BlockingQueue<ChannelFuture> writes = new LinkedBlockingQueue<>();
    try (Fixture fixture = laneFixture()) {
      fixture.serve(
          () ->
              new ChannelInitializer<KcpChannel>() {
                @Override
                protected void initChannel(KcpChannel child) {
                  child
                      .pipeline()
                      .addLast(
                          acceptor(Echo::new),
                          new AtOnce(
                              session -> {
                                session.config().setOption(KcpChannelOption.SEND_WINDOW, 511);
                                LaneChannelBootstrap bootstrap = new LaneChannelBootstrap(session);
                                LaneChannel lane = bootstrap.open(1).getNow();
                                session.config().setOption(KcpChannelOption.SEND_WINDOW, 512);
                                writes.add(send(lane, "a"));
                                session.config().setOption(KcpChannelOption.SEND_WINDOW, 513);
                                writes.add(send(lane, "b"));
                                writes.add(sendMessage(session, 3, "c"));
                                session.config().setOption(KcpChannelOption.SEND_WINDOW, 514);
                              }));
                }
              });
      LaneRecorder recorder = new LaneRecorder();
      KcpChannel session = fixture.connect(recorder);
      await().until(() -> writes.size() == 3);
      writes.forEach(ChannelFuture::syncUninterruptibly);
      await().until(() -> Set.copyOf(recorder.messages()).equals(Set.of("1:a", "1:b", "3:c")));
      sendMessage(session, 5, "d");
      accepted(5);
      await().until(() -> recorder.messages().contains("5:d"));
    }
  }

  // What waits

  @Test
  void cancelledWritesAreNotSentAndEmptyMessagesAre() {
    try (Fixture fixture = fixture(LaneRecorder::new)) {
      KcpChannel session = fixture.connect(new ChannelInboundHandlerAdapter());
      LaneChannel lane = open(session, 1, new LaneRecorder());
      call(
          session,
          () -> {
            ChannelFuture cancelled = lane.write(Fixture.buffer(lane, new byte[5]));
            assertTrue(cancelled.cancel(false));
            lane.write(Unpooled.EMPTY_BUFFER);
            send(lane, "a");
          });
      LaneRecorder recorder = recorder(1);
      await().until(() -> recorder.messages().contains("a"));
      assertEquals(List.of("", "a"), recorder.messages());
    }
  }

  @Test
  void messagesLeaveWhateverTheWaterMarks() {
    try (Fixture fixture = fixture(LaneRecorder::new)) {
      KcpChannel session = fixture.connect(new ChannelInboundHandlerAdapter());
      LaneChannel lane =
          new LaneChannelBootstrap(session)
              .option(ChannelOption.WRITE_BUFFER_WATER_MARK, new WriteBufferWaterMark(0, 0))
              .open(1)
              .syncUninterruptibly()
              .getNow();
      send(lane, "a").syncUninterruptibly();
      send(lane, "b").syncUninterruptibly();
      LaneRecorder recorder = recorder(1);
      await().until(() -> recorder.messages().equals(List.of("a", "b")));
    }
  }

  @Test
  void emptyMessagesThatWaitMakeALaneUnwritable() {
    try (Fixture fixture = fixture(LaneRecorder::new)) {
      KcpChannel session = fixture.connect(new ChannelInboundHandlerAdapter());
      LaneChannel lane = open(session, 1, new LaneRecorder());
      call(
          session,
          () -> {
            for (int i = 0; i < 700; i++) {
              lane.writeAndFlush(Unpooled.EMPTY_BUFFER);
            }
            assertFalse(lane.isWritable());
          });
      LaneRecorder recorder = recorder(1);
      await().until(() -> recorder.messages().size() == 700);
      await().until(lane::isWritable);
    }
  }

  @Test
  void tenThousandLanesOfOneSessionCarryMessagesBothWays() {
    int lanes = 10_000;
    LanesConfig config =
        LanesConfig.builder()
            .maxLanes(lanes)
            .maxNewLanesPerSecond(lanes)
            .budgetBytes(16 << 20)
            .build();
    try (Fixture fixture = fixture(Echo::new)) {
      fixture.serverBootstrap.childOption(KcpChannelOption.LANES, config);
      fixture.bootstrap.option(KcpChannelOption.LANES, config);
      fixture.serve(
          () ->
              new LaneMultiplexHandler(
                  new ChannelInitializer<LaneChannel>() {
                    @Override
                    protected void initChannel(LaneChannel lane) {
                      lane.pipeline().addLast(new Echo());
                    }
                  }));
      KcpChannel session = fixture.connect(new ChannelInboundHandlerAdapter());
      List<LaneRecorder> recorders = new ArrayList<>();
      List<Future<LaneChannel>> opened = new ArrayList<>();
      for (int id = 0; id < lanes; id++) {
        LaneRecorder recorder = new LaneRecorder();
        recorders.add(recorder);
        opened.add(new LaneChannelBootstrap(session).handler(recorder).open(id));
      }
      List<LaneChannel> channels =
          opened.stream().map(opening -> opening.syncUninterruptibly().getNow()).toList();
      List<String> expected = new ArrayList<>();
      for (int round = 0; round < 3; round++) {
        for (int i = 0; i < 3; i++) {
          String text = round + "." + i;
          expected.add(text);
          channels.forEach(lane -> send(lane, lane.lane() + "." + text));
        }
        int messages = expected.size();
        await().until(() -> recorders.stream().allMatch(r -> r.count() >= messages));
      }
      for (int id = 0; id < lanes; id++) {
        String lane = id + ".";
        assertEquals(
            expected.stream().map(text -> lane + text).toList(), recorders.get(id).messages());
      }
      assertEquals(0, session.stats().get(KcpCounter.LANE_FRAMES_REFUSED));
      channels.forEach(LaneChannel::close);
      channels.forEach(lane -> lane.closeFuture().syncUninterruptibly());
      assertTrue(session.isActive());
    }
  }
}
