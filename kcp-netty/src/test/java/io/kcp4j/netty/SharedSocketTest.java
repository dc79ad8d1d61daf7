package io.kcp4j.netty;

import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.kcp4j.KcpCounter;
import io.kcp4j.Segment;
import io.kcp4j.congestion.CongestionControl;
import io.kcp4j.crypto.CipherAlgorithm;
import io.kcp4j.crypto.KeyRing;
import io.kcp4j.crypto.PacketKey;
import io.netty.bootstrap.Bootstrap;
import io.netty.buffer.UnpooledByteBufAllocator;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelOption;
import io.netty.channel.ChannelPromise;
import io.netty.channel.ConnectTimeoutException;
import io.netty.channel.DefaultChannelPromise;
import io.netty.channel.EventLoopGroup;
import io.netty.util.concurrent.Future;
import io.netty.util.concurrent.GenericFutureListener;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.channels.ClosedChannelException;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** Clients of one event loop share sockets, never two sessions with one remote address. */
class SharedSocketTest {

  private static Fixture fixture(TransportUnderTest transport) {
    Fixture fixture = new Fixture(transport);
    fixture.bootstrap.option(KcpChannelOption.SHARED_SOCKET, true);
    return fixture;
  }

  private static KeyRing keyRing() {
    return KeyRing.of(PacketKey.of(CipherAlgorithm.AES_128_GCM, new byte[16]));
  }

  private static KcpServerChannel serve(Fixture fixture) {
    return fixture.serve(Echo::new);
  }

  private static void assertEchoes(KcpChannel client, Recorder recorder) {
    int before = recorder.received();
    client.writeAndFlush(Fixture.buffer(client, new byte[100]));
    await().until(() -> recorder.received() == before + 100);
  }

  private static ChannelFuture connect(Bootstrap bootstrap, InetSocketAddress remote) {
    return bootstrap.clone().handler(new Recorder()).connect(remote).awaitUninterruptibly();
  }

  private static KcpChannel connected(Bootstrap bootstrap, InetSocketAddress remote) {
    return (KcpChannel) connect(bootstrap, remote).syncUninterruptibly().channel();
  }

  @OverEachTransport
  void hundredClientsOfHundredServersShareOneSocket(TransportUnderTest transport) {
    try (Fixture fixture = fixture(transport)) {
      List<KcpChannel> clients = new ArrayList<>();
      List<Recorder> recorders = new ArrayList<>();
      for (int i = 0; i < 100; i++) {
        recorders.add(new Recorder());
        clients.add(fixture.connectTo(serve(fixture).localAddress(), recorders.get(i)));
      }

      Set<KcpEndpoint> sockets = new HashSet<>();
      for (int i = 0; i < 100; i++) {
        sockets.add(clients.get(i).endpoint());
        assertEchoes(clients.get(i), recorders.get(i));
      }

      assertEquals(1, sockets.size());
      KcpEndpoint socket = clients.get(0).endpoint();
      assertEquals(100, socket.sessions());
      assertSame(clients.get(0).endpointCounters(), clients.get(99).endpointCounters());
      assertEquals(100, clients.get(0).endpointCounters().get(KcpCounter.SESSIONS_OPENED));
      assertEquals(100, clients.get(0).stats().get(KcpCounter.PAYLOAD_BYTES_IN));
    }
  }

  @OverEachTransport
  void twoClientsOfOneServerUseTwoSockets(TransportUnderTest transport) throws Exception {
    try (Fixture fixture = fixture(transport)) {
      KcpServerChannel server = serve(fixture);
      Recorder first = new Recorder();
      Recorder second = new Recorder();

      KcpChannel firstClient = fixture.connectTo(server.localAddress(), first);
      KcpChannel secondClient = fixture.connectTo(server.localAddress(), second);

      assertNotSame(firstClient.endpoint(), secondClient.endpoint());
      assertEchoes(firstClient, first);
      assertEchoes(secondClient, second);
      assertFalse(fixture.child().remoteAddress().equals(fixture.child().remoteAddress()));
    }
  }

