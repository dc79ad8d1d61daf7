package io.kcp4j.netty;

import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kcp4j.Delivery;
import io.kcp4j.EndReason;
import io.kcp4j.KcpCounter;
import io.kcp4j.netty.KcpSocketConfig.PortUnreachable;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelOption;
import io.netty.channel.ConnectTimeoutException;
import java.net.ConnectException;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Clients of ports at which nobody listens: protocol.md 7.8. */
class PortUnreachableTest {

  /** Half a second, and what a busy machine may add; the user timeout is 30 s. */
  private static final int MOST_CONNECT_MS = 10_000;

  /** Five seconds and the same. */
  private static final int MOST_PROBING_MS = 20_000;

  private static KcpChannel connectAndWrite(Fixture fixture, ClosedPort closed, Recorder recorder) {
    KcpChannel client = fixture.connectTo(closed.address(), recorder);
    client.writeAndFlush(Fixture.buffer(client, new byte[4]));
    return client;
  }

  private static ChannelFuture connect(Fixture fixture, ClosedPort closed) {
    return fixture.bootstrap.handler(new Recorder()).connect(closed.address());
  }

  @OverEachTransport
  void callToAClosedPortFails(TransportUnderTest transport) throws Exception {
    try (Fixture fixture = new Fixture(transport);
        ClosedPort closed = new ClosedPort()) {
      Recorder recorder = new Recorder();
      KcpChannel client = connectAndWrite(fixture, closed, recorder);

      assertTrue(client.closeFuture().await(MOST_CONNECT_MS));

      assertEquals(EndReason.PORT_UNREACHABLE, client.endReason());
      await().until(() -> recorder.events.equals(List.of("active", "exception", "inactive")));
      KcpSessionClosedException end =
          assertInstanceOf(KcpSessionClosedException.class, recorder.exceptions.get(0));
      assertEquals(EndReason.PORT_UNREACHABLE, end.reason());
      await().until(() -> !client.endpoint().isOpen());
    }
  }

  @OverEachTransport
  void probedConnectToAClosedPortIsRefused(TransportUnderTest transport) throws Exception {
    try (Fixture fixture = new Fixture(transport);
        ClosedPort closed = new ClosedPort()) {
      fixture.bootstrap.option(KcpChannelOption.CONNECT_PROBE, true);

      ChannelFuture connected = connect(fixture, closed);

      assertTrue(connected.await(MOST_CONNECT_MS));
      assertInstanceOf(ConnectException.class, connected.cause());
      connected.channel().closeFuture().syncUninterruptibly();
    }
  }

  @Test
  void connectWithLanesToAClosedPortIsRefused() throws Exception {
    try (Fixture fixture = new Fixture(TransportUnderTest.NIO);
        ClosedPort closed = new ClosedPort()) {
      fixture.bootstrap.option(KcpChannelOption.DELIVERY, Delivery.LANES);

      ChannelFuture connected = connect(fixture, closed);

      assertTrue(connected.await(MOST_CONNECT_MS));
      assertInstanceOf(ConnectException.class, connected.cause());
    }
  }

  private static KcpSocketConfig with(PortUnreachable action) {
    return KcpSocketConfig.builder().portUnreachable(action).build();
  }

  @OverEachTransport
  void sessionSurvivesTheAbsenceOfItsServerIfAskedFor(TransportUnderTest transport)
      throws Exception {
    try (Fixture fixture = new Fixture(transport);
        ClosedPort closed = new ClosedPort()) {
      Recorder recorder = new Recorder();
      fixture.bootstrap.option(KcpChannelOption.SOCKET_CONFIG, with(PortUnreachable.IGNORE));
      KcpChannel client = connectAndWrite(fixture, closed, recorder);
      await().until(() -> client.stats().get(KcpCounter.RETRANSMITTED) > 2);

      closed.release();
      fixture.serveAgain(Echo::new, closed.address());

      await().until(() -> recorder.received() == 4);
      assertEquals(List.of(), recorder.exceptions);
    }
  }

  @Test
  void probedConnectTimesOutIfPortsThatAreUnreachableAreIgnored() throws Exception {
    try (Fixture fixture = new Fixture(TransportUnderTest.NIO);
        ClosedPort closed = new ClosedPort()) {
      fixture
          .bootstrap
          .option(KcpChannelOption.CONNECT_PROBE, true)
          .option(KcpChannelOption.SOCKET_CONFIG, with(PortUnreachable.IGNORE))
          .option(ChannelOption.CONNECT_TIMEOUT_MILLIS, 800);

      ChannelFuture connected = connect(fixture, closed).awaitUninterruptibly();

      assertInstanceOf(ConnectTimeoutException.class, connected.cause());
    }
  }

  @OverEachTransport
  void firstMessageEndsTheSessionIfAskedFor(TransportUnderTest transport) throws Exception {
    try (Fixture fixture = new Fixture(transport);
        ClosedPort closed = new ClosedPort()) {
      fixture.bootstrap.option(KcpChannelOption.SOCKET_CONFIG, with(PortUnreachable.END));
      KcpChannel client = connectAndWrite(fixture, closed, new Recorder());

      assertTrue(client.closeFuture().await(MOST_CONNECT_MS));

      assertEquals(EndReason.PORT_UNREACHABLE, client.endReason());
      assertEquals(0, client.stats().get(KcpCounter.PROBES_OUT));
    }
  }

  @OverEachTransport
  void firstMessageFailsAConnectIfAskedFor(TransportUnderTest transport) throws Exception {
    try (Fixture fixture = new Fixture(transport);
        ClosedPort closed = new ClosedPort()) {
      fixture
          .bootstrap
          .option(KcpChannelOption.CONNECT_PROBE, true)
          .option(KcpChannelOption.SOCKET_CONFIG, with(PortUnreachable.END));

      ChannelFuture connected = connect(fixture, closed).awaitUninterruptibly();

      assertInstanceOf(ConnectException.class, connected.cause());
    }
  }

  /** Its server's socket is closed without a word to the client, as by a crash of the process. */
  @Tag("slow")
  @OverEachTransport
  void establishedSessionEndsAfterProbes(TransportUnderTest transport) throws Exception {
    try (Fixture fixture = new Fixture(transport);
        RecordingRelay relay =
            new RecordingRelay(fixture.serve(Echo::new).localAddress(), Integer.MAX_VALUE)) {
      Recorder recorder = new Recorder();
      KcpChannel client = fixture.connectTo(relay.address(), recorder);
      client.writeAndFlush(Fixture.buffer(client, new byte[4]));
      await().until(() -> recorder.received() == 4);

      relay.refuse();
      client.writeAndFlush(Fixture.buffer(client, new byte[4]));

      assertTrue(client.closeFuture().await(MOST_PROBING_MS));
      assertEquals(EndReason.PORT_UNREACHABLE, client.endReason());
      assertTrue(client.stats().get(KcpCounter.PROBES_OUT) >= 7);
    }
  }
}
