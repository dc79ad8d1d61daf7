package io.kcp4j.netty;

import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.kcp4j.AckSample;
import io.kcp4j.CongestionControl;
import io.kcp4j.EndReason;
import io.kcp4j.KcpCounter;
import io.kcp4j.LossSample;
import io.kcp4j.crypto.CipherAlgorithm;
import io.kcp4j.crypto.KeyRing;
import io.kcp4j.crypto.PacketKey;
import io.kcp4j.internal.wire.Segment;
import io.netty.buffer.Unpooled;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelOption;
import java.net.DatagramSocket;
import java.net.InetSocketAddress;
import java.net.SocketException;
import java.nio.channels.ClosedChannelException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Test;

/** The end of sessions: by close() and for other reasons. */
class CloseTest {

  private static final byte[] DATA = Fixture.randomBytes(1 << 20);

  @OverEachTransport
  void closeWaitsUntilThePeerHasEverything(TransportUnderTest transport) {
    try (Fixture fixture = new Fixture(transport)) {
      Recorder server = new Recorder();
      fixture.serve(() -> server);
      fixture.bootstrap.option(KcpChannelOption.LINGER, 60_000);
      KcpChannel client = fixture.connect(new Recorder());

      ChannelFuture written = client.writeAndFlush(Unpooled.wrappedBuffer(DATA));
      client.close().syncUninterruptibly();

      assertTrue(written.isSuccess());
      assertArrayEquals(DATA, server.bytes());
      assertNull(client.endReason());
    }
  }

  @OverEachTransport
  void writeAfterCloseFails(TransportUnderTest transport) throws Exception {
    try (Fixture fixture = new Fixture(transport);
        UnresponsivePeer unresponsive = new UnresponsivePeer()) {
      fixture.bootstrap.option(KcpChannelOption.LINGER, 60_000);
      KcpChannel client = fixture.connectTo(unresponsive.address(), new Recorder());
      client.writeAndFlush(Fixture.buffer(client, new byte[10])).syncUninterruptibly();
      ChannelFuture closing = client.close();
      ChannelFuture again = client.close();

      ChannelFuture late = client.writeAndFlush(Fixture.buffer(client, new byte[10]));

      assertInstanceOf(ClosedChannelException.class, late.awaitUninterruptibly().cause());
      assertFalse(closing.isDone());
      assertTrue(client.isOpen());
      assertFalse(client.isWritable());
      client.config().setOption(KcpChannelOption.LINGER, 0);
      assertFalse(again.isDone());
      client.abort(0).syncUninterruptibly();
      assertTrue(closing.syncUninterruptibly().isSuccess());
      assertTrue(again.syncUninterruptibly().isSuccess());
    }
  }

  @OverEachTransport
  void closeEndsAfterTheLingerTime(TransportUnderTest transport) throws Exception {
    try (Fixture fixture = new Fixture(transport);
        UnresponsivePeer unresponsive = new UnresponsivePeer()) {
      fixture.bootstrap.option(KcpChannelOption.LINGER, 100);
      Recorder recorder = new Recorder();
      KcpChannel client = fixture.connectTo(unresponsive.address(), recorder);
      ChannelFuture written = client.writeAndFlush(Unpooled.wrappedBuffer(DATA));

      ChannelFuture closing = client.close();
      ChannelFuture again = client.close();

      for (ChannelFuture failed : List.of(closing, again, written)) {
        Throwable cause = failed.awaitUninterruptibly().cause();
        KcpSessionClosedException end = assertInstanceOf(KcpSessionClosedException.class, cause);
        assertEquals(EndReason.CLOSE_TIMEOUT, end.reason());
      }
      assertEquals(EndReason.CLOSE_TIMEOUT, client.endReason());
      await().until(() -> recorder.events.equals(List.of("active", "inactive")));
    }
  }