  @OverEachTransport
  void withoutTheOptionNothingIsShared(TransportUnderTest transport) {
    try (Fixture fixture = fixture(transport)) {
      KcpChannel shared = fixture.connectTo(serve(fixture).localAddress(), new Recorder());
      fixture.bootstrap.option(KcpChannelOption.SHARED_SOCKET, false);

      KcpChannel own = fixture.connectTo(serve(fixture).localAddress(), new Recorder());
      KcpChannel other = fixture.connectTo(serve(fixture).localAddress(), new Recorder());

      assertNotSame(shared.endpoint(), own.endpoint());
      assertNotSame(own.endpoint(), other.endpoint());
    }
  }

  @OverEachTransport
  void closingAClientLeavesTheOthersAndTheLastOneClosesTheSocket(TransportUnderTest transport) {
    try (Fixture fixture = fixture(transport)) {
      Recorder recorder = new Recorder();
      KcpChannel opener = fixture.connectTo(serve(fixture).localAddress(), new Recorder());
      KcpChannel stays = fixture.connectTo(serve(fixture).localAddress(), recorder);
      KcpEndpoint socket = opener.endpoint();
      assertEchoes(stays, recorder);

      opener.close().syncUninterruptibly();

      assertEchoes(stays, recorder);
      assertTrue(socket.isOpen());
      assertEquals(1, socket.sessions());

      stays.close().syncUninterruptibly();
      await().until(() -> !socket.isOpen());
    }
  }

  @OverEachTransport
  void clientOfAClosedSocketOpensAnother(TransportUnderTest transport) {
    try (Fixture fixture = fixture(transport)) {
      KcpServerChannel server = serve(fixture);
      KcpChannel first = fixture.connectTo(server.localAddress(), new Recorder());
      first.close().syncUninterruptibly();

      Recorder recorder = new Recorder();
      KcpChannel second = fixture.connectTo(server.localAddress(), recorder);

      assertNotSame(first.endpoint(), second.endpoint());
      assertEchoes(second, recorder);
    }
  }

  @OverEachTransport
  void addressOfAClosedSessionGetsAnotherSocket(TransportUnderTest transport) {
    try (Fixture fixture = fixture(transport)) {
      fixture.bootstrap.option(KcpChannelOption.CONV, 42);
      KcpServerChannel server = serve(fixture);
      KcpChannel stays = fixture.connectTo(serve(fixture).localAddress(), new Recorder());
      Recorder firstRecorder = new Recorder();
      KcpChannel first = fixture.connectTo(server.localAddress(), firstRecorder);
      assertEchoes(first, firstRecorder);
      assertSame(stays.endpoint(), first.endpoint());
      first.close().syncUninterruptibly();

      Recorder recorder = new Recorder();
      KcpChannel second = fixture.connectTo(server.localAddress(), recorder);

      assertNotSame(stays.endpoint(), second.endpoint());
      assertEchoes(second, recorder);
    }
  }

  @OverEachTransport
  void clientReconnectsToARestartedServer(TransportUnderTest transport) throws Exception {
    try (Fixture fixture = fixture(transport)) {
      Recorder stays = new Recorder();
      KcpChannel other = fixture.connectTo(serve(fixture).localAddress(), stays);
      KcpServerChannel server = serve(fixture);
      Recorder before = new Recorder();
      KcpChannel client = fixture.connectTo(server.localAddress(), before);
      assertEchoes(client, before);
      server.close().syncUninterruptibly();
      fixture.child().close().syncUninterruptibly();
      await().until(() -> !server.sockets().isOpen());
      client.close().syncUninterruptibly();

      fixture.serveAgain(Echo::new, server.localAddress());
      Recorder after = new Recorder();
      KcpChannel again = fixture.connectTo(server.localAddress(), after);

      assertEchoes(again, after);
      assertEchoes(other, stays);
    }
  }

  @OverEachTransport
  void sharedSessionSurvivesTheAbsenceOfItsServer(TransportUnderTest transport) throws Exception {
    try (Fixture fixture = fixture(transport);
        ClosedPort closed = new ClosedPort()) {
      Recorder stays = new Recorder();
      KcpChannel other = fixture.connectTo(serve(fixture).localAddress(), stays);
      Recorder recorder = new Recorder();
      KcpChannel client = fixture.connectTo(closed.address(), recorder);
      client.writeAndFlush(Fixture.buffer(client, new byte[4]));
      await().until(() -> client.stats().get(KcpCounter.RETRANSMITTED) > 1);

      closed.release();
      fixture.serveAgain(Echo::new, closed.address());

      await().until(() -> recorder.received() == 4);
      assertEquals(List.of(), recorder.exceptions);
      assertEchoes(other, stays);
    }
  }

