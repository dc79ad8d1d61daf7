package io.kcp4j.internal.admission;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kcp4j.EndReason;
import io.kcp4j.KcpCounter;
import io.kcp4j.crypto.KeyRing;
import io.kcp4j.internal.extension.ExtensionMessage;
import io.kcp4j.internal.session.Session;
import io.kcp4j.internal.session.SessionDirectory;
import io.kcp4j.internal.session.SessionTable.ResetTokens;
import io.kcp4j.internal.session.TestDriver;
import io.kcp4j.internal.session.VirtualHost;
import io.kcp4j.internal.wire.Segment;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** {@link CandidatePaths}: how long a table keeps candidates, and what it routes and tells them. */
class CandidatePathsTest {

  private static final ResetTokens TOKENS = new ResetTokens("0123456789abcdef".getBytes(US_ASCII));
  private static final int SECOND_US = 1_000_000;

  private final SessionDirectory directory = SessionDirectory.ofSeveral(10);
  private final VirtualHost client = newClient(1);
  private final VirtualHost server = new VirtualHost(2, KeyRing.NONE, directory);

  /** Another socket of the server's port. */
  private final VirtualHost socket = new VirtualHost(2, KeyRing.NONE, directory);

  /** Addresses, of which only the ports matter. */
  private final VirtualHost moved = new VirtualHost(99);

  private final VirtualHost elsewhere = new VirtualHost(98);

  private static VirtualHost newClient(int port) {
    VirtualHost client = new VirtualHost(port);
    client.token = 0x1111_2222_3333_4444L + port;
    return client;
  }

  @BeforeEach
  void begin() {
    for (VirtualHost host : List.of(server, socket)) {
      host.token = 0x5555_6666_7777_8888L;
      host.driver.table.resetTokens(TOKENS);
    }
    server.driver.onForward =
        (remote, packet, nonceBytes) -> {
          server.driver.table.receiveOpened(remote, packet, nonceBytes, server.nowUs);
          server.driver.table.endBatch(server.nowUs);
        };
    begin(client, 5_000);
  }

  /** Begins a session of the client, over a path with this delay. */
  private void begin(VirtualHost client, int delayUs) {
    server.token++; // The ids of sessions follow from the tokens.
    client.nowUs = server.nowUs;
    client.open(server);
    client.write(10);
    exchange(client, client, delayUs);
    server.write(10);
    exchange(client, client, delayUs);
    assertTrue(client.session.isExtensionEstablished() && server.session.isExtensionEstablished());
    server.packets();
    client.packets();
  }

  /** Ten round trips, of a client whose packets come from this address. */
  private void exchange(VirtualHost client, VirtualHost address, int delayUs) {
    for (int i = 0; i < 10; i++) {
      client.runTo(client.nowUs + delayUs);
      server.runTo(client.nowUs);
      server.take(address, client.packets());
      server.runTo(server.nowUs + delayUs);
      client.runTo(server.nowUs);
      client.take(server, server.packetsTo(address));
    }
  }

  /** A query of the client, whose packets do not arrive, while no time passes at the server. */
  private static ByteBuf query(VirtualHost client) {
    client.packets();
    client.write(10);
    for (long endUs = client.nowUs + 100L * SECOND_US; client.nowUs < endUs; ) {
      client.runTo(client.nowUs + 1_000);
      for (ByteBuf packet : client.packets()) {
        if (item(packet, ExtensionMessage.SESSION_QUERY) >= 0) {
          return packet;
        }
      }
    }
    throw new AssertionError("no query");
  }

  private static int item(ByteBuf packet, int type) {
    return ExtensionMessage.findInSegments(packet, type);
  }

  /** What the server answers to this packet from this address. */
  private List<ByteBuf> answers(VirtualHost address, ByteBuf packet) {
    server.take(address, List.of(packet));
    return server.packetsTo(address);
  }

  /** The response of the peer of the server's session to a challenge, without another query. */
  private ByteBuf response(List<ByteBuf> challenges) {
    return response(server.session, challenges);
  }

  private static ByteBuf response(Session session, List<ByteBuf> challenges) {
    assertEquals(1, challenges.size());
    int challenge = item(challenges.get(0), ExtensionMessage.PATH_CHALLENGE);
    int bytes =
        ExtensionMessage.HEADER_BYTES
            + ExtensionMessage.itemBytes(ExtensionMessage.TOKEN)
            + ExtensionMessage.itemBytes(ExtensionMessage.PATH_RESPONSE);
    ByteBuf packet = Unpooled.buffer();
    Segment.write(packet, VirtualHost.CONV, Segment.WINS, 0, 128, 0, 0, 0, bytes);
    ExtensionMessage.writeHeader(packet);
    ExtensionMessage.write(packet, ExtensionMessage.TOKEN, session.extension().token());
    long value = ExtensionMessage.longValue(challenges.get(0), challenge);
    ExtensionMessage.write(packet, ExtensionMessage.PATH_RESPONSE, value);
    return packet;
  }

