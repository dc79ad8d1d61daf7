package io.kcp4j.netty;

import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kcp4j.Delivery;
import io.kcp4j.EndReason;
import io.kcp4j.KcpCounter;
import io.kcp4j.fec.FecConfig;
import io.kcp4j.lanes.LaneConfig;
import io.kcp4j.lanes.LaneKind;
import io.kcp4j.lanes.LanesConfig;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelFutureListener;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelOption;
import io.netty.channel.ConnectTimeoutException;
import io.netty.channel.WriteBufferWaterMark;
import io.netty.channel.socket.ChannelInputShutdownEvent;
import io.netty.util.ReferenceCountUtil;
import java.io.IOException;
import java.net.DatagramSocket;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.channels.ClosedChannelException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Messages of lanes in the pipeline of the session's channel. */
@Timeout(60)
class LaneMessageTest {

  private static Fixture fixture(TransportUnderTest transport) {
    Fixture fixture = new Fixture(transport);
    fixture.serverBootstrap.childOption(KcpChannelOption.DELIVERY, Delivery.LANES);
    fixture.bootstrap.option(KcpChannelOption.DELIVERY, Delivery.LANES);
    return fixture;
  }

  private static Fixture fixture() {
    return fixture(TransportUnderTest.NIO);
  }

  private static LaneMessage message(Channel channel, int lane, String text) {
    return new LaneMessage(lane, Fixture.buffer(channel, text.getBytes(StandardCharsets.US_ASCII)));
  }

  private static ChannelFuture send(Channel channel, int lane, String text) {
    return channel.writeAndFlush(message(channel, lane, text));
  }

  private static ChannelFuture send(Channel channel, int lane, int bytes) {
    return channel.writeAndFlush(
        new LaneMessage(lane, Fixture.buffer(channel, Fixture.randomBytes(bytes))));
  }

  /** Runs on the channel's event loop. */
  private static <T> T call(Channel channel, Callable<T> task) {
    return channel.eventLoop().submit(task).syncUninterruptibly().getNow();
  }

  private static void run(Channel channel, Runnable task) {
    channel.eventLoop().submit(task).syncUninterruptibly();
  }

  private static void kind(KcpChannel channel, int lane, LaneKind kind) {
    run(channel, () -> channel.lanes().config(lane, LaneConfig.of(kind)));
  }

  // Messages

  @OverEachTransport
  void messagesOfEachKindAreEchoedOnTheirLanes(TransportUnderTest transport) {
    try (Fixture fixture = fixture(transport)) {
      fixture.serve(Echo::new);
      LaneRecorder recorder = new LaneRecorder();
      KcpChannel client = fixture.connect(recorder);
      LaneKind[] kinds = LaneKind.values();
      for (int lane = 0; lane < kinds.length; lane++) {
        kind(client, lane, kinds[lane]);
        send(client, lane, "a" + lane).syncUninterruptibly();
      }
      for (int lane = 0; lane < kinds.length; lane++) {
        String expected = lane + ":a" + lane;
        await().until(() -> recorder.messages().contains(expected));
      }
      assertEquals(4, recorder.messages().size());
      assertEquals(
          List.of(KcpChannelEvent.ESTABLISHED, KcpChannelEvent.LANES_OPEN), recorder.events);
    }
  }

  @Test
  void messagesOfALaneArriveInOrderWhateverTheirSize() {
    try (Fixture fixture = fixture()) {
      LaneRecorder served = new LaneRecorder();
      fixture.serve(() -> served);
      KcpChannel client = fixture.connect(new LaneRecorder());
      List<String> expected = new ArrayList<>();
      for (int i = 0; i < 200; i++) {
        int bytes = 101 + i * 997 % 20_000;
        client.write(new LaneMessage(3, Fixture.buffer(client, Fixture.randomBytes(bytes))));
        send(client, 4, "x");
        expected.add("3:" + bytes + " bytes");
      }
      await().until(() -> served.messages().size() == 400);
      assertEquals(expected, served.messages(3));
      assertEquals(0, client.stats().get(KcpCounter.LANE_FRAMES_REFUSED));
    }
  }

