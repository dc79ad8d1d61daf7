package io.kcp4j.netty;

import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kcp4j.CloseReason;
import io.kcp4j.CongestionControl;
import io.kcp4j.EndReason;
import io.kcp4j.KcpCounter;
import io.kcp4j.crypto.BlockCipher;
import io.kcp4j.crypto.KeyRing;
import io.kcp4j.crypto.PacketKey;
import io.kcp4j.internal.wire.Segment;
import io.kcp4j.netty.internal.endpoint.EventLoopContext;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.EventLoop;
import java.net.InetSocketAddress;
import java.util.Iterator;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;

/** What the first handlers of a server and a child may do while the child is accepted. */
class AcceptTest {

  @OverEachTransport
  void childWhoseInitializerFailsBeginsNoSession(TransportUnderTest transport) throws Exception {
    try (Fixture fixture = new Fixture(transport)) {
      KcpServerChannel server =
          fixture.serve(
              () -> {
                throw new IllegalStateException("no handler");
              });
      KcpChannel client = fixture.connect(new Recorder());

      client.writeAndFlush(Fixture.buffer(client, new byte[10]));

      await().until(() -> server.counters().get(KcpCounter.CLOSED_SESSION) > 0);
      assertEquals(0, server.sessions());
      assertEquals(1, server.counters().get(KcpCounter.SESSIONS_OPENED));
    }
  }

  @OverEachTransport
  void childThatClosesItsServerAndItselfLeavesNoDeadline(TransportUnderTest transport)
      throws Exception {
    try (Fixture fixture = new Fixture(transport)) {
      KcpServerChannel server =
          fixture.serve(
              () ->
                  new ChannelInboundHandlerAdapter() {
                    @Override
                    public void channelActive(ChannelHandlerContext ctx) {
                      ctx.channel().parent().close();
                      ctx.close();
                    }
                  });
      EventLoop loop = server.eventLoop();
      KcpChannel client = fixture.connect(new Recorder());

      client.writeAndFlush(Fixture.buffer(client, new byte[10]));

      fixture.child().closeFuture().syncUninterruptibly();
      assertEquals(0, loop.submit(() -> EventLoopContext.of(loop).wheel().size()).get());
      assertEquals(0, server.sessions());
    }
  }

  @OverEachTransport
  void childIsRefusedWhenItsServerHasClosedTheSocket(TransportUnderTest transport)
      throws Exception {
    try (Fixture fixture = new Fixture(transport)) {
      CompletableFuture<KcpChannel> refused = new CompletableFuture<>();
      fixture.serverBootstrap.handler(
          new ChannelInboundHandlerAdapter() {
            @Override
            public void channelRead(ChannelHandlerContext ctx, Object msg) {
              ctx.close();
              ctx.fireChannelRead(msg);
              refused.complete((KcpChannel) msg);
            }
          });
      fixture.serve(Echo::new);
      KcpChannel client = fixture.connect(new Recorder());

      client.writeAndFlush(Fixture.buffer(client, new byte[10]));

      KcpChannel child = refused.get(10, TimeUnit.SECONDS);
      assertTrue(child.closeFuture().await(10, TimeUnit.SECONDS));
      assertFalse(child.isRegistered());
      assertTrue(fixture.children.isEmpty());
    }
  }

  private static final CongestionControl.Factory BROKEN =
      mssBytes -> {
        throw new AssertionError("broken");
      };

  @OverEachTransport
  void childWhoseSessionCannotBeMadeIsClosedAndRefused(TransportUnderTest transport)
      throws Exception {
    try (Fixture fixture = new Fixture(transport)) {
      BlockingQueue<KcpChannel> children = new LinkedBlockingQueue<>();
      fixture.serverBootstrap.handler(
          new ChannelInboundHandlerAdapter() {
            @Override
            public void channelRead(ChannelHandlerContext ctx, Object msg) {
              children.add((KcpChannel) msg);
              ctx.fireChannelRead(msg);
            }
          });
      fixture.serverBootstrap.childOption(KcpChannelOption.CONGESTION_CONTROL, BROKEN);
      KcpServerChannel server = fixture.serve(Echo::new);
      KcpChannel client = fixture.connect(new Recorder());

      client.writeAndFlush(Fixture.buffer(client, new byte[10]));
      KcpChannel child = children.take();

      await().until(() -> child.closeFuture().isDone());
      assertFalse(child.isOpen());
      await().until(() -> server.counters().get(KcpCounter.ACCEPT_REFUSED) > 0);
      assertEquals(0, server.sessions());
      server.close().syncUninterruptibly();
      await().until(() -> !server.sockets().isOpen());
    }
  }