  private long challengesToTheOldAddress(VirtualHost client) {
    return server.packetsTo(client).stream()
        .filter(packet -> item(packet, ExtensionMessage.PATH_CHALLENGE) >= 0)
        .count();
  }

  private void assertMoved(ByteBuf response, VirtualHost address) {
    server.take(address, List.of(response));
    server.runTo(server.nowUs + 3 * SECOND_US);
    assertEquals(List.of(EndReason.PEER_MOVED), server.ends);
  }

  // Time

  /** Challenges are valid for 8 to 16 seconds: these begin with such a period. */
  @ParameterizedTest
  @ValueSource(ints = {7_990, 8_010})
  void responseWithinEightSecondsCounts(int afterMs) {
    server.runTo(16 * SECOND_US);
    ByteBuf response = response(answers(moved, query(client)));
    server.runTo(server.nowUs + 1_000L * afterMs);
    server.take(moved, List.of(response));
    server.runTo(server.nowUs + 3 * SECOND_US);
    assertEquals(afterMs < 8_000 ? List.of(EndReason.PEER_MOVED) : List.of(), server.ends);
  }

  @Test
  void furtherQueryKeepsTheCandidate() {
    server.runTo(16 * SECOND_US);
    ByteBuf query = query(client);
    ByteBuf response = response(answers(moved, query));
    server.runTo(server.nowUs + 7 * SECOND_US);
    answers(moved, query);
    server.runTo(server.nowUs + 7 * SECOND_US);
    assertMoved(response, moved);
  }

  /** Round trips of 10 ms, 1.6 s and 6 s: three probe timeouts, but 1 to 10 seconds. */
  @ParameterizedTest
  @ValueSource(ints = {5_000, 800_000, 3_000_000})
  void ownAddressMayAnswerForThreeProbeTimeouts(int delayUs) {
    VirtualHost far = newClient(3);
    TestDriver.configure(server.session, config -> config.keepAliveIntervalMs(0));
    begin(far, delayUs);
    TestDriver.configure(server.session, config -> config.keepAliveIntervalMs(0));
    ByteBuf response = response(answers(moved, query(far)));
    server.packets();
    server.take(moved, List.of(response));
    long timeoutUs = server.session.kcp().probeTimeoutUs();
    long waitUs = Math.max(SECOND_US, Math.min(10 * SECOND_US, 3 * timeoutUs));
    long startUs = server.nowUs;
    List<Long> challengedAtUs = new ArrayList<>();
    while (server.ends.isEmpty() && server.nowUs < startUs + 2 * waitUs) {
      server.runTo(server.nowUs + 1_000);
      if (challengesToTheOldAddress(far) > 0) {
        challengedAtUs.add(server.nowUs - startUs);
      }
    }
    assertEquals(List.of(EndReason.PEER_MOVED), server.ends);
    assertTrue(Math.abs(waitUs - (server.nowUs - startUs)) <= 3_000);
    for (int i = 1; i < challengedAtUs.size(); i++) {
      long gapUs = challengedAtUs.get(i) - challengedAtUs.get(i - 1);
      assertTrue(Math.abs(timeoutUs - gapUs) <= 3_000, challengedAtUs::toString);
    }
    long challenges = Math.min(3, 1 + (waitUs - 3_000) / timeoutUs);
    assertEquals(challenges, challengedAtUs.size(), challengedAtUs::toString);
  }

  // What candidates are told

  @Test
  void challengeAndResetRepeatWhatTheLastQueryAsksFor() {
    ByteBuf query = query(client);
    ByteBuf other = query.copy();
    int item = item(other, ExtensionMessage.SESSION_QUERY);
    int una = ExtensionMessage.queryUna(query, item) + 5;
    int unaIndex = item + ExtensionMessage.ITEM_HEADER_BYTES + Long.BYTES;
    other.setIntLE(unaIndex, una).setLongLE(unaIndex + Integer.BYTES, 42);
    ExtensionMessage.Echo echo = ExtensionMessage.Echo.read(other, item);
    assertEquals(42, echo.first());

    ByteBuf challenge = answers(moved, query).get(0);
    assertEquals(una - 5, Segment.una(challenge, 0));
    assertEquals(
        ExtensionMessage.Echo.read(query, item),
        ExtensionMessage.Echo.read(challenge, item(challenge, ExtensionMessage.PATH_CHALLENGE)));
    ByteBuf response = response(List.of(challenge));
    server.take(moved, List.of(response));
    assertEquals(List.of(), answers(moved, other), "one address at a time");
    assertMoved(response, moved);
    List<ByteBuf> resets = server.packetsTo(moved);
    assertEquals(1, resets.size());
    assertEquals(una, Segment.una(resets.get(0), 0));
    int reset = item(resets.get(0), ExtensionMessage.STATELESS_RESET);
    assertEquals(echo, ExtensionMessage.Echo.read(resets.get(0), reset));
    ByteBuf token =
        resets.get(0).slice(reset + ExtensionMessage.ITEM_HEADER_BYTES, ResetTokens.BYTES);
    long id = ExtensionMessage.longValue(query, item);
    assertEquals(Unpooled.wrappedBuffer(TOKENS.of(id)), token);
  }