  @Test
  void unreliableMessagesArriveWithFec() {
    try (Fixture fixture = fixture()) {
      fixture.bootstrap.option(KcpChannelOption.FEC, FecConfig.of(3, 2));
      fixture.serverBootstrap.childOption(KcpChannelOption.FEC, FecConfig.adaptive());
      fixture.serve(Echo::new);
      LaneRecorder recorder = new LaneRecorder();
      KcpChannel client = fixture.connect(recorder);
      kind(client, 1, LaneKind.UNRELIABLE);
      for (int i = 0; i < 20; i++) {
        String text = "u" + i;
        send(client, 1, text);
        send(client, 2, "r");
        await().until(() -> recorder.messages().contains("1:" + text));
      }
    }
  }

  @Test
  void unreliableDatagramsOfTheSessionStandBesideLanes() {
    try (Fixture fixture = fixture()) {
      fixture.configureClient(config -> config.datagramQueue(8));
      fixture.configureChildren(config -> config.datagramQueue(8));
      List<Object> read = new ArrayList<>();
      fixture.serve(
          () ->
              new ChannelInboundHandlerAdapter() {
                @Override
                public void channelRead(ChannelHandlerContext ctx, Object msg) {
                  synchronized (read) {
                    read.add(msg.getClass());
                  }
                  ReferenceCountUtil.release(msg);
                }
              });
      KcpChannel client = fixture.connect(new LaneRecorder());
      client.writeAndFlush(new UnreliableDatagram(Fixture.buffer(client, new byte[10])));
      send(client, 1, "a");
      await()
          .until(
              () -> {
                synchronized (read) {
                  return read.contains(UnreliableDatagram.class)
                      && read.contains(LaneMessage.class);
                }
              });
    }
  }

  @Test
  void messageOfAHigherPriorityLeavesBeforeBulkData() {
    try (Fixture fixture = fixture()) {
      fixture.bootstrap.option(KcpChannelOption.RATE_LIMIT, 1_000_000);
      LaneRecorder served = new LaneRecorder();
      fixture.serve(() -> served);
      KcpChannel client = fixture.connect(new LaneRecorder());
      run(client, () -> client.lanes().config(7, LaneConfig.DEFAULT.withPriority(7)));
      run(
          client,
          () -> {
            for (int i = 0; i < 20; i++) {
              send(client, 7, 50_000);
            }
            send(client, 1, "small");
          });
      await().until(() -> served.messages().contains("1:small"));
      int bulk = served.messages().indexOf("1:small");
      assertTrue(bulk < 10, "of 20 bulk messages " + bulk + " were before it");
      await().until(() -> served.messages(7).size() == 20);
    }
  }

  // Limits

  @Test
  void messagesThatThePeerDoesNotTakeFail() {
    try (Fixture fixture = fixture()) {
      fixture.serverBootstrap.childOption(
          KcpChannelOption.LANES, LanesConfig.builder().maxLanes(10).budgetBytes(80_000).build());
      LaneRecorder served = new LaneRecorder();
      fixture.serve(() -> served);
      KcpChannel client = fixture.connect(new LaneRecorder());
      assertEquals(80_000 / 8 - 64, call(client, () -> client.lanes().maxMessageBytes(1)));

      Throwable noLane = send(client, 10, "a").awaitUninterruptibly().cause();
      Throwable tooLarge = send(client, 1, 9_937).awaitUninterruptibly().cause();
      send(client, 9, 9_936).syncUninterruptibly();

      assertEquals(
          "lane: 10 (expected: one that the peer takes)",
          assertInstanceOf(IllegalArgumentException.class, noLane).getMessage());
      assertEquals(
          "message: 9937 bytes (expected: <= 9936)",
          assertInstanceOf(IllegalArgumentException.class, tooLarge).getMessage());
      await().until(() -> served.messages().equals(List.of("9:9936 bytes")));
      assertTrue(client.isActive());
    }
  }