  @OverEachTransport
  void connectToAClosedPortTimesOut(TransportUnderTest transport) throws Exception {
    try (Fixture fixture = fixture(transport);
        ClosedPort closed = new ClosedPort()) {
      Recorder recorder = new Recorder();
      KcpChannel other = fixture.connectTo(serve(fixture).localAddress(), recorder);
      fixture.bootstrap.option(KcpChannelOption.CONNECT_PROBE, true);
      fixture.bootstrap.option(ChannelOption.CONNECT_TIMEOUT_MILLIS, 300);

      ChannelFuture failed = connect(fixture.bootstrap, closed.address());

      assertInstanceOf(ConnectTimeoutException.class, failed.cause());
      failed.channel().closeFuture().syncUninterruptibly();
      assertEchoes(other, recorder);
      KcpChannel probed = fixture.connectTo(serve(fixture).localAddress(), new Recorder());
      assertSame(other.endpoint(), probed.endpoint());
    }
  }

  @OverEachTransport
  void cancelledConnectLeavesTheOthers(TransportUnderTest transport) throws Exception {
    try (Fixture fixture = fixture(transport);
        UnresponsivePeer peer = new UnresponsivePeer()) {
      Recorder recorder = new Recorder();
      KcpChannel other = fixture.connectTo(serve(fixture).localAddress(), recorder);
      fixture.bootstrap.option(KcpChannelOption.CONNECT_PROBE, true);
      ChannelFuture connecting =
          fixture.bootstrap.clone().handler(new Recorder()).connect(peer.address());

      assertTrue(connecting.cancel(true));

      connecting.channel().closeFuture().syncUninterruptibly();
      assertEchoes(other, recorder);
      assertEquals(1, other.endpoint().sessions());
    }
  }

  @OverEachTransport
  void connectThatIsCancelledAsItBeginsLeavesTheOthers(TransportUnderTest transport)
      throws Exception {
    try (Fixture fixture = fixture(transport);
        UnresponsivePeer peer = new UnresponsivePeer()) {
      Recorder recorder = new Recorder();
      KcpChannel other = fixture.connectTo(serve(fixture).localAddress(), recorder);
      Channel channel =
          fixture.bootstrap.clone().handler(new Recorder()).register().sync().channel();

      channel.connect(peer.address(), new CancelledByItsListener(channel));

      channel.closeFuture().syncUninterruptibly();
      assertEchoes(other, recorder);
      other.close();
      await().until(() -> !other.endpoint().isOpen());
    }
  }

  /** Is cancelled between the first look at it and the first listener. */
  private static final class CancelledByItsListener extends DefaultChannelPromise {

    CancelledByItsListener(Channel channel) {
      super(channel);
    }

    @Override
    public ChannelPromise addListener(
        GenericFutureListener<? extends Future<? super Void>> listener) {
      cancel(false);
      return super.addListener(listener);
    }
  }

  @OverEachTransport
  void sessionThatCannotBeMadeFailsItsConnectOnly(TransportUnderTest transport) {
    try (Fixture fixture = fixture(transport)) {
      Recorder recorder = new Recorder();
      KcpChannel other = fixture.connectTo(serve(fixture).localAddress(), recorder);
      Bootstrap broken = fixture.bootstrap.clone();
      CongestionControl.Factory factory =
          mssBytes -> {
            throw new IllegalStateException("for the test");
          };
      broken.option(KcpChannelOption.CONGESTION_CONTROL, factory);

      ChannelFuture failed = connect(broken, serve(fixture).localAddress());

      assertInstanceOf(IllegalStateException.class, failed.cause());
      failed.channel().closeFuture().syncUninterruptibly();
      assertEchoes(other, recorder);
    }
  }

  @OverEachTransport
  void socketThatCannotBeBoundFailsTheConnect(TransportUnderTest transport) throws Exception {
    try (Fixture fixture = fixture(transport);
        UnresponsivePeer occupant = new UnresponsivePeer()) {
      KcpServerChannel server = serve(fixture);
      Bootstrap bound = fixture.bootstrap.clone().localAddress(occupant.address());

      ChannelFuture failed = connect(bound, server.localAddress());

      assertAddressInUse(failed);
      failed.channel().closeFuture().syncUninterruptibly();
      await().until(() -> !((KcpChannel) failed.channel()).endpoint().isOpen());
      Recorder recorder = new Recorder();
      assertEchoes(fixture.connectTo(server.localAddress(), recorder), recorder);
    }
  }