  @Test
  void queryOfAnotherConversationThanTheSessionsIsIgnored() {
    ByteBuf query = query(client);
    query.setIntLE(query.writerIndex() - lastSegmentBytes(query), VirtualHost.CONV + 1);
    for (int i = 0; i < query.writerIndex(); i += bytes(query, i)) {
      query.setIntLE(i, VirtualHost.CONV + 1);
    }
    assertEquals(List.of(), answers(moved, query));
  }

  private static int bytes(ByteBuf packet, int index) {
    return Segment.HEADER_BYTES + Segment.length(packet, index);
  }

  private static int lastSegmentBytes(ByteBuf packet) {
    return Segment.HEADER_BYTES + VirtualHost.message(packet).readableBytes();
  }

  @Test
  void nothingIsToldWhileTheOutputIsBlocked() {
    ByteBuf query = query(client);
    int keys = directory.size();
    server.driver.outputWritable = () -> false;
    assertEquals(List.of(), answers(moved, query));
    assertEquals(keys, directory.size(), "no candidate without a challenge");
    server.driver.outputWritable = () -> true;
    ByteBuf response = response(answers(moved, query));
    server.take(moved, List.of(response));
    server.driver.outputWritable = () -> false;
    server.runTo(server.nowUs + 3 * SECOND_US);
    assertEquals(List.of(EndReason.PEER_MOVED), server.ends);
    assertEquals(0, server.count(KcpCounter.STATELESS_RESETS_OUT));
  }

  // Of several responses one counts

  @Test
  void secondAddressThatRespondsHasNoEffect() {
    ByteBuf query = query(client);
    List<ByteBuf> challenge = answers(elsewhere, query);
    ByteBuf first = response(answers(moved, query));
    ByteBuf second = response(challenge);
    server.take(moved, List.of(first));
    server.runTo(server.nowUs + SECOND_US / 2);
    long challenges = challengesToTheOldAddress(client);
    server.take(elsewhere, List.of(second));
    assertMoved(first, moved);
    assertTrue(challenges > 0 && challenges + challengesToTheOldAddress(client) <= 3);
    assertEquals(1, server.packetsTo(moved).size());
    assertEquals(List.of(), server.packetsTo(elsewhere));
  }

  /** Otherwise one lost datagram would end a session that has been asked before. */
  @Test
  void ownAddressIsAskedThreeTimesAgainAfterItHasAnswered() {
    for (int i = 0; i < 2; i++) {
      ByteBuf response = response(answers(elsewhere, query(client)));
      server.packets();
      server.take(elsewhere, List.of(response));
      server.runTo(server.nowUs + SECOND_US / 2);
      assertEquals(3, challengesToTheOldAddress(client));
      exchange(client, client, 5_000);
      server.runTo(server.nowUs + 3 * SECOND_US);
      assertEquals(List.of(), server.ends);
      server.packets();
    }
  }

  /** Otherwise an attacker who has made a session answer once would keep its client in place. */
  @Test
  void sessionWhoseOwnAddressHasAnsweredMayMoveLater() {
    ByteBuf response = response(answers(elsewhere, query(client)));
    server.take(elsewhere, List.of(response));
    exchange(client, client, 5_000);
    server.runTo(server.nowUs + 3 * SECOND_US);
    assertEquals(List.of(), server.ends);
    server.packets();
    server.take(elsewhere, List.of(response));
    server.runTo(server.nowUs + SECOND_US);
    assertEquals(0, challengesToTheOldAddress(client), "a response counts once");

    client.nowUs = server.nowUs;
    exchange(client, client, 5_000);
    assertMoved(response(answers(moved, query(client))), moved);
  }

  @Test
  void responseForASessionThatHasEndedHasNoEffect() {
    ByteBuf response = response(answers(moved, query(client)));
    server.driver.table.remove(server.session, server.nowUs);
    server.session.close();
    assertEquals(List.of(), answers(moved, response));
    server.runTo(server.nowUs + 3 * SECOND_US);
    assertEquals(List.of(), server.packets());
    assertEquals(0, server.count(KcpCounter.PEERS_MOVED));
  }

