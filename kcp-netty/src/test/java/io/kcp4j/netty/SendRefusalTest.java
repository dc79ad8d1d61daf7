package io.kcp4j.netty;

import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import ch.qos.logback.classic.Level;
import io.kcp4j.EndReason;
import io.kcp4j.KcpCounter;
import io.netty.channel.ChannelOption;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.channels.ClosedChannelException;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.ResourceLock;

/** Datagrams that the system does not send, and servers that do not answer. */
class SendRefusalTest {

  /**
   * Without SO_BROADCAST, the system sends nothing to this address, unless the socket has kept the
   * route: it looks it up again after IP_TOS has been set.
   */
  @OverEachTransport
  @ResourceLock(RecordedLog.LOCK)
  void refusalIsCountedLoggedAndTheCauseOfTheEnd(TransportUnderTest transport) {
    try (Fixture fixture = new Fixture(transport);
        RecordedLog log = new RecordedLog()) {
      fixture.bootstrap.option(ChannelOption.SO_BROADCAST, true);
      fixture.bootstrap.option(KcpChannelOption.USER_TIMEOUT, 500);
      Recorder recorder = new Recorder();
      KcpChannel client = fixture.connectTo(new InetSocketAddress("255.255.255.255", 9), recorder);
      client.config().setOption(ChannelOption.SO_BROADCAST, false);
      client.config().setOption(ChannelOption.IP_TOS, 16);
      client.writeAndFlush(Fixture.buffer(client, new byte[10]));

      client.closeFuture().syncUninterruptibly();

      assertEquals(EndReason.HANDSHAKE_TIMEOUT, client.endReason());
      assertTrue(client.endpointCounters().get(KcpCounter.SEND_REFUSED_OTHER) > 0);
      await().until(() -> !recorder.exceptions.isEmpty());
      String message = recorder.exceptions.get(0).getMessage();
      assertTrue(message.contains("0 datagrams received; last send failed: "), message);
      assertTrue(message.contains("ermission denied"), message);
      List<String> lines =
          log.messages(Level.WARN).stream()
              .filter(line -> line.contains("refuses") && line.contains("denied"))
              .toList();
      assertEquals(1, lines.size(), lines.toString());
    }
  }

  @Test
  void clientLearnsOfRefusalsAtMostOnceInTenSeconds() {
    try (Fixture fixture = new Fixture(TransportUnderTest.NIO)) {
      fixture.serve(Echo::new);
      Recorder recorder = new Recorder();
      KcpChannel client = fixture.connect(recorder);
      client
          .eventLoop()
          .submit(
              () -> {
                client.endpoint().socketFailed(new IOException("Operation not permitted"));
                client.endpoint().socketFailed(new IOException("Operation not permitted"));
              })
          .syncUninterruptibly();
      client.eventLoop().submit(() -> {}).syncUninterruptibly();
      assertEquals(List.of(KcpChannelEvent.SEND_REFUSED), recorder.livenessEvents);
      assertEquals(2, client.endpointCounters().get(KcpCounter.SEND_REFUSED_EPERM));
    }
  }

  /** As when a datagram of the batch that the socket is reading has ended its only session. */
  @Test
  @ResourceLock(RecordedLog.LOCK)
  void useOfASocketThatIsClosedIsNoRefusal() {
    try (Fixture fixture = new Fixture(TransportUnderTest.NIO);
        RecordedLog log = new RecordedLog()) {
      fixture.serve(Echo::new);
      Recorder recorder = new Recorder();
      KcpChannel client = fixture.connect(recorder);
      client
          .eventLoop()
          .submit(() -> client.endpoint().socketFailed(new ClosedChannelException()))
          .syncUninterruptibly();
      client.eventLoop().submit(() -> {}).syncUninterruptibly();
      assertEquals(List.of(), recorder.livenessEvents);
      assertEquals(0, client.endpointCounters().get(KcpCounter.SEND_REFUSED_OTHER));
      assertEquals(List.of(), log.messages(Level.WARN));
    }
  }

  @Test
  @ResourceLock(RecordedLog.LOCK)
  void serverThatDoesNotAnswerIsLogged() throws Exception {
    try (Fixture fixture = new Fixture(TransportUnderTest.NIO);
        UnresponsivePeer unresponsive = new UnresponsivePeer();
        RecordedLog log = new RecordedLog()) {
      fixture.bootstrap.option(KcpChannelOption.LINGER, 0);
      KcpChannel client = fixture.connectTo(unresponsive.address(), new Recorder());
      client.writeAndFlush(Fixture.buffer(client, new byte[10]));
      String expected = "no answer from " + unresponsive.address() + " yet, 0 datagrams received";
      await()
          .until(() -> log.messages(Level.INFO).stream().anyMatch(line -> line.contains(expected)));
    }
  }

  @Test
  void failedConnectNamesWhatIsKnown() throws Exception {
    try (Fixture fixture = new Fixture(TransportUnderTest.NIO);
        UnresponsivePeer unresponsive = new UnresponsivePeer()) {
      Throwable cause =
          fixture
              .bootstrap
              .option(KcpChannelOption.CONNECT_PROBE, true)
              .option(ChannelOption.CONNECT_TIMEOUT_MILLIS, 200)
              .handler(new Recorder())
              .connect(unresponsive.address())
              .awaitUninterruptibly()
              .cause();
      assertTrue(cause.getMessage().contains(", 0 datagrams received: "), cause.getMessage());
    }
  }
}