  @OverEachTransport
  void closeWaitsForAReaderThatPausesForLongerThanTheLingerTime(TransportUnderTest transport)
      throws Exception {
    try (Fixture fixture = new Fixture(transport)) {
      Recorder server = new Recorder();
      fixture.serverBootstrap.childOption(ChannelOption.AUTO_READ, false);
      fixture.serve(() -> server);
      fixture.bootstrap.option(KcpChannelOption.LINGER, 1_000);
      KcpChannel client = fixture.connect(new Recorder());
      ChannelFuture written = client.writeAndFlush(Unpooled.wrappedBuffer(DATA));
      ChannelFuture closing = client.close();

      // Each is the answer to a probe after a quarter of the time.
      await().until(() -> client.stats().get(KcpCounter.PROBES_OUT) > 5);
      assertFalse(closing.isDone());
      fixture.child().config().setAutoRead(true);

      closing.syncUninterruptibly();
      assertTrue(written.isSuccess());
      assertArrayEquals(DATA, server.bytes());
    }
  }

  @OverEachTransport
  void readerThatTakesNothingIsWaitedForAtMostForTheLongestLingerTime(TransportUnderTest transport)
      throws Exception {
    try (Fixture fixture = new Fixture(transport)) {
      Recorder server = new Recorder();
      fixture.serverBootstrap.childOption(ChannelOption.AUTO_READ, false);
      fixture.serve(() -> server);
      fixture.bootstrap.option(KcpChannelOption.LINGER, 60_000);
      fixture.configureClient(config -> config.lingerMaxMs(500));
      KcpChannel client = fixture.connect(new Recorder());
      client.writeAndFlush(Unpooled.wrappedBuffer(DATA));

      Throwable cause = client.close().awaitUninterruptibly().cause();

      assertEquals(
          EndReason.CLOSE_TIMEOUT,
          assertInstanceOf(KcpSessionClosedException.class, cause).reason());
      KcpChannel child = fixture.child();
      await().until(() -> child.session().get().isInputIncomplete());
      assertTrue(child.isActive());

      child.config().setAutoRead(true);

      child.closeFuture().syncUninterruptibly();
      assertEquals(EndReason.INPUT_INCOMPLETE, child.endReason());
      await().until(() -> server.events.equals(List.of("active", "exception", "inactive")));
      byte[] arrived = server.bytes();
      assertTrue(arrived.length > 0 && arrived.length < DATA.length, arrived.length + " bytes");
      assertArrayEquals(Arrays.copyOf(DATA, arrived.length), arrived);
    }
  }

  @OverEachTransport
  void twoSidesThatCloseWithMoreToSendThanWindowsDoNotWaitForEachOther(TransportUnderTest transport)
      throws Exception {
    try (Fixture fixture = new Fixture(transport)) {
      fixture.serverBootstrap.childOption(KcpChannelOption.LINGER, 60_000);
      fixture.serverBootstrap.childOption(ChannelOption.AUTO_READ, false);
      fixture.serve(Recorder::new);
      fixture.bootstrap.option(KcpChannelOption.LINGER, 60_000);
      fixture.bootstrap.option(ChannelOption.AUTO_READ, false);
      KcpChannel client = fixture.connect(new Recorder());
      client.writeAndFlush(Unpooled.wrappedBuffer(DATA));
      KcpChannel child = fixture.child();
      child.writeAndFlush(Unpooled.wrappedBuffer(DATA));
      await().until(() -> client.stats().get(KcpCounter.SEGMENTS_IN) > 100);

      ChannelFuture clientCloses = client.close();
      ChannelFuture childCloses = child.close();

      assertTrue(clientCloses.await(10, TimeUnit.SECONDS) && clientCloses.isSuccess());
      assertTrue(childCloses.await(10, TimeUnit.SECONDS) && childCloses.isSuccess());
    }
  }