  // Two sessions at one address

  @Test
  void addressIsACandidateOfTheSessionThatItHasNamedLast() {
    VirtualHost other = newClient(3);
    Session first = server.session;
    begin(other, 5_000);
    ByteBuf firstResponse = response(first, answers(moved, query(client)));
    server.runTo(server.nowUs + 6 * SECOND_US);
    ByteBuf response = response(answers(moved, query(other)));
    int keys = directory.size();
    server.take(moved, List.of(firstResponse));
    server.runTo(server.nowUs + 4 * SECOND_US);
    assertEquals(List.of(), server.ends);
    assertEquals(keys, directory.size());
    assertMoved(response, moved);
    assertTrue(server.driver.table.lifecycle().contains(first));
  }

  @Test
  void addressThatHasRespondedNamesNoOtherSession() {
    VirtualHost other = newClient(3);
    Session first = server.session;
    begin(other, 5_000);
    ByteBuf query = query(client);
    ByteBuf otherQuery = query(other);
    ByteBuf response = response(first, answers(moved, query));
    server.take(moved, List.of(response));
    assertEquals(List.of(), answers(moved, otherQuery));
    assertMoved(response, moved);
    ByteBuf reset = server.packetsTo(moved).get(0);
    assertEquals(
        ExtensionMessage.Echo.read(query, item(query, ExtensionMessage.SESSION_QUERY)),
        ExtensionMessage.Echo.read(reset, item(reset, ExtensionMessage.STATELESS_RESET)));
  }

  // Several sockets

  /** The system may give another socket what comes from the new address. */
  @Test
  void responseThatAnotherSocketReceivesReachesTheSession() {
    ByteBuf response = response(answers(moved, query(client)));
    socket.take(moved, List.of(response));
    server.runTo(server.nowUs + 3 * SECOND_US);
    assertEquals(List.of(EndReason.PEER_MOVED), server.ends);
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void candidatesAreRoutedNoLongerThanTheyLast(boolean hasResponded) {
    int paths = directory.paths();
    ByteBuf query = query(client);
    List<ByteBuf> challenges = answers(moved, query);
    assertEquals(paths + 1, directory.paths());
    if (hasResponded) {
      server.take(moved, List.of(response(challenges)));
      exchange(client, client, 5_000);
    }
    server.runTo(server.nowUs + 9 * SECOND_US);
    assertEquals(List.of(), server.ends);
    assertEquals(paths, directory.paths());
    assertEquals(1, answers(moved, query).size(), "it may be a candidate again");
  }

  @Test
  void evictedCandidateIsNotRouted() {
    ByteBuf query = query(client);
    int paths = directory.paths();
    for (int i = 0; i <= 1_024; i++) {
      if (i == 1_000) {
        server.runTo(server.nowUs + SECOND_US);
      }
      server.take(new VirtualHost(1_000 + i), List.of(query));
    }
    assertEquals(paths + 1_024, directory.paths());
  }

  @Test
  void closedTableRoutesNothing() {
    ByteBuf query = query(client);
    ByteBuf response = response(answers(moved, query));
    answers(elsewhere, query);
    server.take(moved, List.of(response));
    server.driver.table.close();
    assertEquals(0, directory.size() + directory.paths());
  }

  // A session that begins at the address of a candidate

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void sessionThatBeginsAtTheAddressOfACandidateIsNotDisturbed(boolean hasResponded) {
    Session old = server.session;
    ByteBuf query = query(client);
    List<ByteBuf> challenges = answers(moved, query);
    if (hasResponded) {
      server.take(moved, List.of(response(challenges)));
    }
    VirtualHost fresh = newClient(99);
    fresh.nowUs = server.nowUs;
    fresh.open(server);
    fresh.write(10);
    exchange(fresh, fresh, 5_000);
    assertNotSame(old, server.session);
    int keys = directory.size();
    server.runTo(server.nowUs + 9 * SECOND_US);
    assertEquals(List.of(), server.ends);
    assertEquals(keys, directory.size());
    fresh.nowUs = server.nowUs;
    fresh.write(10);
    socket.take(fresh, fresh.packets());
    assertEquals(1, socket.count(KcpCounter.FORWARDED));
    exchange(fresh, fresh, 5_000);
    assertTrue(fresh.session.kcp().isDrained());

    client.nowUs = server.nowUs;
    server.driver.table.remove(server.session, server.nowUs);
    assertEquals(1, answers(elsewhere, query).size(), "its session may move");
  }
}