  private static void assertAddressInUse(ChannelFuture failed) {
    assertInstanceOf(IOException.class, failed.cause());
    assertTrue(failed.cause().getMessage().contains("in use"), failed.cause().getMessage());
  }

  @OverEachTransport
  void localAddressIsSharedIfItIsTheSame(TransportUnderTest transport) {
    try (Fixture fixture = fixture(transport)) {
      KcpChannel any = fixture.connectTo(serve(fixture).localAddress(), new Recorder());
      Bootstrap loopback = fixture.bootstrap.clone().localAddress(Fixture.ANY_PORT);

      KcpChannel first = connected(loopback, serve(fixture).localAddress());
      KcpChannel second = connected(loopback, serve(fixture).localAddress());
      Bootstrap port = fixture.bootstrap.clone().localAddress(first.localAddress());
      KcpChannel third = connected(port, serve(fixture).localAddress());

      assertNotSame(any.endpoint(), first.endpoint());
      assertSame(first.endpoint(), second.endpoint());
      assertSame(first.endpoint(), third.endpoint());
      assertEquals(first.localAddress(), third.localAddress());
      assertAddressInUse(connect(port, third.remoteAddress()));
    }
  }

  @OverEachTransport
  void otherSettingsAreNotShared(TransportUnderTest transport) {
    try (Fixture fixture = fixture(transport)) {
      KeyRing keys = keyRing();
      List<Bootstrap> bootstraps =
          List.of(
              fixture.bootstrap.clone(),
              fixture.bootstrap.clone().option(KcpChannelOption.KEY_RING, keys),
              fixture.bootstrap.clone().option(KcpChannelOption.KEY_RING, keyRing()),
              fixture.bootstrap.clone().option(ChannelOption.SO_SNDBUF, 123_456),
              fixture.bootstrap.clone().option(KcpSocketOption.SEND_SEGMENTS, 3),
              fixture.bootstrap.clone().option(KcpSocketOption.RECEIVE, ReceiveMode.SINGLE),
              fixture
                  .bootstrap
                  .clone()
                  .option(ChannelOption.ALLOCATOR, new UnpooledByteBufAllocator(true)));
      Set<KcpEndpoint> sockets = new HashSet<>();
      for (Bootstrap bootstrap : bootstraps) {
        KcpChannel first = connected(bootstrap, serve(fixture).localAddress());
        KcpChannel second = connected(bootstrap, serve(fixture).localAddress());
        assertTrue(sockets.add(first.endpoint()));
        assertSame(first.endpoint(), second.endpoint());
      }
    }
  }

  @OverEachTransport
  void clientsWithTheSameKeysShareThem(TransportUnderTest transport) {
    try (Fixture fixture = fixture(transport)) {
      KeyRing keys = keyRing();
      fixture.serverBootstrap.option(KcpServerChannelOption.KEY_RING, keys);
      fixture.bootstrap.option(KcpChannelOption.KEY_RING, keys);
      Recorder first = new Recorder();
      Recorder second = new Recorder();

      KcpChannel firstClient = fixture.connectTo(serve(fixture).localAddress(), first);
      KcpChannel secondClient = fixture.connectTo(serve(fixture).localAddress(), second);

      assertSame(firstClient.endpoint(), secondClient.endpoint());
      assertEchoes(firstClient, first);
      assertEchoes(secondClient, second);
    }
  }

  @OverEachTransport
  void settingsOfASharedSocketCannotBeChanged(TransportUnderTest transport) {
    try (Fixture fixture = fixture(transport)) {
      KeyRing keys = keyRing();
      fixture.bootstrap.option(KcpChannelOption.KEY_RING, keys);
      KcpChannelConfig config =
          connected(fixture.bootstrap, serve(fixture).localAddress()).config();

      assertThrows(
          IllegalStateException.class,
          () -> config.setOption(KcpChannelOption.KEY_RING, keyRing()));
      assertThrows(
          IllegalStateException.class, () -> config.setOption(ChannelOption.SO_SNDBUF, 1 << 20));
      assertThrows(
          IllegalStateException.class, () -> config.setOption(KcpSocketOption.SEND_SEGMENTS, 1));
      assertTrue(config.setOption(KcpChannelOption.KEY_RING, keys));
      assertSame(keys, config.getOption(KcpChannelOption.KEY_RING));
      assertNotNull(config.getOption(ChannelOption.SO_SNDBUF));
    }
  }

