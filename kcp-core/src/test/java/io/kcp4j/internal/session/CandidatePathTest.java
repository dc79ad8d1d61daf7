package io.kcp4j.internal.session;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kcp4j.EndReason;
import io.kcp4j.KcpConfig;
import io.kcp4j.KcpCounter;
import io.kcp4j.fec.FecConfig;
import io.kcp4j.internal.extension.ExtensionMessage;
import io.kcp4j.internal.session.SessionTable.ResetTokens;
import io.kcp4j.internal.wire.Segment;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import java.io.IOException;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Queries that name a live session from another address: of its client, or of an attacker. */
class CandidatePathTest {

  private static final byte[] SECRET = "0123456789abcdef".getBytes(US_ASCII);
  private static final int DELAY_US = 10_000;

  private final VirtualHost client = new VirtualHost(1);
  private final VirtualHost server = new VirtualHost(2);

  /** The address that the client's packets come from. */
  private VirtualHost clientAddress = client;

  /** Whether the network is between a client of an earlier version and the server. */
  private boolean isEarlierClient;

  private boolean isClientStopped;
  private int writtenByClient;
  private int writtenByServer;

  private final List<ByteBuf> toServer = new ArrayList<>();
  private final List<ByteBuf> toClient = new ArrayList<>();

  @BeforeEach
  void prepare() {
    client.token = 0x1111_2222_3333_4444L;
    server.token = 0x5555_6666_7777_8888L;
    server.driver.table.resetTokens(new ResetTokens(SECRET));
  }

  private void begin() {
    client.open(server);
    client.write(10);
    exchange(100);
    server.write(10);
    exchange(100);
    assertTrue(client.session.isExtensionEstablished() && server.session.isExtensionEstablished());
  }

  /** Lets time pass; everything takes 10 ms to the other side. */
  private void exchange(int ms) {
    for (int i = 0; i < ms / 10; i++) {
      step();
    }
  }

  private void step() {
    List<ByteBuf> sent = isClientStopped ? List.of() : client.packets();
    if (isEarlierClient) {
      sent = sent.stream().map(EarlierPeerTest::withoutParameters).toList();
    }
    toServer.addAll(sent);
    List<ByteBuf> answers = server.packetsTo(clientAddress);
    toClient.addAll(answers);
    server.runTo(server.nowUs + DELAY_US);
    server.take(clientAddress, toServer);
    toServer.clear();
    if (!isClientStopped) {
      client.nowUs = Math.max(client.nowUs, server.nowUs - DELAY_US);
      client.take(server, toClient); // What has waited is read before timers expire.
      toClient.clear();
      client.runTo(client.nowUs + DELAY_US);
    }
  }

  private void write() {
    if (!isClientStopped) {
      client.write(10);
      writtenByClient += 10;
    }
    server.write(10);
    writtenByServer += 10;
  }

  /** The client's packets with a query, none of which arrives, of a second without answers. */
  private List<ByteBuf> recordQueries() {
    client.write(10);
    client.runTo(client.nowUs + 1_000_000);
    List<ByteBuf> recorded = client.packets().stream().filter(p -> query(p) >= 0).toList();
    assertTrue(recorded.size() > 1, "recorded");
    server.runTo(client.nowUs);
    server.packets();
    exchange(2_000);
    assertTrue(client.session.kcp().isDrained());
    return recorded;
  }

  private static int query(ByteBuf packet) {
    return ExtensionMessage.findInSegments(packet, ExtensionMessage.SESSION_QUERY);
  }

  // An attacker

  /** Records, relays and repeats what both sides send, from other ports, 100 times a second. */
  private void attack(int ms, List<ByteBuf> recorded) {
    for (int i = 0; i < ms / 10; i++) {
      if (i % 10 == 0) {
        write();
      }
      VirtualHost attacker = new VirtualHost(1_000 + i);
      List<ByteBuf> repeated = new ArrayList<>(List.of(recorded.get(i % recorded.size())));
      repeated.addAll(toServer);
      server.take(attacker, repeated);
      toClient.addAll(server.packetsTo(attacker));
      step();
      server.take(attacker, client.session == null ? List.of() : toServer);
    }
  }