  @Test
  void buffersAreRefusedWithLanesAndLaneMessagesWithoutThem() {
    try (Fixture fixture = fixture()) {
      fixture.serve(LaneRecorder::new);
      KcpChannel client = fixture.connect(new LaneRecorder());
      Throwable buffer = client.writeAndFlush(Unpooled.buffer()).awaitUninterruptibly().cause();
      assertInstanceOf(UnsupportedOperationException.class, buffer);
      assertTrue(buffer.getMessage().contains("expected: LaneMessage"), buffer.getMessage());

      fixture.bootstrap.option(KcpChannelOption.DELIVERY, Delivery.STREAM);
      KcpChannel stream = fixture.connect(new LaneRecorder());
      assertNull(stream.lanes());
      Throwable lane = send(stream, 1, "a").awaitUninterruptibly().cause();
      assertInstanceOf(IllegalStateException.class, lane);
      assertTrue(lane.getMessage().contains("DELIVERY: STREAM"), lane.getMessage());
      assertTrue(client.isActive());
    }
  }

  @Test
  void lanesAreSetBeforeTheSessionBeginsAndNeedTheExtension() {
    try (Fixture fixture = fixture()) {
      fixture.serve(LaneRecorder::new);
      KcpChannel client = fixture.connect(new LaneRecorder());
      LanesConfig other = LanesConfig.builder().maxLanes(7).build();
      assertThrows(
          IllegalStateException.class,
          () -> client.config().setOption(KcpChannelOption.LANES, other));
      fixture.configureClient(config -> config.extension(false));
      Exception refusal =
          assertThrows(IllegalArgumentException.class, () -> fixture.connect(new LaneRecorder()));
      assertTrue(refusal.getMessage().contains("extension: false"), refusal.getMessage());
    }
  }

  // Writability

  /** More is written than the peer's budget takes and the high water mark allows to wait. */
  @Test
  void unreadLanesBecomeUnwritableOneByOne() throws Exception {
    try (Fixture fixture = fixture()) {
      limit(fixture);
      fixture.serverBootstrap.childOption(ChannelOption.AUTO_READ, false);
      LaneRecorder served = new LaneRecorder();
      fixture.serve(() -> served);
      fixture.bootstrap.option(
          ChannelOption.WRITE_BUFFER_WATER_MARK, new WriteBufferWaterMark(50_000, 100_000));
      LaneRecorder events = new LaneRecorder();
      KcpChannel client = fixture.connect(events);
      KcpChannel child = fixture.child();
      List<ChannelFuture> writes = new ArrayList<>();
      for (int i = 0; i < 40; i++) {
        writes.add(send(client, 1, 5_000));
      }
      await().until(() -> writes.get(0).isSuccess());
      assertFalse(call(client, () -> client.lanes().isWritable(1)));
      assertEquals(LaneEvent.Type.UNWRITABLE, lastWritability(events, 1));
      assertTrue(call(client, () -> client.lanes().isWritable(2)));
      assertTrue(call(client, () -> client.lanes().pendingBytes(1)) > 100_000);
      assertEquals(0, call(client, () -> client.lanes().pendingBytes(2)));
      assertTrue(client.isWritable(), "16 lanes may have as much");
      assertEquals(List.of(), served.messages());

      child.config().setAutoRead(true);

      await().until(() -> lastWritability(events, 1) == LaneEvent.Type.WRITABLE);
      writes.forEach(ChannelFuture::syncUninterruptibly);
      assertTrue(call(client, () -> client.lanes().isWritable(1)));
      await().until(() -> served.messages().size() == writes.size());
    }
  }

  /** What the last event about the writability of a lane says. */
  private static LaneEvent.Type lastWritability(LaneRecorder recorder, int lane) {
    return recorder.events.stream()
        .filter(event -> event instanceof LaneEvent laneEvent && laneEvent.lane() == lane)
        .map(event -> ((LaneEvent) event).type())
        .reduce((first, last) -> last)
        .orElse(null);
  }