  /** A child is active before its session is in the table. */
  @OverEachTransport
  void childThatIsClosedWhenItIsActiveLingersAsLongAsAnyOther(TransportUnderTest transport)
      throws Exception {
    try (Fixture fixture = new Fixture(transport)) {
      fixture
          .serverBootstrap
          .childOption(KcpChannelOption.LINGER, 200)
          .childOption(KcpChannelOption.USER_TIMEOUT, 0)
          .childOption(KcpChannelOption.KEEP_ALIVE_INTERVAL, 0);
      KcpServerChannel server =
          fixture.serve(
              () ->
                  new ChannelInboundHandlerAdapter() {
                    @Override
                    public void channelActive(ChannelHandlerContext ctx) {
                      ctx.writeAndFlush(Fixture.buffer(ctx.channel(), new byte[5]));
                      ctx.close();
                    }
                  });
      try (RawPeer peer = new RawPeer(server.localAddress())) {
        peer.send(RawPeer.segment(1, Segment.PUSH, 0, new byte[1]));
        KcpChannel child = fixture.child();
        child.closeFuture().syncUninterruptibly();
        assertEquals(EndReason.CLOSE_TIMEOUT, child.endReason());
      }
    }
  }

  /** As most handlers do. */
  @OverEachTransport
  void closeOfAHandlerThatIsToldOfTheEndSucceeds(TransportUnderTest transport) throws Exception {
    try (Fixture fixture = new Fixture(transport);
        UnresponsivePeer unresponsive = new UnresponsivePeer()) {
      fixture.bootstrap.option(KcpChannelOption.USER_TIMEOUT, 200);
      List<ChannelFuture> closes = new CopyOnWriteArrayList<>();
      KcpChannel client =
          fixture.connectTo(
              unresponsive.address(),
              new ChannelInboundHandlerAdapter() {
                @Override
                public void exceptionCaught(ChannelHandlerContext ctx, Throwable cause) {
                  closes.add(ctx.close());
                }
              });
      ChannelFuture written = client.writeAndFlush(Unpooled.wrappedBuffer(DATA));

      client.closeFuture().syncUninterruptibly();

      await().until(() -> closes.size() == 1);
      assertTrue(closes.get(0).syncUninterruptibly().isSuccess());
      assertTrue(client.close().syncUninterruptibly().isSuccess());
      assertInstanceOf(KcpSessionClosedException.class, written.awaitUninterruptibly().cause());
      assertEquals(EndReason.HANDSHAKE_TIMEOUT, client.endReason());
    }
  }

  @OverEachTransport
  void withoutLingerCloseIsImmediate(TransportUnderTest transport) throws Exception {
    try (Fixture fixture = new Fixture(transport);
        UnresponsivePeer unresponsive = new UnresponsivePeer()) {
      fixture.bootstrap.option(KcpChannelOption.LINGER, 0);
      fixture.bootstrap.option(KcpChannelOption.USER_TIMEOUT, 0);
      KcpChannel client = fixture.connectTo(unresponsive.address(), new Recorder());
      client.writeAndFlush(Unpooled.wrappedBuffer(DATA));

      client.close().syncUninterruptibly();

      assertFalse(client.isOpen());
    }
  }

  @OverEachTransport
  void datagramsOfAClosedSessionAreDroppedSilently(TransportUnderTest transport) throws Exception {
    try (Fixture fixture = new Fixture(transport)) {
      fixture.configureClient(config -> config.extension(false));
      KcpServerChannel server = fixture.serve(Recorder::new);
      KcpChannel client = fixture.connect(new Recorder());
      client.writeAndFlush(Fixture.buffer(client, new byte[10]));
      fixture.child().close().syncUninterruptibly();

      client.writeAndFlush(Fixture.buffer(client, new byte[10]));

      await().until(() -> server.counters().get(KcpCounter.CLOSED_SESSION) > 1);
      assertEquals(0, server.sessions());
      assertTrue(fixture.children.isEmpty());
      assertEquals(1, server.counters().get(KcpCounter.SESSIONS_OPENED));
    }
  }