  @ParameterizedTest
  @ValueSource(ints = {300, 2_000, 10_000})
  void recordedQueriesFromOtherPortsEndNothingWhileTheClientStops(int stopMs) {
    begin();
    List<ByteBuf> recorded = recordQueries();
    int before = client.received;
    int beforeAtServer = server.received;
    attack(1_000, recorded);
    isClientStopped = true;
    attack(stopMs, recorded);
    isClientStopped = false;
    attack(3_000, recorded);
    exchange(3_000);
    assertEquals(List.of(), client.ends);
    assertEquals(List.of(), server.ends);
    assertEquals(writtenByServer, client.received - before);
    assertEquals(writtenByClient, server.received - beforeAtServer);
    assertEquals(0, server.count(KcpCounter.STATELESS_RESETS_OUT));
    assertTrue(server.count(KcpCounter.PATH_CHALLENGES_OUT) >= stopMs / 10, "challenges");
    assertEquals(0, server.count(KcpCounter.PEERS_MOVED));
  }

  /** The attacker has the client respond by relaying to it; the client is alive where it was. */
  @Test
  void sessionWhoseOwnAddressAnswersGoesOn() {
    begin();
    rebind();
    client.write(10);
    while (server.count(KcpCounter.PATH_CHALLENGES_OUT) == 0) {
      step();
    }
    exchange(50); // The response has arrived.
    clientAddress = client;
    exchange(3_000);
    assertEquals(List.of(), client.ends);
    assertEquals(List.of(), server.ends);
    assertTrue(client.session.kcp().isDrained());
  }

  @Test
  void challengeIsNoLongerThanTheQueryAndNotSentTooOften() {
    begin();
    ByteBuf query = recordQueries().get(0);
    VirtualHost attacker = new VirtualHost(1_000);
    for (int i = 0; i < 3_000; i++) {
      server.take(attacker, List.of(query));
    }
    List<ByteBuf> challenges = server.packetsTo(attacker);
    assertEquals(1_000, challenges.size());
    challenges.forEach(c -> assertTrue(c.readableBytes() <= query.readableBytes()));
    int item = query(query) - ExtensionMessage.HEADER_BYTES;
    ByteBuf shortest = query.copy(0, query.readableBytes());
    assertTrue(item > 0);
    server.runTo(server.nowUs + 1_000_000);
    server.take(attacker, List.of(onlyMessage(shortest)));
    assertEquals(1, server.packetsTo(attacker).size(), "the shortest datagram with a query");
  }

  /** The last segment of a packet. */
  private static ByteBuf onlyMessage(ByteBuf packet) {
    int bytes = Segment.HEADER_BYTES + VirtualHost.message(packet).readableBytes();
    return packet.copy(packet.writerIndex() - bytes, bytes);
  }

  @Test
  void responseCountsOnlyFromTheAddressThatWasChallenged() {
    begin();
    rebind();
    client.write(10);
    while (server.count(KcpCounter.PATH_CHALLENGES_OUT) == 0) {
      step();
    }
    client.take(server, server.packetsTo(clientAddress));
    client.runTo(client.nowUs + 1_000);
    List<ByteBuf> responses = client.packets();
    assertTrue(
        ExtensionMessage.findInSegments(responses.get(0), ExtensionMessage.PATH_RESPONSE) > 0);
    server.take(new VirtualHost(77), responses);
    server.runTo(server.nowUs + 3_000_000);
    assertEquals(List.of(), server.ends);
    ByteBuf withAnotherToken = responses.get(0).copy();
    int token = ExtensionMessage.findInSegments(withAnotherToken, ExtensionMessage.TOKEN);
    withAnotherToken.setLongLE(token + ExtensionMessage.ITEM_HEADER_BYTES, 9);
    server.take(clientAddress, List.of(withAnotherToken));
    server.runTo(server.nowUs + 3_000_000);
    assertEquals(List.of(), server.ends);
    server.take(clientAddress, responses);
    server.runTo(server.nowUs + 3_000_000);
    assertEquals(List.of(EndReason.PEER_MOVED), server.ends);
  }

  /** Has the client respond from another address; returns what the server sends to the old one. */
  private List<ByteBuf> sentToTheOldAddress() {
    rebind();
    client.write(10);
    while (server.count(KcpCounter.PATH_CHALLENGES_OUT) == 0) {
      step();
    }
    server.packetsTo(client);
    exchange(900);
    assertEquals(List.of(), server.ends);
    return server.packetsTo(client);
  }

  @Test
  void oldPathIsChallengedThreeTimes() {
    begin();
    long challenges =
        sentToTheOldAddress().stream()
            .filter(p -> ExtensionMessage.findInSegments(p, ExtensionMessage.PATH_CHALLENGE) >= 0)
            .count();
    assertEquals(3, challenges);
  }