  @OverEachTransport
  void channelThatIsNotConnectedHasNoSocket(TransportUnderTest transport) {
    try (Fixture fixture = fixture(transport)) {
      Bootstrap bootstrap = fixture.bootstrap.clone().handler(new Recorder());
      KcpChannel client = (KcpChannel) bootstrap.register().syncUninterruptibly().channel();
      assertNull(client.endpoint());
      assertTrue(client.isOpen());

      Throwable refusal = client.bind(Fixture.ANY_PORT).awaitUninterruptibly().cause();
      assertInstanceOf(UnsupportedOperationException.class, refusal);

      client.close().syncUninterruptibly();
      assertInstanceOf(
          ClosedChannelException.class,
          client.connect(Fixture.ANY_PORT).awaitUninterruptibly().cause());
    }
  }

  @OverEachTransport
  void wildcardAddressIsReachedAtTheLoopback(TransportUnderTest transport) {
    try (Fixture fixture = fixture(transport)) {
      serve(fixture);
      int port = fixture.server().localAddress().getPort();
      Recorder recorder = new Recorder();

      KcpChannel client = fixture.connectTo(new InetSocketAddress("0.0.0.0", port), recorder);

      assertEchoes(client, recorder);
    }
  }

  @OverEachTransport
  void datagramsOfOtherHostsAreCountedAndDropped(TransportUnderTest transport) throws Exception {
    try (Fixture fixture = fixture(transport)) {
      Recorder recorder = new Recorder();
      KcpChannel client = fixture.connectTo(serve(fixture).localAddress(), recorder);
      int port = client.localAddress().getPort();

      try (RawPeer unknown =
          new RawPeer(new InetSocketAddress(InetAddress.getLoopbackAddress(), port))) {
        unknown.send(RawPeer.segment(client.conv(), Segment.PUSH, 0, new byte[] {1}));
      }

      await().until(() -> client.endpointCounters().get(KcpCounter.ACCEPT_REFUSED) == 1);
      assertEquals(1, client.endpoint().sessions());
      assertEchoes(client, recorder);
    }
  }

  @OverEachTransport
  void endOfTheEventLoopClosesChannelsWithoutASocket(TransportUnderTest transport)
      throws Exception {
    assumeTrue(transport != TransportUnderTest.IO_URING);
    EventLoopGroup group = transport.newGroup(1);
    Bootstrap bootstrap =
        new Bootstrap()
            .group(group)
            .channel(KcpChannel.class)
            .option(KcpChannelOption.SHARED_SOCKET, true)
            .handler(new Recorder());
    Channel client = bootstrap.register().sync().channel();

    group.shutdownGracefully(0, 10, TimeUnit.SECONDS);
    group.terminationFuture().sync();

    assertTrue(client.closeFuture().isDone());
  }

  @Test
  void acceptedChannelCannotShare() throws Exception {
    try (Fixture fixture = new Fixture(TransportUnderTest.NIO)) {
      serve(fixture);
      KcpChannel client = fixture.connect(new Recorder());
      client.writeAndFlush(Fixture.buffer(client, new byte[1]));

      KcpChannelConfig config = fixture.child().config();

      assertThrows(
          IllegalArgumentException.class,
          () -> config.setOption(KcpChannelOption.SHARED_SOCKET, true));
    }
  }

  @Test
  void socketTakesALimitedNumberOfAddresses() throws Exception {
    try (Fixture fixture = fixture(TransportUnderTest.NIO)) {
      KcpChannel client = fixture.connectTo(serve(fixture).localAddress(), new Recorder());
      SharedSockets sockets = new SharedSockets();
      client
          .eventLoop()
          .submit(
              () -> {
                SharedSocket socket =
                    new SharedSocket(
                        sockets, SharedSocket.Settings.of(client.config()), null, client);
                InetAddress loopback = InetAddress.getLoopbackAddress();
                for (int port = 1; port <= SharedSocket.MAX_REMOTES; port++) {
                  assertTrue(socket.add(new InetSocketAddress(loopback, port), null));
                }
                assertFalse(socket.add(new InetSocketAddress(loopback, 65_000), null));
                socket.endpoint().channel().unsafe().closeForcibly();
              })
          .sync();
    }
  }
}