  @OverEachTransport
  void childClosedByItsFirstHandlerBeginsNoSecondSession(TransportUnderTest transport)
      throws Exception {
    try (Fixture fixture = new Fixture(transport)) {
      KcpServerChannel server =
          fixture.serve(
              () ->
                  new ChannelInboundHandlerAdapter() {
                    @Override
                    public void channelActive(ChannelHandlerContext ctx) {
                      ctx.close();
                    }
                  });
      KcpChannel client = fixture.connect(new Recorder());

      client.writeAndFlush(Fixture.buffer(client, new byte[10]));

      fixture.child().closeFuture().syncUninterruptibly();
      await().until(() -> server.counters().get(KcpCounter.CLOSED_SESSION) > 1);
      assertEquals(0, server.sessions());
      assertTrue(fixture.children.isEmpty());
    }
  }

  @OverEachTransport
  void greetingIsSentBeforeAnythingIsRead(TransportUnderTest transport) throws Exception {
    try (Fixture fixture = new Fixture(transport)) {
      fixture.serve(
          () ->
              new ChannelInboundHandlerAdapter() {
                @Override
                public void channelActive(ChannelHandlerContext ctx) {
                  ctx.writeAndFlush(Fixture.buffer(ctx.channel(), new byte[5]));
                  ctx.close();
                }
              });
      Recorder recorder = new Recorder();
      KcpChannel client = fixture.connect(recorder);

      client.writeAndFlush(Fixture.buffer(client, new byte[1]));

      await().until(() -> recorder.received() == 5);
      fixture.child().closeFuture().syncUninterruptibly();
      await().until(() -> fixture.server().sessions() == 0);
    }
  }

  @OverEachTransport
  void failureIsReportedBeforeTheChannelCloses(TransportUnderTest transport) throws Exception {
    try (Fixture fixture = new Fixture(transport);
        UnresponsivePeer unresponsive = new UnresponsivePeer()) {
      fixture.bootstrap.option(KcpChannelOption.USER_TIMEOUT, 500);
      Recorder recorder = new Recorder();
      KcpChannel client = fixture.connectTo(unresponsive.address(), recorder);

      ChannelFuture written = client.writeAndFlush(Unpooled.wrappedBuffer(DATA));

      client.closeFuture().syncUninterruptibly();
      await().until(() -> recorder.events.equals(List.of("active", "exception", "inactive")));
      KcpSessionClosedException end =
          assertInstanceOf(KcpSessionClosedException.class, recorder.exceptions.get(0));
      assertEquals(EndReason.HANDSHAKE_TIMEOUT, end.reason());
      assertEquals(EndReason.HANDSHAKE_TIMEOUT, client.endReason());
      assertInstanceOf(KcpSessionClosedException.class, written.awaitUninterruptibly().cause());
      assertTrue(client.stats().get(KcpCounter.TIMED_OUT) > 0);
    }
  }

  /** For all transports at once, because seven probes take several seconds. */
  @Test
  void sessionOfAnUnresponsivePeerEnds() throws Exception {
    List<Fixture> fixtures = TransportUnderTest.available().map(Fixture::new).toList();
    try (UnresponsivePeer unresponsive = new UnresponsivePeer()) {
      List<Recorder> recorders = new ArrayList<>();
      List<KcpChannel> clients = new ArrayList<>();
      for (Fixture fixture : fixtures) {
        fixture.bootstrap.option(KcpChannelOption.KEEP_ALIVE_INTERVAL, 1);
        recorders.add(new Recorder());
        clients.add(fixture.connectTo(unresponsive.address(), recorders.get(recorders.size() - 1)));
      }
      for (int i = 0; i < clients.size(); i++) {
        KcpChannel client = clients.get(i);
        List<String> events = recorders.get(i).events;
        client.closeFuture().syncUninterruptibly();
        assertEquals(EndReason.HANDSHAKE_TIMEOUT, client.endReason());
        assertEquals(7, client.stats().get(KcpCounter.PROBES_OUT));
        await().until(() -> events.equals(List.of("active", "exception", "inactive")));
      }
    } finally {
      fixtures.forEach(Fixture::close);
    }
  }