  @Test
  void channelIsNotWritableWhileAllLanesTogetherHaveTooMuch() throws Exception {
    try (Fixture fixture = fixture()) {
      LaneRecorder served = new LaneRecorder();
      fixture.serve(() -> served);
      fixture.bootstrap.option(
          ChannelOption.WRITE_BUFFER_WATER_MARK, new WriteBufferWaterMark(500, 1_000));
      KcpChannel client = fixture.connect(new LaneRecorder());
      KcpChannel child = fixture.child();
      child.config().setAutoRead(false);
      int[] sent = {0};
      await()
          .until(
              () -> {
                send(client, sent[0]++ % 100, 50_000);
                return !call(client, client::isWritable); // The task that writes does not count.
              });
      child.config().setAutoRead(true);
      await().until(client::isWritable);
      await().until(() -> served.messages().size() == sent[0]);
    }
  }

  @Test
  void handlerThatWritesWheneverSomethingHasLeftDoesNotKeepTheEventLoop() throws Exception {
    try (Fixture fixture = fixture()) {
      fixture.serve(LaneRecorder::new);
      KcpChannel client = fixture.connect(new LaneRecorder());
      kind(client, 1, LaneKind.UNRELIABLE);
      AtomicInteger written = new AtomicInteger();
      ChannelFutureListener again =
          new ChannelFutureListener() {
            @Override
            public void operationComplete(ChannelFuture future) {
              if (future.isSuccess()) {
                written.incrementAndGet();
                send(client, 1, "more").addListener(this);
              }
            }
          };
      send(client, 1, "first").addListener(again);
      await().until(() -> written.get() > 1_000);

      assertTrue(call(client, client::isActive), "other tasks run");
      client.close().syncUninterruptibly();
    }
  }

  // Ends of lanes

  @Test
  void endOfALaneIsAnEventBehindItsMessagesAndTheLaneMayBeginAgain() {
    try (Fixture fixture = fixture()) {
      LaneRecorder served = new LaneRecorder();
      fixture.serve(() -> served);
      LaneRecorder events = new LaneRecorder();
      KcpChannel client = fixture.connect(events);
      for (int i = 1; i <= 3; i++) {
        int ends = i;
        LaneEvent end = new LaneEvent(5, LaneEvent.Type.INPUT_ENDED);
        LaneEvent endRead = new LaneEvent(5, LaneEvent.Type.END_READ);
        send(client, 5, 30_000).syncUninterruptibly();
        run(client, () -> client.lanes().shutdownOutput(5));
        await().until(() -> served.events.stream().filter(end::equals).count() == ends);
        assertEquals(i, served.messages(5).size());
        await().until(() -> events.events.stream().filter(endRead::equals).count() == ends);
      }
    }
  }

  @Test
  void abortedAndStoppedLanesDropWhatWaitsAndLeaveOthersAlone() throws Exception {
    try (Fixture fixture = fixture()) {
      fixture.bootstrap.option(KcpChannelOption.RATE_LIMIT, 50_000); // 8 s until all is sent
      LaneRecorder served = new LaneRecorder();
      fixture.serve(() -> served);
      LaneRecorder events = new LaneRecorder();
      KcpChannel client = fixture.connect(events);
      KcpChannel child = fixture.child();
      List<ChannelFuture> dropped = new ArrayList<>();
      for (int i = 0; i < 10; i++) {
        dropped.add(send(client, 1, 20_000));
        dropped.add(send(client, 2, 20_000));
      }
      ChannelFuture other = send(client, 3, 20_000);

      run(client, () -> client.lanes().abortOutput(1));
      await().until(() -> served.hasEvent(1, LaneEvent.Type.INPUT_ENDED));
      await().until(() -> call(child, () -> child.lanes().lane(2).inputKind() != null));
      run(child, () -> child.lanes().discardInput(2));
      await().until(() -> events.hasEvent(2, LaneEvent.Type.STOP_SENDING));

      assertTrue(other.syncUninterruptibly().isSuccess());
      await().until(() -> served.messages(3).size() == 1);
      Throwable cause = dropped.get(19).awaitUninterruptibly().cause();
      assertInstanceOf(IOException.class, cause);
      assertEquals(
          "message dropped: the lane was aborted, or the peer reads it no more",
          cause.getMessage());
      await().until(() -> events.hasEvent(1, LaneEvent.Type.END_READ));
      await().until(() -> events.hasEvent(2, LaneEvent.Type.END_READ));
      assertTrue(send(client, 1, "again").syncUninterruptibly().isSuccess());
      await().until(() -> served.messages().contains("1:again"));
    }
  }

