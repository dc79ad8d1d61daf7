package io.kcp4j.netty;

import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kcp4j.EndReason;
import io.kcp4j.KcpCounter;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import java.util.List;

/** What a channel learns of its peer: {@link KcpChannelEvent}, and how it notices its absence. */
class LivenessTest {

  private static final int PROBE_INTERVAL_MS = 100;

  @OverEachTransport
  void bothSidesAreEstablishedOnce(TransportUnderTest transport) throws Exception {
    try (Fixture fixture = new Fixture(transport)) {
      fixture.configureClient(config -> config.extension(false));
      Recorder server = new Recorder();
      fixture.serve(() -> server);
      Recorder recorder = new Recorder();
      KcpChannel client = fixture.connect(recorder);
      client.writeAndFlush(Fixture.buffer(client, new byte[1]));
      KcpChannel child = fixture.child();
      await().until(() -> server.received() == 1);
      assertEquals(List.of(), server.livenessEvents, "no acknowledgement yet");

      child.writeAndFlush(Fixture.buffer(child, new byte[1]));
      await().until(() -> recorder.received() == 1);
      client.writeAndFlush(Fixture.buffer(client, new byte[1]));

      await().until(() -> server.received() == 2);
      await().until(() -> server.livenessEvents.equals(List.of(KcpChannelEvent.ESTABLISHED)));
      assertEquals(List.of(KcpChannelEvent.ESTABLISHED), recorder.livenessEvents);
    }
  }

  @OverEachTransport
  void peerThatDoesNotAcknowledgeIsUnresponsiveUntilItDoes(TransportUnderTest transport)
      throws Exception {
    try (Fixture fixture = new Fixture(transport);
        UnresponsivePeer peer = new UnresponsivePeer()) {
      fixture.configureClient(config -> config.keepAliveProbeIntervalMs(PROBE_INTERVAL_MS));
      Recorder recorder = new Recorder();
      KcpChannel client = fixture.connectTo(peer.address(), recorder);
      client.writeAndFlush(Fixture.buffer(client, new byte[1]));

      await().until(() -> recorder.livenessEvents.equals(List.of(KcpChannelEvent.UNRESPONSIVE)));
      assertTrue(client.isActive());
      peer.acknowledge();

      await()
          .until(
              () ->
                  recorder.livenessEvents.equals(
                      List.of(
                          KcpChannelEvent.UNRESPONSIVE,
                          KcpChannelEvent.ESTABLISHED,
                          KcpChannelEvent.RESPONSIVE)));
    }
  }

  @OverEachTransport
  void handlerMayCloseTheChannelOfAnUnresponsivePeer(TransportUnderTest transport)
      throws Exception {
    try (Fixture fixture = new Fixture(transport);
        UnresponsivePeer peer = new UnresponsivePeer()) {
      fixture.configureClient(config -> config.keepAliveProbeIntervalMs(PROBE_INTERVAL_MS));
      fixture.bootstrap.option(KcpChannelOption.LINGER, 0);
      KcpChannel client =
          fixture.connectTo(
              peer.address(),
              new ChannelInboundHandlerAdapter() {
                @Override
                public void userEventTriggered(ChannelHandlerContext ctx, Object event) {
                  assertEquals(KcpChannelEvent.UNRESPONSIVE, event);
                  ctx.close();
                }
              });
      client.writeAndFlush(Fixture.buffer(client, new byte[1]));

      client.closeFuture().syncUninterruptibly();

      await().until(() -> !client.endpoint().isOpen());
    }
  }

  /** The server ignores them, as a path does that reports nothing. */
  @OverEachTransport
  void exceptionHasTheSizeOfDatagramsThatThePathDrops(TransportUnderTest transport)
      throws Exception {
    try (Fixture fixture = new Fixture(transport)) {
      KcpSocketConfig config = KcpSocketConfig.builder().maxDatagramBytes(1300).build();
      fixture.serverBootstrap.option(KcpChannelOption.SOCKET_CONFIG, config);
      fixture.bootstrap.option(KcpChannelOption.MTU, 1400);
      fixture.bootstrap.option(KcpChannelOption.USER_TIMEOUT, 1000);
      fixture.serve(Echo::new);
      Recorder recorder = new Recorder();
      KcpChannel client = fixture.connect(recorder);
      for (int i = 1; i <= 30; i++) { // The first round trip is long, and so are timeouts then.
        int echoed = i;
        client.writeAndFlush(Fixture.buffer(client, new byte[1]));
        await().until(() -> recorder.bytes().length == echoed);
      }
      client.writeAndFlush(Fixture.buffer(client, new byte[1376]));

      client.closeFuture().syncUninterruptibly();

      assertEquals(EndReason.PATH_MTU, client.endReason());
      await().until(() -> !recorder.exceptions.isEmpty());
      String message = recorder.exceptions.get(0).getMessage();
      String detail = "datagrams of 1400 bytes do not arrive, but smaller ones do (MTU 1400)";
      assertTrue(message.endsWith(" ended: PATH_MTU, " + detail), message);
    }
  }

  @OverEachTransport
  void peerIsProbedAsOftenAsIsSet(TransportUnderTest transport) throws Exception {
    try (Fixture fixture = new Fixture(transport);
        UnresponsivePeer peer = new UnresponsivePeer()) {
      fixture.bootstrap.option(KcpChannelOption.KEEP_ALIVE_INTERVAL, 1);
      fixture.bootstrap.option(KcpChannelOption.KEEP_ALIVE_PROBES, 1);
      Recorder recorder = new Recorder();
      KcpChannel client = fixture.connectTo(peer.address(), recorder);

      client.closeFuture().syncUninterruptibly();

      assertEquals(EndReason.HANDSHAKE_TIMEOUT, client.endReason());
      assertEquals(1, client.stats().get(KcpCounter.PROBES_OUT));
      assertEquals(List.of(KcpChannelEvent.UNRESPONSIVE), recorder.livenessEvents);
    }
  }
}