  @Test
  void oldPathIsProbedWhileMessagesHaveNoRoom() {
    begin();
    server.session.reconfigure(KcpConfig.builder().mtuBytes(60).build(), FecConfig.NONE);
    assertTrue(sentToTheOldAddress().stream().anyMatch(p -> Segment.cmd(p, 0) == Segment.WASK));
  }

  @Test
  void numberOfCandidatesIsBounded() {
    begin();
    ByteBuf query = recordQueries().get(0);
    for (int i = 0; i < 1_500; i++) {
      if (i == 1_000) {
        server.runTo(server.nowUs + 1_000_000);
      }
      server.take(new VirtualHost(1_000 + i), List.of(query));
    }
    assertEquals(1_500, server.count(KcpCounter.PATH_CHALLENGES_OUT));
    assertEquals(1_500 - 1_024, server.count(KcpCounter.CANDIDATE_PATHS_EVICTED));
  }

  /** Each response took a place of those that have responded, for as long as its peer liked. */
  @Test
  void oneAddressAtATimeRespondsForASession() {
    begin();
    ByteBuf query = recordQueries().get(0);
    rebind();
    client.write(10);
    while (server.count(KcpCounter.PATH_CHALLENGES_OUT) == 0) {
      step();
    }
    client.take(server, server.packetsTo(clientAddress));
    client.runTo(client.nowUs + 1_000);
    List<ByteBuf> responses = client.packets();
    server.take(clientAddress, responses);
    for (int i = 0; i < 20; i++) {
      VirtualHost port = new VirtualHost(1_000 + i);
      server.take(port, List.of(query));
      assertEquals(List.of(), server.packetsTo(port));
    }
  }

  // A client whose address has changed