  @OverEachTransport
  void filterRefusesPeersBeforeAChildIsMade(TransportUnderTest transport) throws Exception {
    try (Fixture fixture = new Fixture(transport)) {
      AtomicBoolean accepts = new AtomicBoolean();
      BlockingQueue<InetSocketAddress> asked = new LinkedBlockingQueue<>();
      fixture.serverBootstrap.option(
          KcpServerChannelOption.ACCEPT_FILTER,
          (remote, conv) -> {
            asked.add(remote);
            return accepts.get();
          });
      KcpServerChannel server = fixture.serve(Echo::new);
      Recorder recorder = new Recorder();
      KcpChannel client = fixture.connect(recorder);
      client.writeAndFlush(Fixture.buffer(client, new byte[10]));

      assertEquals(client.localAddress(), asked.take());
      await().until(() -> server.counters().get(KcpCounter.ACCEPT_REFUSED) > 0);
      assertEquals(0, server.sessions());
      assertTrue(fixture.children.isEmpty());
      accepts.set(true);

      await().until(() -> recorder.received() == 10);
    }
  }

  @OverEachTransport
  void peerThatTheFilterRefusesLearnsTheReason(TransportUnderTest transport) throws Exception {
    try (Fixture fixture = new Fixture(transport)) {
      CloseReason banned = new CloseReason(17, "banned until Monday");
      fixture.serverBootstrap.option(
          KcpServerChannelOption.ACCEPT_FILTER, new RefusingFilter(banned));
      fixture.serve(Echo::new);
      Recorder recorder = new Recorder();
      KcpChannel client = fixture.connect(recorder);

      client.writeAndFlush(Fixture.buffer(client, new byte[10]));

      assertRefused(client, recorder, banned);
    }
  }

  @OverEachTransport
  void clientOfAFullServerLearnsThat(TransportUnderTest transport) throws Exception {
    assertClientOfAFullServerLearnsThat(transport, AcceptFilter.ALL);
  }

  /** Although the filter would tell the same reason to any client that it does not accept. */
  @OverEachTransport
  void clientThatTheFilterAcceptsLearnsThatTheServerIsFull(TransportUnderTest transport)
      throws Exception {
    AcceptFilter filter =
        new AcceptFilter() {
          @Override
          public boolean accepts(InetSocketAddress remote, int conv) {
            return true;
          }

          @Override
          public CloseReason refusal(InetSocketAddress remote, int conv) {
            return new CloseReason(17, "banned");
          }
        };
    assertClientOfAFullServerLearnsThat(transport, filter);
  }

  private static void assertClientOfAFullServerLearnsThat(
      TransportUnderTest transport, AcceptFilter filter) throws Exception {
    try (Fixture fixture = new Fixture(transport)) {
      fixture.serverBootstrap.option(KcpServerChannelOption.ACCEPT_FILTER, filter);
      fixture.serverBootstrap.option(KcpServerChannelOption.MAX_SESSIONS, 1);
      fixture.serve(Echo::new);
      Recorder first = new Recorder();
      KcpChannel accepted = fixture.connect(first);
      accepted.writeAndFlush(Fixture.buffer(accepted, new byte[10]));
      await().until(() -> first.received() == 10);
      Recorder recorder = new Recorder();
      KcpChannel client = fixture.connect(recorder);

      client.writeAndFlush(Fixture.buffer(client, new byte[10]));

      assertRefused(client, recorder, new CloseReason(0, "the server is full"));
      assertTrue(accepted.isActive());
    }
  }

  private static void assertRefused(KcpChannel client, Recorder recorder, CloseReason reason) {
    client.closeFuture().syncUninterruptibly();
    await().until(() -> recorder.events.equals(List.of("active", "exception", "inactive")));
    KcpSessionClosedException end =
        assertInstanceOf(KcpSessionClosedException.class, recorder.exceptions.get(0));
    assertEquals(EndReason.REFUSED, end.reason());
    assertEquals(reason, end.peerReason());
    assertTrue(end.getMessage().endsWith("ended: REFUSED, " + reason), end.getMessage());
  }

  @OverEachTransport
  void filterThatThrowsRefusesThePeer(TransportUnderTest transport) throws Exception {
    try (Fixture fixture = new Fixture(transport)) {
      fixture.serverBootstrap.option(
          KcpServerChannelOption.ACCEPT_FILTER,
          (remote, conv) -> {
            throw new IllegalStateException("of the test");
          });
      KcpServerChannel server = fixture.serve(Echo::new);
      KcpChannel client = fixture.connect(new Recorder());
      client.writeAndFlush(Fixture.buffer(client, new byte[10]));
      await().until(() -> server.counters().get(KcpCounter.ACCEPT_REFUSED) > 0);

      server.config().setOption(KcpServerChannelOption.ACCEPT_FILTER, AcceptFilter.ALL);

      assertTrue(fixture.child().isActive());
    }
  }

  @OverEachTransport
  void probeOfAPeerThatTheFilterRefusesIsNotAnswered(TransportUnderTest transport)
      throws Exception {
    try (Fixture fixture = new Fixture(transport)) {
      fixture.serverBootstrap.option(
          KcpServerChannelOption.ACCEPT_FILTER, (remote, conv) -> conv != 1);
      KcpServerChannel server = fixture.serve(Echo::new);
      try (RawPeer rawPeer = new RawPeer(server.localAddress())) {
        rawPeer.send(RawPeer.segment(1, Segment.WASK, 0, new byte[0]));
        await().until(() -> server.counters().get(KcpCounter.UNKNOWN_SESSION) == 1);
        rawPeer.send(RawPeer.segment(2, Segment.WASK, 0, new byte[0]));
        assertEquals(2, Segment.conv(rawPeer.receive(10_000), 0));
      }
    }
  }