  // The session

  @Test
  void closeSendsWhatWasFlushedAndFailsTheRest() {
    try (Fixture fixture = fixture()) {
      LaneRecorder served = new LaneRecorder();
      fixture.serve(() -> served);
      fixture.bootstrap.option(KcpChannelOption.LINGER, 60_000);
      KcpChannel client = fixture.connect(new LaneRecorder());
      IntStream.range(0, 100).forEach(lane -> send(client, lane, 10_000));
      ChannelFuture waiting = client.write(message(client, 1, "waits"));
      ChannelFuture cancelled = client.write(message(client, 1, "cancelled"));
      assertTrue(cancelled.cancel(false));

      client.close().syncUninterruptibly();

      await().until(() -> served.messages().size() == 100);
      assertInstanceOf(ClosedChannelException.class, waiting.awaitUninterruptibly().cause());
      assertInstanceOf(
          ClosedChannelException.class, send(client, 1, "late").awaitUninterruptibly().cause());
    }
  }

  @Test
  void writesThatWaitFailWhenTheSessionIsAborted() throws Exception {
    try (Fixture fixture = fixture()) {
      fixture.serve(LaneRecorder::new);
      KcpChannel client = fixture.connect(new LaneRecorder());
      KcpChannel child = fixture.child();
      child.config().setAutoRead(false);
      List<ChannelFuture> writes = new ArrayList<>();
      IntStream.range(0, 100).forEach(i -> writes.add(send(client, 1, 50_000)));
      client.writeAndFlush(message(client, 1, "void"), client.voidPromise());

      child.abort(7);

      Throwable cause = writes.get(99).awaitUninterruptibly().cause();
      assertEquals(
          EndReason.RESET, assertInstanceOf(KcpSessionClosedException.class, cause).reason());
      client.closeFuture().syncUninterruptibly();
    }
  }

  @Test
  void sessionClosesWhenWhatIsUnreadIsDiscarded() throws Exception {
    try (Fixture fixture = fixture()) {
      fixture.serverBootstrap.childOption(ChannelOption.AUTO_READ, false);
      fixture.serve(LaneRecorder::new);
      KcpChannel client = fixture.connect(new LaneRecorder());
      send(client, 1, "a");
      client.close().syncUninterruptibly();
      KcpChannel child = fixture.child();
      await().until(() -> child.session().get().hasPeerClosed());
      await().until(() -> call(child, () -> child.lanes().stats(1).unreadMessages()) == 1);
      run(child, () -> child.lanes().discardInput(1));
      assertTrue(child.closeFuture().awaitUninterruptibly(30, TimeUnit.SECONDS));
    }
  }

  private static void assertConnectFails(Fixture fixture, EndReason reason) {
    KcpSessionClosedException end =
        assertThrows(KcpSessionClosedException.class, () -> fixture.connect(new LaneRecorder()));
    assertEquals(reason, end.reason());
  }

  /** The peer, which has the extension but no lanes, does not wait for a timeout. */
  private static void assertIsTold(KcpChannel peer) {
    peer.closeFuture().syncUninterruptibly();
    assertEquals(EndReason.DELIVERY_MISMATCHED, peer.endReason());
  }

  @Test
  void connectFailsIfThePeerHasTheExtensionButNoLanes() throws Exception {
    try (Fixture fixture = fixture()) {
      fixture.serverBootstrap.childOption(KcpChannelOption.DELIVERY, Delivery.MESSAGE);
      fixture.serve(ChannelInboundHandlerAdapter::new);
      assertConnectFails(fixture, EndReason.DELIVERY_MISMATCHED);
      assertIsTold(fixture.child());
    }
  }