  @OverEachTransport
  void sessionOfAnIdlePeerThatAnswersProbesStays(TransportUnderTest transport) throws Exception {
    try (Fixture fixture = new Fixture(transport)) {
      fixture.serverBootstrap.childOption(KcpChannelOption.KEEP_ALIVE_INTERVAL, 1);
      fixture.serve(Echo::new);
      Recorder recorder = new Recorder();
      KcpChannel client = fixture.connect(recorder);
      client.writeAndFlush(Fixture.buffer(client, new byte[1]));
      KcpChannel child = fixture.child();

      await().until(() -> child.stats().get(KcpCounter.PROBES_OUT) > 1);

      assertTrue(child.isActive());
      assertNull(child.endReason());
    }
  }

  @OverEachTransport
  void idleSessionEnds(TransportUnderTest transport) throws Exception {
    try (Fixture fixture = new Fixture(transport)) {
      fixture.serverBootstrap.childOption(KcpChannelOption.IDLE_TIMEOUT, 1000);
      fixture.configureClient(config -> config.extension(false));
      fixture.serve(Echo::new);
      Recorder recorder = new Recorder();
      KcpChannel client = fixture.connect(recorder);
      client.writeAndFlush(Fixture.buffer(client, new byte[1]));
      KcpChannel child = fixture.child();

      child.closeFuture().syncUninterruptibly();

      assertEquals(EndReason.IDLE_TIMEOUT, child.endReason());
      await().until(() -> recorder.received() == 1);
      assertTrue(client.isActive());
    }
  }

  @OverEachTransport
  void childrenOfAClosedServerKeepItsAddress(TransportUnderTest transport) throws Exception {
    try (Fixture fixture = new Fixture(transport)) {
      KcpServerChannel server = fixture.serve(Echo::new);
      Recorder recorder = new Recorder();
      KcpChannel client = fixture.connect(recorder);
      client.writeAndFlush(Fixture.buffer(client, new byte[1]));
      KcpChannel child = fixture.child();

      server.close().syncUninterruptibly();
      client.writeAndFlush(Fixture.buffer(client, new byte[2]));
      await().until(() -> recorder.received() == 3);
      assertTrue(child.isActive());
      assertFalse(isFree(server.localAddress()));

      child.close().syncUninterruptibly();
      await().until(() -> isFree(server.localAddress()));
    }
  }

  @OverEachTransport
  void closedServerAcceptsNoSession(TransportUnderTest transport) throws Exception {
    try (Fixture fixture = new Fixture(transport)) {
      KcpServerChannel server = fixture.serve(Echo::new);
      KcpChannel first = fixture.connect(new Recorder());
      first.writeAndFlush(Fixture.buffer(first, new byte[1]));
      KcpChannel child = fixture.child();
      server.close().syncUninterruptibly();

      KcpChannel second = fixture.connect(new Recorder());
      second.writeAndFlush(Fixture.buffer(second, new byte[1]));

      await().until(() -> server.counters().get(KcpCounter.ACCEPT_REFUSED) > 0);
      assertTrue(child.isActive());
      assertTrue(fixture.children.isEmpty());
    }
  }

  @OverEachTransport
  void endOfTheEventLoopClosesEverything(TransportUnderTest transport) throws Exception {
    // Netty 4.2.18 corrupts memory there, independently of this project.
    assumeTrue(transport != TransportUnderTest.IO_URING);
    try (Fixture fixture = new Fixture(transport)) {
      KcpServerChannel server = fixture.serve(Echo::new);
      KcpChannel client = fixture.connect(new Recorder());
      client.writeAndFlush(Fixture.buffer(client, new byte[1]));
      KcpChannel child = fixture.child();

      fixture.shutDown();

      assertTrue(server.closeFuture().isDone());
      assertTrue(client.closeFuture().isDone());
      assertTrue(child.closeFuture().isDone());
    }
  }

  /** Not of NIO. Netty 4.2.18 corrupts memory when an event loop of io_uring ends. */
  private static boolean isPortFreeAfterClose(TransportUnderTest transport) {
    return transport != TransportUnderTest.NIO && transport != TransportUnderTest.IO_URING;
  }

