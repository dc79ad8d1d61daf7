package io.kcp4j.netty;

import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.kcp4j.CongestionControl;
import io.kcp4j.KcpCounter;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelOption;
import io.netty.channel.ChannelPromise;
import io.netty.channel.ConnectTimeoutException;
import io.netty.channel.DefaultChannelPromise;
import io.netty.channel.epoll.Epoll;
import io.netty.channel.unix.UnixChannelOption;
import io.netty.util.concurrent.Future;
import io.netty.util.concurrent.GenericFutureListener;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.UnknownHostException;
import java.nio.channels.AlreadyConnectedException;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.NotYetConnectedException;
import java.nio.channels.UnresolvedAddressException;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** Connecting of clients. */
class ConnectTest {

  private static ChannelFuture connect(
      Fixture fixture, InetSocketAddress remote, Recorder handler) {
    return fixture.bootstrap.handler(handler).connect(remote).awaitUninterruptibly();
  }

  @OverEachTransport
  void clientIsActiveAtOnce(TransportUnderTest transport) throws Exception {
    try (Fixture fixture = new Fixture(transport);
        UnresponsivePeer peer = new UnresponsivePeer()) {
      Recorder recorder = new Recorder();

      KcpChannel client = fixture.connectTo(peer.address(), recorder);

      assertTrue(client.isActive());
      await().until(() -> recorder.events.equals(List.of("active")));
    }
  }

  @OverEachTransport
  void probedServerAnswersWithoutASession(TransportUnderTest transport) {
    try (Fixture fixture = new Fixture(transport)) {
      fixture.bootstrap.option(KcpChannelOption.CONNECT_PROBE, true);
      KcpServerChannel server = fixture.serve(Echo::new);

      KcpChannel client = fixture.connect(new Recorder());

      assertTrue(client.isActive());
      assertEquals(0, server.sessions());
    }
  }

  @OverEachTransport
  void probedServerMayAcceptAtOnce(TransportUnderTest transport) throws Exception {
    try (Fixture fixture = new Fixture(transport)) {
      fixture.bootstrap.option(KcpChannelOption.CONNECT_PROBE, true);
      KcpSocketConfig config = KcpSocketConfig.builder().acceptOnProbe(true).build();
      fixture.serverBootstrap.option(KcpChannelOption.SOCKET_CONFIG, config);
      fixture.serve(Echo::new);

      KcpChannel client = fixture.connect(new Recorder());

      assertEquals(client.conv(), fixture.child().conv());
    }
  }

  @OverEachTransport
  void connectToAnUnresponsivePeerTimesOut(TransportUnderTest transport) throws Exception {
    try (Fixture fixture = new Fixture(transport);
        UnresponsivePeer peer = new UnresponsivePeer()) {
      fixture.bootstrap.option(KcpChannelOption.CONNECT_PROBE, true);
      fixture.bootstrap.option(ChannelOption.CONNECT_TIMEOUT_MILLIS, 300);
      Recorder recorder = new Recorder();

      ChannelFuture connected = connect(fixture, peer.address(), recorder);

      assertInstanceOf(ConnectTimeoutException.class, connected.cause());
      connected.channel().closeFuture().syncUninterruptibly();
      assertEquals(List.of(), recorder.events);
    }
  }

  @OverEachTransport
  void probedServerThatHasClosedDoesNotAnswerThoughChildrenKeepItsSocket(
      TransportUnderTest transport) throws Exception {
    try (Fixture fixture = new Fixture(transport)) {
      KcpServerChannel server = fixture.serve(Echo::new);
      Recorder recorder = new Recorder();
      KcpChannel client = fixture.connect(recorder);
      client.writeAndFlush(Fixture.buffer(client, new byte[1]));
      await().until(() -> recorder.received() == 1);
      server.close().syncUninterruptibly();
      fixture.bootstrap.option(KcpChannelOption.CONNECT_PROBE, true);
      fixture.bootstrap.option(ChannelOption.CONNECT_TIMEOUT_MILLIS, 300);

      ChannelFuture connected = connect(fixture, server.localAddress(), new Recorder());

      assertInstanceOf(ConnectTimeoutException.class, connected.cause());
      assertTrue(client.isActive());
    }
  }