  private void rebind() {
    clientAddress = new VirtualHost(99);
    toServer.clear();
    toClient.clear();
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void clientWhoseAddressHasChangedLearnsInAboutASecond(boolean isEarlier) {
    isEarlierClient = isEarlier;
    begin();
    rebind();
    long startUs = client.nowUs;
    client.write(10);
    while (client.ends.isEmpty() && client.nowUs < startUs + 10_000_000) {
      step();
    }
    assertEquals(List.of(EndReason.SESSION_UNKNOWN), client.ends);
    assertEquals(List.of(EndReason.PEER_MOVED), server.ends);
    long tookMs = (client.nowUs - startUs) / 1_000;
    assertTrue(tookMs >= 1_000 && tookMs <= 1_500, tookMs + " ms");
    assertEquals(1, server.count(KcpCounter.PEERS_MOVED));
  }

  /** 20,000 queries a second that name no session took the answers of all. */
  @Test
  void clientLearnsInAboutASecondThoughOthersSendQueriesThatNameNoSession() {
    begin();
    ByteBuf other = recordQueries().get(0);
    other.setLongLE(query(other) + ExtensionMessage.ITEM_HEADER_BYTES, 0x1234_5678_9abc_def0L);
    VirtualHost attacker = new VirtualHost(1_000);
    rebind();
    long startUs = client.nowUs;
    client.write(10);
    while (client.ends.isEmpty() && client.nowUs < startUs + 10_000_000) {
      for (int i = 0; i < 200; i++) {
        server.take(attacker, List.of(other));
      }
      server.packetsTo(attacker);
      step();
    }
    assertEquals(List.of(EndReason.SESSION_UNKNOWN), client.ends);
    long tookMs = (client.nowUs - startUs) / 1_000;
    assertTrue(tookMs <= 1_500, tookMs + " ms");
    assertTrue(server.count(KcpCounter.STATELESS_RESETS_OUT) > 500, "the others are answered, too");
  }

  @Test
  void clientLearnsThoughTheServersResetIsLost() {
    begin();
    rebind();
    client.write(10);
    while (server.ends.isEmpty()) {
      step();
    }
    server.packetsTo(clientAddress);
    exchange(3_000);
    assertEquals(List.of(EndReason.SESSION_UNKNOWN), client.ends);
  }

  @Test
  void idleClientWhoseAddressHasChangedLearnsOfIt() {
    begin();
    TestDriver.configure(client.session, config -> config.keepAliveIntervalMs(1_000));
    rebind();
    exchange(6_000);
    assertEquals(List.of(EndReason.SESSION_UNKNOWN), client.ends);
    assertEquals(List.of(EndReason.PEER_MOVED), server.ends);
  }

  // The vectors of protocol.md 13.9.

  private static final String ECHO = "000102030405060708090a0b0c0d0e0f";
  private static final String QUERY =
      "4b01 030800 00ffeeddccbbaa99 091c00 0102030405060708 05000000 " + ECHO;
  private static final String CHALLENGE =
      "4b01 030800 8877665544332211 0c1800 1011121314151617 " + ECHO;
  private static final String RESET = "4b01 0a2000 0ec6783ea7a28322e5c8d2fe413e6757 " + ECHO;

  @Test
  void vectorsAreThoseOfThePage() throws IOException {
    String page = Files.readString(java.nio.file.Path.of("../src/docs/protocol.md"));
    assertTrue(page.contains(String.join("\n", QUERY, CHALLENGE, RESET)));
    for (String vector : List.of(QUERY, CHALLENGE, RESET)) {
      ByteBuf message = hex(vector);
      assertTrue(ExtensionMessage.isValid(message, 0, message.readableBytes()), vector);
    }
    ByteBuf challenge = hex(CHALLENGE);
    int item =
        ExtensionMessage.find(
            challenge, 0, challenge.readableBytes(), ExtensionMessage.PATH_CHALLENGE);
    assertEquals(0x1716_1514_1312_1110L, ExtensionMessage.longValue(challenge, item));
    assertEquals(
        new ExtensionMessage.Echo(0x0706_0504_0302_0100L, 0x0f0e_0d0c_0b0a_0908L),
        ExtensionMessage.Echo.read(challenge, item));
  }

  @Test
  void queryOfTheVectorIsAnsweredByTheResetOfTheVector() {
    ByteBuf query = Unpooled.buffer();
    ByteBuf message = hex(QUERY);
    int bytes = message.readableBytes();
    Segment.write(query, VirtualHost.CONV, Segment.WINS, 0, 128, 0, 0, 3, bytes);
    server.take(client, List.of(query.writeBytes(message)));
    List<ByteBuf> answers = server.packets();
    assertEquals(1, answers.size());
    assertEquals(5, Segment.una(answers.get(0), 0));
    assertEquals(hex(RESET), VirtualHost.message(answers.get(0)));
    assertTrue(answers.get(0).readableBytes() <= query.readableBytes());
  }

  private static ByteBuf hex(String vector) {
    return Unpooled.wrappedBuffer(ByteBufUtil.decodeHexDump(vector.replace(" ", "")));
  }

  /** Of several sockets at one port, another one receives what comes from the new address. */
  @Test
  void queryReachesTheTableOfItsSession() {
    begin();
    List<ByteBuf> recorded = recordQueries();
    SessionDirectory directory = SessionDirectory.ofSeveral(10);
    TestDriver home = driver(directory);
    TestDriver other = driver(directory);
    Session session = home.newSession(client.address(), VirtualHost.CONV);
    int query = query(recorded.get(0));
    session.answerExtension(server.token, ExtensionMessage.longValue(recorded.get(0), query));
    home.acceptor = (remote, conv) -> session;
    home.table.receive(client.address(), firstDatagram(), 0);
    home.table.endBatch(0);
    receive(other, recorded.get(0));
    assertEquals(1, home.context.total().get(KcpCounter.PATH_CHALLENGES_OUT));
    assertEquals(0, other.context.total().get(KcpCounter.STATELESS_RESETS_OUT));
    receive(other, recorded.get(0));
    assertEquals(2, other.context.total().get(KcpCounter.FORWARDED));
    home.table.remove(session, 0);
    receive(other, recorded.get(0));
    assertEquals(
        1,
        home.context.total().get(KcpCounter.STATELESS_RESETS_OUT)
            + other.context.total().get(KcpCounter.STATELESS_RESETS_OUT));
    session.close();
  }

  private static void receive(TestDriver driver, ByteBuf packet) {
    driver.table.receive(new VirtualHost(99).address(), packet.copy(), 0);
    driver.table.endBatch(0);
  }

  private static TestDriver driver(SessionDirectory directory) {
    TestDriver driver =
        TestDriver.builder(new VirtualHost(3).context()).directory(directory).build();
    driver.table.resetTokens(new ResetTokens(SECRET));
    driver.onForward =
        (remote, packet, nonceBytes) -> {
          driver.table.receiveOpened(remote, packet, nonceBytes, 0);
          driver.table.endBatch(0);
        };
    return driver;
  }

  /** Begins a session of the client's. */
  private static ByteBuf firstDatagram() {
    VirtualHost host = new VirtualHost(1);
    host.token = 0x1111_2222_3333_4444L;
    host.open(new VirtualHost(2));
    host.write(10);
    return host.packets().get(0);
  }
}