  /** TCP's peers learn of it at once, too. */
  @OverEachTransport
  void endOfTheEventLoopIsToldToThePeers(TransportUnderTest transport) throws Exception {
    assumeTrue(isPortFreeAfterClose(transport));
    KeyRing keys = KeyRing.of(PacketKey.ofPassphrase(CipherAlgorithm.AES_128_GCM, "key"));
    try (Fixture fixture = new Fixture(transport)) {
      fixture.serverBootstrap.option(KcpChannelOption.KEY_RING, keys);
      fixture.bootstrap.option(KcpChannelOption.KEY_RING, keys);
      fixture.serve(Echo::new);
      List<Recorder> recorders = new ArrayList<>();
      List<KcpChannel> clients = new ArrayList<>();
      for (int i = 0; i < 3; i++) {
        recorders.add(new Recorder());
        clients.add(fixture.connect(recorders.get(i)));
        clients.get(i).writeAndFlush(Fixture.buffer(clients.get(i), new byte[100]));
      }
      for (Recorder recorder : recorders) {
        await().until(() -> recorder.received() == 100);
      }
      for (KcpChannel client : clients) {
        KcpChannel child = fixture.child();
        await().until(() -> child.session().kcp().isDrained());
        await().until(() -> client.session().kcp().isDrained());
      }

      fixture.shutDownServer();

      for (KcpChannel client : clients) {
        assertTrue(client.closeFuture().await(2, TimeUnit.SECONDS));
        assertNull(client.endReason());
      }
    }
  }

  @OverEachTransport
  void endOfTheEventLoopTellsThatMoreIsMissing(TransportUnderTest transport) throws Exception {
    assumeTrue(isPortFreeAfterClose(transport));
    try (Fixture fixture = new Fixture(transport)) {
      fixture.serve(Echo::new);
      Recorder recorder = new Recorder();
      KcpChannel client = fixture.connect(recorder);
      client.config().setAutoRead(false);
      client.writeAndFlush(Fixture.buffer(client, new byte[10]));
      KcpChannel child = fixture.child();
      child.writeAndFlush(Unpooled.wrappedBuffer(DATA));
      await().until(() -> client.stats().get(KcpCounter.SEGMENTS_IN) > 100);

      fixture.shutDownServer();

      await().until(() -> client.session().get().isInputIncomplete());
      client.config().setAutoRead(true);
      client.closeFuture().syncUninterruptibly();
      assertEquals(EndReason.INPUT_INCOMPLETE, client.endReason());
      assertTrue(recorder.received() > 100_000, recorder.received() + " bytes");
    }
  }

  @OverEachTransport
  void deregisteringCloses(TransportUnderTest transport) throws Exception {
    try (Fixture fixture = new Fixture(transport)) {
      fixture.serve(Echo::new);
      KcpChannel client = fixture.connect(new Recorder());
      client.writeAndFlush(Fixture.buffer(client, new byte[1]));

      client.deregister().syncUninterruptibly();

      client.closeFuture().syncUninterruptibly();
      assertFalse(client.isRegistered());
    }
  }

  @OverEachTransport
  void deregisteringFiresChannelInactiveOnce(TransportUnderTest transport) {
    try (Fixture fixture = new Fixture(transport)) {
      Lifecycle accepting = new Lifecycle();
      fixture.serverBootstrap.handler(accepting);
      KcpServerChannel server = fixture.serve(Echo::new);
      Lifecycle recorder = new Lifecycle();
      KcpChannel client = fixture.connect(recorder);

      client.deregister().syncUninterruptibly();
      assertEquals(List.of("active", "inactive", "unregistered"), recorder.events);
      assertFalse(client.isRegistered());
      assertTrue(client.closeFuture().isDone());

      server.deregister().syncUninterruptibly();
      assertEquals(List.of("active", "inactive", "unregistered"), accepting.events);
      assertFalse(server.isRegistered());
      assertTrue(server.closeFuture().isDone());
    }
  }