  @Test
  void connectFailsIfThePeerDoesNotHaveTheExtension() {
    try (Fixture fixture = fixture()) {
      fixture.serverBootstrap.childOption(KcpChannelOption.DELIVERY, Delivery.STREAM);
      fixture.configureChildren(config -> config.extension(false));
      fixture.serve(ChannelInboundHandlerAdapter::new);
      assertConnectFails(fixture, EndReason.LANES_UNSUPPORTED);
    }
  }

  @Test
  void serverEndsTheSessionOfAClientWithoutLanes() throws Exception {
    try (Fixture fixture = fixture()) {
      LaneRecorder served = new LaneRecorder();
      fixture.serve(() -> served);
      fixture.bootstrap.option(KcpChannelOption.DELIVERY, Delivery.STREAM);
      KcpChannel client = fixture.connect(new LaneRecorder());
      client.writeAndFlush(Fixture.buffer(client, new byte[10]));
      KcpChannel child = fixture.child();
      child.closeFuture().syncUninterruptibly();
      assertEquals(EndReason.DELIVERY_MISMATCHED, child.endReason());
      assertEquals(List.of(), served.exceptions);
      assertIsTold(client);
    }
  }

  @Test
  void connectTimesOutWithoutAnAnswer() throws Exception {
    try (Fixture fixture = fixture();
        DatagramSocket silent = new DatagramSocket(0, InetAddress.getLoopbackAddress())) {
      fixture.bootstrap.option(ChannelOption.CONNECT_TIMEOUT_MILLIS, 300);
      assertThrows(
          ConnectTimeoutException.class,
          () ->
              fixture.connectTo(
                  (InetSocketAddress) silent.getLocalSocketAddress(), new LaneRecorder()));
    }
  }

  // After the half-close

  private static void allowHalfClosure(Fixture fixture) {
    fixture.serverBootstrap.childOption(ChannelOption.ALLOW_HALF_CLOSURE, true);
    fixture.bootstrap.option(ChannelOption.ALLOW_HALF_CLOSURE, true);
  }

  /** With a small budget, which a few messages use up. */
  private static void limit(Fixture fixture) {
    LanesConfig small = LanesConfig.builder().maxLanes(16).budgetBytes(65_536).build();
    fixture.serverBootstrap.childOption(KcpChannelOption.LANES, small);
    fixture.bootstrap.option(KcpChannelOption.LANES, small);
  }

  @Test
  void sideThatHasEndedItsOutputGivesCreditForWhatItReads() throws Exception {
    try (Fixture fixture = fixture()) {
      allowHalfClosure(fixture);
      limit(fixture);
      LaneRecorder served = new LaneRecorder();
      fixture.serve(() -> served);
      LaneRecorder recorder = new LaneRecorder();
      KcpChannel client = fixture.connect(recorder);
      send(client, 1, "a").syncUninterruptibly();
      client.shutdownOutput().syncUninterruptibly();
      await().until(() -> served.events.contains(ChannelInputShutdownEvent.INSTANCE));
      KcpChannel child = fixture.child();
      for (int i = 0; i < 100; i++) {
        send(child, 1, 5_000);
        send(child, 2, 5_000);
      }
      await().until(() -> recorder.bytes() == 1_000_000);
      LaneEvent endRead = new LaneEvent(1, LaneEvent.Type.END_READ);
      for (int i = 1; i <= 3; i++) {
        int ends = i;
        run(child, () -> child.lanes().shutdownOutput(1));
        await().until(() -> served.events.stream().filter(endRead::equals).count() == ends);
        send(child, 1, "again");
        await().until(() -> recorder.messages(1).size() == 100 + ends);
      }
      run(client, () -> client.lanes().discardInput(2));
      send(child, 2, "b");
      await().until(() -> served.hasEvent(2, LaneEvent.Type.STOP_SENDING));
      assertTrue(client.isActive());
      assertTrue(child.isActive());
      child.shutdownOutput().syncUninterruptibly();
      await().until(() -> recorder.events.contains(ChannelInputShutdownEvent.INSTANCE));
      client.close().syncUninterruptibly();
      child.closeFuture().syncUninterruptibly();
      assertEquals(0, client.stats().get(KcpCounter.LANE_FRAMES_REFUSED));
      assertEquals(0, child.stats().get(KcpCounter.LANE_FRAMES_REFUSED));
    }
  }

