package io.kcp4j.internal.session;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kcp4j.CongestionControl;
import io.kcp4j.Delivery;
import io.kcp4j.EndReason;
import io.kcp4j.KcpConfig;
import io.kcp4j.KcpCounter;
import io.kcp4j.crypto.KeyRing;
import io.kcp4j.fec.FecConfig;
import io.kcp4j.internal.fec.FecPacket;
import io.kcp4j.internal.path.Path;
import io.kcp4j.internal.wire.Segment;
import io.kcp4j.internal.wire.SegmentSource;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** What a server sends to an address that has not been validated: protocol.md 8.7. */
class SendLimitTest {

  private static final int SMALL_BYTES = 64;
  private static final int MAX_SMALL = 8;
  private static final int RESPONSE_BYTES = 100_000;
  private static final int KEEP_ALIVE_PROBES = 7;

  /** For tests in which no time passes. */
  private static final KcpConfig UNPACED =
      KcpConfig.builder().congestionControl(CongestionControl.NONE).build();

  private final VirtualHost client = new VirtualHost(1);
  private final VirtualHost server = new VirtualHost(2);

  /** Has the server send so many bytes as soon as a client has sent it some. */
  private void respond(int bytes) {
    server.driver.onProgress =
        session -> {
          server.read(session);
          if (session.kcp().isDrained()) {
            server.queue(bytes);
            server.driver.onProgress = server::read;
          }
        };
  }

  private void request(int bytes) {
    client.open(server);
    client.write(bytes);
    server.take(client, client.packets());
  }

