package io.kcp4j.internal.session;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kcp4j.EndReason;
import io.kcp4j.internal.wire.Segment;
import io.netty.buffer.ByteBuf;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** What ICMP port unreachable does to a client's session, in virtual time: protocol.md 7.8. */
class UnreachablePortTest {

  private static final List<EndReason> ENDED = List.of(EndReason.PORT_UNREACHABLE);

  /** What happens to datagrams of the client. */
  private enum Network {
    /** The server receives them, and its answers arrive. */
    DELIVERS,
    LOSES,
    /** Nobody listens: each draws a message. */
    REFUSES
  }

  private final VirtualHost client = new VirtualHost(1);
  private final VirtualHost server = new VirtualHost(2);

  /** When probes have left, in milliseconds since {@link #beganAtUs}. */
  private final List<Integer> probesAtMs = new ArrayList<>();

  private long beganAtUs;

  private void establish() {
    client.open(server);
    client.write(10);
    run(500, Network.DELIVERS);
    assertEquals(10, server.received);
    assertTrue(client.session.hasPeerAnswered());
    begin();
  }

  private void begin() {
    probesAtMs.clear();
    beganAtUs = client.nowUs;
  }

  private int elapsedMs() {
    return (int) ((client.nowUs - beganAtUs) / 1_000);
  }

  private void run(int ms, Network network) {
    for (int i = 0; i < ms; i++) {
      step(network);
    }
  }

  /** Runs until the session has ended, and returns when that was. */
  private int runToEnd(int mostMs, Network network) {
    while (client.ends.isEmpty() && elapsedMs() < mostMs) {
      step(network);
    }
    return elapsedMs();
  }

  private void step(Network network) {
    client.runTo(client.nowUs + 1_000);
    server.runTo(client.nowUs);
    List<ByteBuf> packets = client.packets();
    if (packets.stream().anyMatch(UnreachablePortTest::isProbe)) {
      probesAtMs.add(elapsedMs());
    }
    if (network == Network.DELIVERS) {
      server.take(client, packets);
      client.take(server, server.packets());
    } else if (network == Network.REFUSES) {
      packets.forEach(packet -> report());
    }
  }

  private static boolean isProbe(ByteBuf packet) {
    for (int at = 0; at < packet.writerIndex(); ) {
      if (Segment.cmd(packet, at) == Segment.WASK) {
        return true;
      }
      at += Segment.HEADER_BYTES + Segment.length(packet, at);
    }
    return false;
  }

  /** A message is received. */
  private void report() {
    client.driver.table.portUnreachable(client.session, client.nowUs);
  }

  // Before the server has answered.

  @Test
  void secondMessageEndsASessionThatWasNeverAnswered() {
    client.open(server);
    begin();
    client.write(10);

    int endedMs = runToEnd(60_000, Network.REFUSES);

    assertEquals(ENDED, client.ends);
    assertEquals(List.of(501), probesAtMs, "half a second after the first message");
    assertEquals(501, endedMs);
  }

  @Test
  void messagesBeforeTheProbeDoNotCount() {
    client.open(server);
    begin();
    for (int ms = 0; ms < 500; ms++) {
      report();
      step(Network.LOSES);
    }
    assertEquals(List.of(), client.ends);
    assertEquals(List.of(500), probesAtMs);

    report();

    assertEquals(ENDED, client.ends);
  }

  @Test
  void sessionEndsByNoMessageIfTheProbeIsLost() {
    client.open(server);
    client.write(10);
    report();
    run(5_000, Network.LOSES);
    assertEquals(List.of(), client.ends);

    report();

    assertEquals(ENDED, client.ends);
  }

  @Test
  void serverThatIsBackWithinHalfASecondIsConnectedTo() {
    client.open(server);
    client.write(10);
    run(450, Network.REFUSES);

    run(2_000, Network.DELIVERS);

    assertEquals(10, server.received);
    assertEquals(List.of(), client.ends);
  }

  // When the server has answered.

  @Test
  void sevenProbesEndAnEstablishedSession() {
    establish();
    report();

    int endedMs = runToEnd(60_000, Network.REFUSES);

    assertEquals(ENDED, client.ends);
    assertEquals(List.of(1, 751, 1501, 2251, 3001, 3751, 4501), probesAtMs);
    assertTrue(endedMs > 4_501 && endedMs < 4_900, "a probe timeout later: " + endedMs);
  }

  @Test
  void sessionWithDataInFlightEndsWithinFiveSeconds() {
    establish();
    client.write(10);

    int endedMs = runToEnd(60_000, Network.REFUSES);

    assertEquals(ENDED, client.ends);
    assertTrue(endedMs < 5_000, "ended after " + endedMs + " ms");
  }