  @OverEachTransport
  void probingCanBeCancelled(TransportUnderTest transport) throws Exception {
    try (Fixture fixture = new Fixture(transport);
        UnresponsivePeer peer = new UnresponsivePeer()) {
      fixture.bootstrap.option(KcpChannelOption.CONNECT_PROBE, true);
      ChannelFuture connecting = fixture.bootstrap.handler(new Recorder()).connect(peer.address());

      assertTrue(connecting.cancel(true));

      connecting.channel().closeFuture().syncUninterruptibly();
      assertTrue(connecting.isCancelled());
    }
  }

  @OverEachTransport
  void connectThatIsCancelledAsItBeginsClosesTheChannel(TransportUnderTest transport)
      throws Exception {
    try (Fixture fixture = new Fixture(transport);
        UnresponsivePeer peer = new UnresponsivePeer()) {
      KcpChannel client =
          (KcpChannel) fixture.bootstrap.handler(new Recorder()).register().sync().channel();

      ChannelFuture connect = client.connect(peer.address(), new CancelledByItsListener(client));

      client.closeFuture().syncUninterruptibly();
      assertTrue(connect.isCancelled());
      await().until(() -> !client.endpoint().isOpen());
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
  void socketThatCannotBeBoundFailsTheConnect(TransportUnderTest transport) throws Exception {
    try (Fixture fixture = new Fixture(transport);
        UnresponsivePeer peer = new UnresponsivePeer();
        UnresponsivePeer occupant = new UnresponsivePeer()) {
      fixture.bootstrap.localAddress(occupant.address());

      ChannelFuture failed = connect(fixture, peer.address(), new Recorder());

      assertInstanceOf(IOException.class, failed.cause());
      assertTrue(failed.cause().getMessage().contains("in use"), failed.cause().getMessage());
      failed.channel().closeFuture().syncUninterruptibly();
      await().until(() -> !((KcpChannel) failed.channel()).endpoint().isOpen());
    }
  }

  @OverEachTransport
  void closingEndsProbing(TransportUnderTest transport) throws Exception {
    try (Fixture fixture = new Fixture(transport);
        UnresponsivePeer peer = new UnresponsivePeer()) {
      fixture.bootstrap.option(KcpChannelOption.CONNECT_PROBE, true);
      ChannelFuture connecting = fixture.bootstrap.handler(new Recorder()).connect(peer.address());

      connecting.channel().close().syncUninterruptibly();

      assertInstanceOf(ClosedChannelException.class, connecting.awaitUninterruptibly().cause());
    }
  }

  @OverEachTransport
  void unknownHostsAreRefused(TransportUnderTest transport) {
    try (Fixture fixture = new Fixture(transport)) {
      InetSocketAddress unknown = InetSocketAddress.createUnresolved("host.invalid", 1);

      assertInstanceOf(
          UnknownHostException.class, connect(fixture, unknown, new Recorder()).cause());

      Channel client =
          fixture.bootstrap.handler(new Recorder()).register().syncUninterruptibly().channel();
      assertInstanceOf(
          UnresolvedAddressException.class, client.connect(unknown).awaitUninterruptibly().cause());
    }
  }

  @OverEachTransport
  void clientConnectsOnce(TransportUnderTest transport) {
    try (Fixture fixture = new Fixture(transport)) {
      fixture.serve(Echo::new);
      KcpChannel client = fixture.connect(new Recorder());

      ChannelFuture again = client.connect(client.remoteAddress()).awaitUninterruptibly();

      assertInstanceOf(AlreadyConnectedException.class, again.cause());
      assertTrue(client.isActive());
    }
  }

  @OverEachTransport
  void writeBeforeConnectFails(TransportUnderTest transport) {
    try (Fixture fixture = new Fixture(transport)) {
      Channel client =
          fixture.bootstrap.handler(new Recorder()).register().syncUninterruptibly().channel();

      ChannelFuture written =
          client.writeAndFlush(Fixture.buffer(client, new byte[1])).awaitUninterruptibly();

      assertInstanceOf(NotYetConnectedException.class, written.cause());
      assertNull(client.localAddress());
      assertNull(client.remoteAddress());
    }
  }

  @OverEachTransport
  void clientChoosesAddressAndConversation(TransportUnderTest transport) throws Exception {
    try (Fixture fixture = new Fixture(transport)) {
      fixture.serve(Echo::new);
      fixture.bootstrap.option(KcpChannelOption.CONV, 42).localAddress(Fixture.ANY_PORT);
      KcpChannel client = fixture.connect(new Recorder());
      client.writeAndFlush(Fixture.buffer(client, new byte[1]));

      KcpChannel child = fixture.child();

      assertEquals(42, client.conv());
      assertEquals(42, child.conv());
      assertEquals(client.localAddress(), child.remoteAddress());
    }
  }

  @OverEachTransport
  void serverBoundToTheWildcardCanBeReached(TransportUnderTest transport) throws Exception {
    try (Fixture fixture = new Fixture(transport)) {
      fixture.serve(Echo::new);
      KcpServerChannel server =
          (KcpServerChannel) fixture.serverBootstrap.bind(0).syncUninterruptibly().channel();
      Recorder recorder = new Recorder();
      KcpChannel client =
          fixture.connectTo(
              new InetSocketAddress(
                  InetAddress.getLoopbackAddress(), server.localAddress().getPort()),
              recorder);

      client.writeAndFlush(Fixture.buffer(client, new byte[3]));

      await().until(() -> recorder.received() == 3);
      assertEquals(1, server.sessions());
    }
  }

  @Test
  void serversOnSeveralEventLoopsShareOnePort() {
    assumeTrue(Epoll.isAvailable());
    try (Fixture fixture = new Fixture(TransportUnderTest.EPOLL)) {
      fixture.serverBootstrap.option(UnixChannelOption.SO_REUSEPORT, true);
      KcpServerChannel first = fixture.serve(Echo::new);
      KcpServerChannel second =
          (KcpServerChannel)
              fixture.serverBootstrap.bind(first.localAddress()).syncUninterruptibly().channel();

      for (int i = 0; i < 40; i++) {
        Recorder recorder = new Recorder();
        KcpChannel client = fixture.connect(recorder);
        client.writeAndFlush(Fixture.buffer(client, new byte[10]));
        await().until(() -> recorder.received() == 10);
      }

      assertEquals(40, first.sessions() + second.sessions());
      assertTrue(first.sessions() > 0);
      assertTrue(second.sessions() > 0);
    }
  }

  @OverEachTransport
  void statsAreAvailableAfterAFailedConnect(TransportUnderTest transport) throws Exception {
    try (Fixture fixture = new Fixture(transport);
        UnresponsivePeer unresponsive = new UnresponsivePeer()) {
      fixture.bootstrap.option(KcpChannelOption.CONNECT_PROBE, true);
      CompletableFuture<Long> probes = new CompletableFuture<>();
      ChannelFuture connecting =
          fixture.bootstrap.clone().handler(new Recorder()).connect(unresponsive.address());
      KcpChannel client = (KcpChannel) connecting.channel();
      connecting.addListener(future -> probes.complete(client.stats().get(KcpCounter.PROBES_OUT)));
      await().until(() -> client.stats().get(KcpCounter.PROBES_OUT) > 0);

      client.close();

      assertTrue(probes.get(10, TimeUnit.SECONDS) > 0);
    }
  }

  @OverEachTransport
  void congestionControlThatCannotBeMadeFailsTheConnect(TransportUnderTest transport)
      throws Exception {
    try (Fixture fixture = new Fixture(transport);
        UnresponsivePeer unresponsive = new UnresponsivePeer()) {
      for (CongestionControl.Factory factory : failingFactories()) {
        fixture.bootstrap.option(KcpChannelOption.CONGESTION_CONTROL, factory);
        fixture.bootstrap.handler(new Recorder());
        ChannelFuture connect = fixture.bootstrap.connect(unresponsive.address());
        assertTrue(connect.await(10, TimeUnit.SECONDS));
        assertInstanceOf(RuntimeException.class, connect.cause());
      }
    }
  }

  private static List<CongestionControl.Factory> failingFactories() {
    return List.of(
        mssBytes -> null,
        mssBytes -> {
          throw new IllegalStateException("for the test");
        });
  }
}