  private static int bytes(List<ByteBuf> packets) {
    return packets.stream().mapToInt(ByteBuf::readableBytes).sum();
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 10, 500, 1100})
  void clientThatNeverAnswersGetsThreeBytesForEachAndEightSmallSegments(int requestBytes) {
    respond(RESPONSE_BYTES);
    request(requestBytes);
    server.runTo(server.nowUs + 60_000_000);
    assertSentBytesAreLimited(requestBytes, 0);
  }

  @Test
  void sessionThatIsNeverGivenUpSendsOnlyKeepAliveProbesBeyondThat() {
    server.config = KcpConfig.builder().userTimeoutMs(0).build();
    respond(RESPONSE_BYTES);
    request(10);
    server.runTo(server.nowUs + 600_000_000);
    assertSentBytesAreLimited(10, KEEP_ALIVE_PROBES * Segment.HEADER_BYTES);
  }

  private void assertSentBytesAreLimited(int requestBytes, int probeBytes) {
    Path path = server.session.path();
    assertEquals(Segment.HEADER_BYTES + requestBytes, path.bytesReceived());
    assertTrue(
        path.bytesSent() <= 3 * path.bytesReceived() + MAX_SMALL * SMALL_BYTES + probeBytes,
        path.bytesSent() + " bytes for " + path.bytesReceived());
    assertFalse(path.isValidated());
  }

  @ParameterizedTest
  @EnumSource(names = {"STREAM", "MESSAGE"})
  void clientThatAnswersGetsEverything(Delivery delivery) {
    KcpConfig config = KcpConfig.builder().delivery(delivery).maxFragments(100).build();
    client.config = config;
    server.config = config;
    respond(RESPONSE_BYTES);
    request(10);
    List<ByteBuf> first = server.packets();
    assertTrue(bytes(first) <= 3 * (Segment.HEADER_BYTES + 10), bytes(first) + " bytes");
    exchange(first, 100);
    assertTrue(server.session.path().isValidated());
    assertEquals(RESPONSE_BYTES, client.received);
  }

  /** Forwards what both send, first the packets given, with a delay of 10 ms each way. */
  private void exchange(List<ByteBuf> toClient, int times) {
    List<ByteBuf> arrives = toClient;
    for (int i = 0; i < times; i++) {
      client.take(server, arrives);
      client.runTo(client.nowUs + 10_000);
      server.take(client, client.packets());
      server.runTo(server.nowUs + 10_000);
      arrives = server.packets();
    }
  }

  @Test
  void silentClientWhoseAnswerIsLostGetsItAgain() {
    server.config = UNPACED;
    respond(RESPONSE_BYTES);
    request(10);
    server.packets();
    List<Long> sentAtUs = new ArrayList<>();
    long startUs = server.nowUs;
    List<ByteBuf> last = List.of();
    while (server.nowUs < startUs + 28_000_000) {
      server.runTo(server.nowUs + 1_000);
      List<ByteBuf> packets = server.packets();
      if (!packets.isEmpty()) {
        assertTrue(bytes(packets) <= SMALL_BYTES, bytes(packets) + " bytes at once");
        sentAtUs.add(server.nowUs - startUs);
        last = packets;
      }
    }
    assertTrue(sentAtUs.size() >= 5, sentAtUs::toString);
    assertTrue(sentAtUs.size() <= MAX_SMALL, sentAtUs::toString);
    assertTrue(sentAtUs.get(0) <= 300_000, sentAtUs::toString);
    for (int i = 1; i < sentAtUs.size(); i++) {
      long gapUs = sentAtUs.get(i) - sentAtUs.get(i - 1);
      assertTrue(gapUs >= 200_000L << (i - 1), sentAtUs::toString);
    }
    client.nowUs = server.nowUs;
    exchange(last, 100);
    assertEquals(RESPONSE_BYTES, client.received);
  }

  @Test
  void lostAckOfTheFirstSegmentBlocksNothing() {
    respond(RESPONSE_BYTES);
    request(10);
    client.take(server, server.packets());
    client.runTo(client.nowUs + 150_000);
    client.packets(); // The ACK is lost.
    client.write(10); // Acknowledges the segment by una only.
    server.nowUs = client.nowUs;
    server.take(client, client.packets());
    assertFalse(server.session.path().isValidated());
    assertEquals(server.session.kcp().sendUna(), server.session.kcp().sendNext());
    exchange(server.packets(), 100);
    assertEquals(RESPONSE_BYTES, client.received);
  }

  @Test
  void messageOfASingleFragmentThatExceedsTheLimitIsSent() {
    KcpConfig config = KcpConfig.builder().delivery(Delivery.MESSAGE).maxFragments(1).build();
    client.config = config;
    server.config = config;
    respond(1_000);
    request(10);
    List<ByteBuf> first = server.packets();
    assertTrue(bytes(first) <= 3 * (Segment.HEADER_BYTES + 10), bytes(first) + " bytes");
    exchange(first, 20);
    assertEquals(1_000, client.received);
  }

  @Test
  void responseThatIsLostTwiceIsSentAgain() {
    respond(100);
    request(100);
    long startUs = server.nowUs;
    while (server.session.path().allowanceBytes() > 100 && server.nowUs < startUs + 5_000_000) {
      server.runTo(server.nowUs + 1_000);
    }
    server.packets(); // Lost, and there is no allowance for the response any more.
    client.nowUs = server.nowUs;
    server.runTo(server.nowUs + 20_000_000);
    client.nowUs = server.nowUs;
    exchange(server.packets(), 100);
    assertEquals(100, client.received);
  }

  @Test
  void sessionOfAPeerThatAnswersNoChallengeEnds() {
    respond(RESPONSE_BYTES);
    request(10);
    client.take(server, server.packets());
    client.runTo(client.nowUs + 150_000);
    client.packets();
    client.write(10);
    server.nowUs = client.nowUs;
    server.take(client, client.packets());
    for (int i = 0; i < 60 && server.ends.isEmpty(); i++) { // Says that it is alive.
      server.runTo(server.nowUs + 1_000_000);
      client.nowUs = server.nowUs;
      client.session.kcp().probe();
      client.flush();
      server.take(client, client.packets().stream().filter(SendLimitTest::isProbe).toList());
      server.packets();
    }
    assertEquals(List.of(EndReason.HANDSHAKE_TIMEOUT), server.ends);
  }

  private static boolean isProbe(ByteBuf packet) {
    return Segment.cmd(packet, packet.readerIndex()) == Segment.WASK;
  }

  @Test
  void responseIsSentThoughTheMtuShrinksBefore() {
    server.driver.onProgress =
        session -> {
          server.read(session);
          server.queue(RESPONSE_BYTES);
          session.kcp().reconfigure(server.config.toBuilder().mtuBytes(1_000).build());
          server.driver.table.scheduleFlush(session);
          server.driver.onProgress = server::read;
        };
    request(10);
    exchange(server.packets(), 100);
    assertEquals(RESPONSE_BYTES, client.received);
  }

  @Test
  void acknowledgementOfTheFirstOfManySegmentsValidatesThePath() {
    client.config = UNPACED;
    server.config = UNPACED;
    request(10);
    client.write(20_000);
    server.take(client, client.packets());
    assertFalse(server.session.path().isValidated());
    server.packets();
    server.write(50_000);
    List<ByteBuf> packets = server.packets();
    assertTrue(packets.size() > 30, packets.size() + " packets");
    exchange(packets.subList(0, 10), 1);
    assertTrue(server.session.path().isValidated());
  }

  @Test
  void pathOfAClientThatOnlySendsIsValidated() {
    request(10);
    for (int i = 0; i < 10; i++) {
      client.write(1_000);
      server.take(client, client.packets());
      exchange(server.packets(), 3);
    }
    assertTrue(server.session.path().isValidated());
    assertEquals(0, server.session.kcp().sendNext());
  }

  @Test
  void pathOfAClientThatSendsLittleIsNotChallenged() {
    request(10);
    server.runTo(server.nowUs + 1_000_000);
    List<ByteBuf> packets = server.packets();
    assertEquals(1, packets.size());
    assertEquals(Segment.HEADER_BYTES, bytes(packets));
  }

  @Test
  void atMost64KibOfAnUnvalidatedPeerAreKeptBeyondAGap() {
    request(10);
    ByteBuf payload = Unpooled.buffer().writeZero(1_000);
    for (int sn = 2; sn < 250; sn++) {
      server.take(client, List.of(push(sn, payload)));
    }
    long heldBytes = server.session.kcp().stats().usedMemoryBytes();
    assertTrue(heldBytes > 60_000 && heldBytes <= 64 * 1024, heldBytes + " bytes");
    assertTrue(server.count(KcpCounter.OVER_UNREAD_LIMIT) > 150);
    server.take(client, List.of(push(1, payload)));
    assertTrue(server.received > 60_000, "what closes the gap is taken");
  }

  private static ByteBuf push(int sn, ByteBuf payload) {
    ByteBuf push = Unpooled.buffer();
    int bytes = payload.readableBytes();
    Segment.write(push, VirtualHost.CONV, Segment.PUSH, 0, 128, 1, sn, 0, bytes);
    return push.writeBytes(payload.duplicate());
  }

  @Test
  void atMost64KibAndABatchOfAnUnvalidatedPeerWaitToBeRead() {
    server.driver.onProgress = session -> {};
    request(10);
    ByteBuf payload = Unpooled.buffer().writeZero(1_000);
    for (int sn = 1; sn < 250; sn++) {
      server.take(client, List.of(push(sn, payload)));
    }
    long heldBytes = server.session.kcp().stats().usedMemoryBytes();
    assertTrue(heldBytes >= 64 * 1024 && heldBytes < 100_000, heldBytes + " bytes");

    server.packets();
    server.driver.onProgress = server::read;
    server.read(server.session);
    server.flush();
    ByteBuf packet = server.packets().get(0);
    int last = packet.readableBytes() - Segment.HEADER_BYTES;
    assertEquals(Segment.WINS, Segment.cmd(packet, last));
  }

  @Test
  void unreadBytesAreLimitedWhileTheOutputIsBlocked() {
    server.driver.onProgress = session -> {};
    request(10);
    server.driver.outputWritable = () -> false;
    ByteBuf payload = Unpooled.buffer().writeZero(1_000);
    for (int sn = 1; sn < 250; sn++) {
      server.take(client, List.of(push(sn, payload)));
    }
    long heldBytes = server.session.kcp().stats().usedMemoryBytes();
    assertTrue(heldBytes < 100_000, heldBytes + " bytes");
  }

  @Test
  void acknowledgementOfNothingIsNoProof() {
    request(10);
    acknowledge(-1);
    assertFalse(server.session.path().isValidated());
  }

  @Test
  void acknowledgementOfTheFirstSegmentWithoutItsTimestampIsNoProof() {
    respond(10);
    request(10);
    acknowledge(0);
    assertFalse(server.session.path().isValidated());
  }

  /** Many timestamps can be tried by a sender that does not see those of this side. */
  @Test
  void onlyTheFirstAcknowledgementOfADatagramIsAProof() {
    respond(10);
    request(10);
    int ts = timestamp(server.packets());
    acknowledgeFirst(ts - 1, ts);
    assertFalse(server.session.path().isValidated());
    acknowledgeFirst(ts, ts - 1);
    assertTrue(server.session.path().isValidated());
  }

  /** The timestamp of the last segment, a PUSH. */
  private static int timestamp(List<ByteBuf> packets) {
    ByteBuf last = packets.get(packets.size() - 1);
    int push = Segment.cmd(last, 0) == Segment.ACK ? Segment.HEADER_BYTES : 0;
    assertEquals(Segment.PUSH, Segment.cmd(last, push));
    return Segment.ts(last, push);
  }

  private void acknowledgeFirst(int... timestamps) {
    ByteBuf acks = Unpooled.buffer();
    for (int ts : timestamps) {
      Segment.write(acks, VirtualHost.CONV, Segment.ACK, 0, 128, ts, 0, 0, 0);
    }
    server.take(client, List.of(acks));
  }

  /** Has the server receive an ACK whose timestamp is 0. */
  private void acknowledge(int sn) {
    ByteBuf ack = Unpooled.buffer();
    Segment.write(ack, VirtualHost.CONV, Segment.ACK, 0, 128, 0, sn, 0, 0);
    server.take(client, List.of(ack));
  }

  @Test
  void acknowledgementOfATransmissionBeforeTheLastValidatesThePath() {
    server.config = KcpConfig.builder().userTimeoutMs(0).build();
    respond(RESPONSE_BYTES);
    request(10);
    server.packets();
    server.runTo(server.nowUs + 1_000_000);
    List<ByteBuf> second = server.packets();
    server.runTo(server.nowUs + 1_000_000);
    server.packets();
    client.nowUs = server.nowUs;
    client.take(server, second.subList(second.size() - 1, second.size()));
    client.runTo(client.nowUs + 20_000);
    server.take(client, client.packets());
    assertTrue(server.session.path().isValidated());
  }

  @Test
  void waitingForAnAllowanceTakesNoFlushes() {
    respond(RESPONSE_BYTES);
    request(10);
    server.runTo(server.nowUs + 10_000_000);
    int before = server.driver.outputFlushes;
    server.runTo(server.nowUs + 10_000_000);
    int flushes = server.driver.outputFlushes - before;
    assertTrue(flushes < 40, flushes + " flushes");
  }

  @Test
  void extensionValidatesThePathOfAServerThatSendsNoPayload() {
    client.token = 1;
    server.token = 2;
    request(10);
    server.runTo(server.nowUs + 20_000);
    exchange(server.packets(), 10);
    assertEquals(0, server.session.kcp().sendNext());
    assertTrue(server.session.path().isValidated());
  }

  @Test
  void segmentThatIsPulledFirstIsSmall() {
    request(10);
    List<Integer> pulled = new ArrayList<>();
    server.session.kcp().source(source(pulled));
    server.flush();
    assertEquals(List.of(SMALL_BYTES - Segment.HEADER_BYTES), pulled);
    exchange(server.packets(), 2);
    assertTrue(pulled.size() > 1);
    assertEquals(server.session.kcp().mssBytes(), pulled.get(1));
  }

  private static SegmentSource source(List<Integer> pulled) {
    return new SegmentSource() {
      @Override
      public boolean isReady() {
        return pulled.size() < 10;
      }

      @Override
      public void pull(ByteBuffer payload, int enoughBytes) {
        pulled.add(payload.remaining());
        payload.position(payload.limit());
      }

      @Override
      public void onSent(int segments) {}
    };
  }

  @Test
  void firstSegmentStaysSmallWhenSeveralWritesFillIt() {
    server.driver.onProgress =
        session -> {
          server.read(session);
          for (int i = 0; i < 20; i++) {
            session.kcp().send(Unpooled.buffer().writeZero(30));
          }
          server.driver.table.scheduleFlush(session);
        };
    request(10);
    List<ByteBuf> first = server.packets();
    ByteBuf packet = first.get(0);
    int push = Segment.cmd(packet, 0) == Segment.ACK ? Segment.HEADER_BYTES : 0;
    assertEquals(Segment.PUSH, Segment.cmd(packet, push));
    assertEquals(SMALL_BYTES - Segment.HEADER_BYTES, Segment.length(packet, push));
  }

  // Layers

  private final Host layeredClient = new Host(1, KeyRing.NONE);
  private final Host layeredServer = new Host(2, KeyRing.NONE);

  private Session beginLayered(int requestBytes) {
    layeredServer.trustsPeers = false;
    Session session = layeredClient.open(layeredServer.address, 7);
    layeredClient.send(session, requestBytes);
    layeredServer.take(layeredClient, layeredClient.packets());
    return layeredServer.sessions.get(7);
  }

  private void acknowledge() {
    layeredClient.take(layeredServer, layeredServer.packets());
    layeredClient.sessions.get(7).expire(0);
    layeredClient.table.flushPending(0);
    layeredServer.take(layeredClient, layeredClient.packets());
  }

  @Test
  void noParityLeavesBeforeThePathIsValidated() {
    layeredServer.fec = FecConfig.of(2, 3);
    Session session = beginLayered(1_000);
    layeredServer.send(session, 10);
    layeredServer.send(session, 10);
    List<ByteBuf> packets = layeredServer.packets();
    assertEquals(0, parity(packets));
    layeredClient.take(layeredServer, packets);
    acknowledge();
    assertTrue(session.path().isValidated());
    layeredServer.send(session, 10);
    layeredServer.send(session, 10);
    assertEquals(3, parity(layeredServer.packets()));
  }

  private static long parity(List<ByteBuf> packets) {
    return packets.stream().filter(p -> FecPacket.type(p, 0) == FecPacket.PARITY).count();
  }

  @Test
  void packetsAreNotKeptForFecBeforeThePathIsValidatedOrMuchWasReceived() {
    layeredClient.fec = FecConfig.of(2, 2);
    Session session = beginLayered(10);
    assertFalse(session.fec().isDecoding());
    for (int i = 0; i < 10; i++) {
      layeredClient.send(layeredClient.sessions.get(7), 10_000);
      layeredServer.take(layeredClient, layeredClient.packets());
      Host.received(session).release();
      session.expire(0);
      layeredServer.table.flushPending(0);
      layeredServer.packets(); // All are lost: an answer to a path challenge would validate.
    }
    assertFalse(session.path().isValidated());
    assertTrue(session.fec().isDecoding());
  }

  @Test
  void unreliableDatagramsWaitForTheAllowance() {
    layeredServer.fec = FecConfig.of(1, 1);
    layeredServer.unreliableLimit = 10;
    Session session = beginLayered(10);
    session.sendUnreliable(layeredServer.allocator.buffer().writeZero(40));
    session.sendUnreliable(layeredServer.allocator.buffer().writeZero(1000));
    layeredServer.send(session, 10);
    assertTrue(session.hasUnreliableToSend());
    acknowledge();
    assertTrue(session.path().isValidated());
    assertFalse(session.hasUnreliableToSend());
    layeredClient.close();
    layeredServer.close();
  }
}