  @OverEachTransport
  void childWithoutProofGivesWayToAnother(TransportUnderTest transport) throws Exception {
    try (Fixture fixture = new Fixture(transport)) {
      fixture.serverBootstrap.option(KcpServerChannelOption.MAX_UNVALIDATED, 1);
      fixture.configureClient(config -> config.extension(false));
      Recorder served = new Recorder();
      Iterator<Recorder> recorders = List.of(served, new Recorder()).iterator();
      KcpServerChannel server = fixture.serve(recorders::next);
      KcpChannel first = fixture.connect(new Recorder());
      first.writeAndFlush(Fixture.buffer(first, new byte[10]));
      KcpChannel child = fixture.child();
      KcpChannel second = fixture.connect(new Recorder());
      second.writeAndFlush(Fixture.buffer(second, new byte[10]));

      child.closeFuture().syncUninterruptibly();

      assertEquals(EndReason.EVICTED, child.endReason());
      assertEquals(List.of(), served.exceptions, "a flood must not fill the log");
      assertTrue(fixture.child().isActive());
      assertEquals(1, server.counters().get(KcpCounter.SESSIONS_EVICTED));
      assertTrue(server.counters().get(KcpCounter.ACCEPT_DEFERRED) > 0);
    }
  }

  @OverEachTransport
  void settingWithWhichNoSessionCanBeMadeLeavesThePreviousSession(TransportUnderTest transport)
      throws Exception {
    try (Fixture fixture = new Fixture(transport)) {
      AtomicReference<Throwable> refusal = new AtomicReference<>();
      fixture.serve(
          () ->
              new ChannelInitializer<KcpChannel>() {
                @Override
                protected void initChannel(KcpChannel child) {
                  refusal.set(
                      assertThrows(
                          AssertionError.class,
                          () ->
                              child
                                  .config()
                                  .setOption(KcpChannelOption.CONGESTION_CONTROL, BROKEN)));
                  child.config().setOption(KcpChannelOption.IDLE_TIMEOUT, 100_000);
                  child.pipeline().addLast(new Echo());
                }
              });
      Recorder recorder = new Recorder();
      KcpChannel client = fixture.connect(recorder);

      client.writeAndFlush(Fixture.buffer(client, new byte[10]));

      await().until(() -> recorder.received() == 10);
      assertEquals("broken", refusal.get().getMessage());
      assertSame(
          CongestionControl.BBR,
          fixture.child().config().getOption(KcpChannelOption.CONGESTION_CONTROL));
    }
  }

  @OverEachTransport
  void clientWhoseSessionCannotBeMadeFailsToConnect(TransportUnderTest transport) throws Exception {
    try (Fixture fixture = new Fixture(transport);
        UnresponsivePeer peer = new UnresponsivePeer()) {
      fixture.bootstrap.option(KcpChannelOption.CONGESTION_CONTROL, BROKEN);

      ChannelFuture connecting = fixture.bootstrap.handler(new Recorder()).connect(peer.address());

      await().until(connecting::isDone);
      assertEquals("broken", connecting.cause().getMessage());
      await().until(() -> connecting.channel().closeFuture().isDone());
    }
  }

  @OverEachTransport
  void cipherThatCannotBeLoadedFailsBindAndConnect(TransportUnderTest transport) {
    try (Fixture fixture = new Fixture(transport)) {
      AtomicInteger made = new AtomicInteger();
      PacketKey broken =
          PacketKey.ofBlockCipher(
              "broken",
              () -> {
                if (made.getAndIncrement() % 2 > 0) {
                  throw new NoClassDefFoundError("broken");
                }
                return new XorCipher();
              });
      fixture.serverBootstrap.option(KcpChannelOption.KEY_RING, KeyRing.of(broken));
      fixture.serverBootstrap.childHandler(new Recorder());
      fixture.bootstrap.option(KcpChannelOption.KEY_RING, KeyRing.of(broken));

      ChannelFuture binding = fixture.serverBootstrap.bind(Fixture.ANY_PORT);
      await().until(binding::isDone);
      assertEquals("broken", binding.cause().getMessage());

      made.set(1);
      ChannelFuture connecting =
          fixture.bootstrap.handler(new Recorder()).connect(Fixture.ANY_PORT);
      await().until(connecting::isDone);
      assertEquals("broken", connecting.cause().getMessage());
    }
  }

  /** A block cipher that hardly hides anything. */
  private static final class XorCipher implements BlockCipher {
    @Override
    public int blockBytes() {
      return 16;
    }

    @Override
    public void encrypt(byte[] in, int inIndex, byte[] out, int outIndex) {
      for (int i = 0; i < 16; i++) {
        out[outIndex + i] = (byte) ~in[inIndex + i];
      }
    }
  }
}