  @OverEachTransport
  void serverOfSeveralSocketsIsInactiveBeforeItIsDeregistered(TransportUnderTest transport) {
    assumeTrue(transport != TransportUnderTest.NIO);
    try (Fixture fixture = new Fixture(transport, 2)) {
      fixture.serverBootstrap.option(KcpServerChannelOption.SOCKETS, 2);
      Lifecycle accepting = new Lifecycle();
      fixture.serverBootstrap.handler(accepting);
      KcpServerChannel server = fixture.serve(Echo::new);

      server.deregister().syncUninterruptibly();

      assertEquals(List.of("active", "inactive", "unregistered"), accepting.events);
      assertTrue(server.closeFuture().isDone());
    }
  }

  /** Records the lifecycle events of a channel. */
  private static final class Lifecycle extends ChannelInboundHandlerAdapter {
    final List<String> events = new CopyOnWriteArrayList<>();

    @Override
    public void channelActive(ChannelHandlerContext ctx) {
      events.add("active");
      ctx.fireChannelActive();
    }

    @Override
    public void channelInactive(ChannelHandlerContext ctx) {
      events.add("inactive");
      ctx.fireChannelInactive();
    }

    @Override
    public void channelUnregistered(ChannelHandlerContext ctx) {
      events.add("unregistered");
      ctx.fireChannelUnregistered();
    }
  }

  /** A congestion control that throws while a flag is set. */
  private static CongestionControl.Factory throwing(AtomicBoolean broken) {
    return mssBytes ->
        new CongestionControl() {
          @Override
          public int window() {
            if (broken.get()) {
              throw new IllegalStateException("broken");
            }
            return 1000;
          }

          @Override
          public void onAck(AckSample sample) {}

          @Override
          public void onLoss(LossSample sample) {}

          @Override
          public void onMssChanged(int mssBytes) {}
        };
  }

  @OverEachTransport
  void clientWhoseLastFlushThrowsClosesItsSocket(TransportUnderTest transport) throws Exception {
    try (Fixture fixture = new Fixture(transport);
        UnresponsivePeer unresponsive = new UnresponsivePeer()) {
      AtomicBoolean broken = new AtomicBoolean();
      fixture.bootstrap.option(KcpChannelOption.LINGER, 0);
      fixture.bootstrap.option(KcpChannelOption.CONGESTION_CONTROL, throwing(broken));
      Recorder recorder = new Recorder();
      KcpChannel client = fixture.connectTo(unresponsive.address(), recorder);
      client.writeAndFlush(Fixture.buffer(client, new byte[10])).syncUninterruptibly();
      broken.set(true);

      Throwable failure = client.close().awaitUninterruptibly().cause();

      assertInstanceOf(IllegalStateException.class, failure);
      await().until(() -> !client.endpoint().isOpen());
      assertEquals(1, client.endpointCounters().get(KcpCounter.SESSIONS_CLOSED));
      await().until(() -> recorder.events.equals(List.of("active", "inactive")));
    }
  }

  @OverEachTransport
  void childWhoseLastFlushThrowsLeavesItsServer(TransportUnderTest transport) throws Exception {
    try (Fixture fixture = new Fixture(transport)) {
      AtomicBoolean broken = new AtomicBoolean();
      fixture.serverBootstrap.childOption(KcpChannelOption.LINGER, 0);
      fixture.serverBootstrap.childOption(KcpChannelOption.CONGESTION_CONTROL, throwing(broken));
      KcpServerChannel server = fixture.serve(Echo::new);
      KcpChannel client = fixture.connect(new Recorder());
      client.writeAndFlush(Fixture.buffer(client, new byte[10]));
      KcpChannel child = fixture.child();
      await().until(() -> server.sessions() == 1);
      broken.set(true);

      child.close().awaitUninterruptibly();

      await().until(() -> server.sessions() == 0);
      await().until(() -> server.usedMemoryBytes() == 0);
      server.close().syncUninterruptibly();
      await().until(() -> !server.sockets().isOpen());
    }
  }

  private static boolean isFree(InetSocketAddress address) {
    try (DatagramSocket socket = new DatagramSocket(address)) {
      return socket.isBound();
    } catch (SocketException e) {
      return false;
    }
  }
}