  @Test
  void keepAliveThatIsOffDoesNotStopTheProbes() {
    establish();
    TestDriver.configure(client.session, config -> config.keepAliveIntervalMs(0));
    report();

    runToEnd(60_000, Network.REFUSES);

    assertEquals(ENDED, client.ends);
  }

  @Test
  void peerIsReportedAsUnresponsiveBeforeTheEnd() {
    establish();
    List<Integer> reportedAtMs = new ArrayList<>();
    client.driver.onUnresponsive = session -> reportedAtMs.add(elapsedMs());
    report();

    runToEnd(60_000, Network.REFUSES);

    assertEquals(List.of(1501), reportedAtMs);
  }

  @Test
  void sessionGoesOnIfMessagesStop() {
    establish();
    report();

    run(20_000, Network.LOSES);

    assertEquals(7, probesAtMs.size());
    assertEquals(List.of(), client.ends);
  }

  @Test
  void pauseOfTheServerEndsNoSession() {
    establish();
    client.write(10);
    run(10_000, Network.LOSES);

    run(1_000, Network.DELIVERS);

    assertEquals(20, server.received);
    assertEquals(List.of(), client.ends);
  }

  @Test
  void messageAfterOneOfTheLastProbesEndsTheSession() {
    establish();
    report();
    run(3_100, Network.LOSES);
    report();

    runToEnd(60_000, Network.LOSES);

    assertEquals(ENDED, client.ends);
  }

  @Test
  void answerToTheLastProbeKeepsTheSession() {
    establish();
    report();
    run(4_500, Network.REFUSES);

    run(5_000, Network.DELIVERS);

    assertEquals(7, probesAtMs.size());
    assertEquals(List.of(), client.ends);
  }

  @Test
  void forgedMessagesDrawFewProbes() {
    establish();
    for (int ms = 0; ms < 10_000; ms++) {
      if (ms % 100 == 0) {
        client.write(10);
      }
      report();
      step(Network.DELIVERS);
    }
    assertEquals(List.of(), client.ends);
    assertTrue(probesAtMs.size() >= 5 && probesAtMs.size() <= 14, probesAtMs::toString);
  }

  /** The forger does not know when the client sends. */
  @Test
  void messageThatNoDatagramHasDrawnIsForged() {
    establish();
    report();
    run(500, Network.LOSES);

    report();
    run(50_000, Network.LOSES);

    assertEquals(List.of(1), probesAtMs);
    assertEquals(List.of(), client.ends);
  }

  /** Somebody replays the answer to the first datagram. */
  @Test
  void replayedDatagramsDoNotKeepTheSession() {
    client.open(server);
    client.write(10);
    server.take(client, client.packets());
    server.runTo(client.nowUs + 50_000);
    List<ByteBuf> answers = server.packets();
    client.take(server, answers);
    assertTrue(client.session.hasPeerAnswered());
    begin();
    report();
    while (client.ends.isEmpty() && elapsedMs() < 60_000) {
      step(Network.REFUSES);
      client.take(server, answers);
    }
    assertEquals(ENDED, client.ends);
    assertTrue(elapsedMs() < 5_000, "ended after " + elapsedMs() + " ms");
  }

  @Test
  void answersThatWaitDuringAStallAreReadBeforeTheSessionEnds() {
    establish();
    report();
    run(4_500, Network.REFUSES);
    client.runTo(client.nowUs + 1_000); // The last probe.
    List<ByteBuf> probes = client.packets();
    server.take(client, probes);
    client.nowUs += 10_000_000;
    step(Network.REFUSES);
    assertEquals(List.of(), client.ends);

    server.runTo(client.nowUs);
    client.take(server, server.packets());
    run(5_000, Network.LOSES);

    assertEquals(List.of(), client.ends);
  }

  @Test
  void sessionThatItsUserHasClosedIsNotProbed() {
    establish();
    client.finish();
    begin();
    report();
    run(2_000, Network.LOSES);
    assertEquals(List.of(), probesAtMs);
    assertFalse(client.driver.table.lifecycle().contains(client.session));
  }

  @Test
  void seriesOfASessionThatEndsForAnotherReasonIsForgotten() {
    establish();
    client.session.kcp().probe();
    client.flush();
    report();
    run(1_000, Network.LOSES);
    assertTrue(probesAtMs.size() > 0);
    begin();
    client.driver.table.remove(client.session, client.nowUs);
    client.session.close();
    assertEquals(Long.MAX_VALUE, client.driver.table.deadlines().nextDeadline());
    run(10_000, Network.REFUSES);
    assertEquals(List.of(), probesAtMs);
    assertEquals(List.of(), client.ends);
  }
}