  @Test
  void closeSendsMoreThanTheBudgetOfThePeer() {
    try (Fixture fixture = fixture()) {
      limit(fixture);
      LaneRecorder served = new LaneRecorder();
      fixture.serve(() -> served);
      fixture.bootstrap.option(KcpChannelOption.LINGER, 60_000);
      KcpChannel client = fixture.connect(new LaneRecorder());
      IntStream.range(0, 100).forEach(i -> send(client, 1, 5_000));
      client.close().syncUninterruptibly();
      await().until(() -> served.bytes() == 500_000);
    }
  }

  // Many lanes

  /** Each echo is compared: what arrived at the server twice, or in another order, differs. */
  @ParameterizedTest
  @EnumSource(names = {"RELIABLE_ORDERED", "RELIABLE_UNORDERED"})
  void tenThousandLanesOfOneSessionCarryMessagesBothWays(LaneKind kind) {
    int lanes = 10_000;
    LanesConfig many =
        LanesConfig.builder()
            .maxLanes(lanes)
            .maxNewLanesPerSecond(lanes)
            .budgetBytes(16 << 20)
            .defaultLane(LaneConfig.of(kind))
            .build();
    try (Fixture fixture = fixture()) {
      fixture.serverBootstrap.childOption(KcpChannelOption.LANES, many);
      fixture.bootstrap.option(KcpChannelOption.LANES, many);
      fixture.serve(Echo::new);
      LaneRecorder recorder = new LaneRecorder();
      KcpChannel client = fixture.connect(recorder);
      Set<String> expected = new HashSet<>();
      for (int round = 0; round < 3; round++) {
        for (int i = 0; i < 3 * lanes; i++) {
          String text = round + "." + i;
          client.write(message(client, i % lanes, text));
          expected.add(i % lanes + ":" + text);
        }
        client.flush();
        await().until(() -> recorder.count() >= expected.size());
      }
      List<String> echoed = recorder.messages();
      assertEquals(expected.size(), echoed.size());
      assertEquals(expected, Set.copyOf(echoed));
      if (kind == LaneKind.RELIABLE_ORDERED) {
        assertInOrder(echoed);
      }
      assertEquals(0, client.stats().get(KcpCounter.LANE_FRAMES_REFUSED));
    }
  }

  /** The round and the number of the messages of a lane increase. */
  private static void assertInOrder(List<String> messages) {
    Map<String, Integer> last = new HashMap<>();
    for (String message : messages) {
      String[] parts = message.split("[:.]", 3);
      int number = Integer.parseInt(parts[1]) * 1_000_000 + Integer.parseInt(parts[2]);
      Integer before = last.put(parts[0], number);
      assertTrue(before == null || number > before, message + " behind " + before);
    }
  }

  // The message itself

  @Test
  void copiesAndDuplicatesKeepTheLane() {
    LaneMessage message = new LaneMessage(3, Unpooled.copiedBuffer("abc", StandardCharsets.UTF_8));
    for (LaneMessage same :
        List.of(
            message.copy(),
            message.duplicate(),
            message.retainedDuplicate(),
            message.replace(message.content()),
            message.retain().touch().touch("hint"))) {
      assertEquals(message, same);
      assertEquals(message.hashCode(), same.hashCode());
      assertEquals(3, same.lane());
    }
    assertEquals(new LaneMessage(3, message.content()), message);
    assertFalse(message.equals(new LaneMessage(4, message.content())));
    assertTrue(message.toString().startsWith("LaneMessage(lane 3, "), message.toString());
    assertThrows(IllegalArgumentException.class, () -> new LaneMessage(-1, message.content()));
    assertThrows(
        IllegalArgumentException.class,
        () -> new LaneMessage(LanesConfig.MAX_LANES, message.content()));
    message.release(3);
    assertEquals(0, message.refCnt());
  }
}
