package io.kcp4j.internal.session;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kcp4j.EndReason;
import io.kcp4j.KcpCounter;
import io.kcp4j.crypto.CipherAlgorithm;
import io.kcp4j.crypto.KeyRing;
import io.kcp4j.crypto.PacketKey;
import io.kcp4j.internal.admission.FirstPacket;
import io.kcp4j.internal.session.SessionTable.ResetTokens;
import io.netty.buffer.ByteBuf;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Somebody on the path, who has no key, copies the packets of a client to the server, from a port
 * of his own, so that there are two sessions of one client: protocol.md 8.10. Virtual time, with an
 * AEAD.
 */
class SecondSessionTest {

  private static final int REQUEST_BYTES = 10;
  private static final int STEP_US = 10_000;

  private final KeyRing keys =
      KeyRing.of(
          PacketKey.of(
              CipherAlgorithm.AES_128_GCM, new byte[CipherAlgorithm.AES_128_GCM.keyBytes()]));

  private final SessionDirectory directory = SessionDirectory.ofSeveral(VirtualHost.MAX_SESSIONS);

  /** Two sockets of a server. */
  private final VirtualHost server = new VirtualHost(2, keys, directory);

  private final VirtualHost other = new VirtualHost(2, keys, directory);
  private final VirtualHost client = new VirtualHost(1, keys);
  private final VirtualHost thief = new VirtualHost(100);

  private List<ByteBuf> begin() {
    server.token = 5;
    other.token = 1_005;
    return begin(0x1122_3344_5566_7788L);
  }

  private List<ByteBuf> begin(long token) {
    client.token = token;
    ResetTokens tokens = new ResetTokens(new byte[ResetTokens.MIN_SECRET_BYTES]);
    server.driver.table.resetTokens(tokens);
    other.driver.table.resetTokens(tokens);
    client.open(server);
    client.write(REQUEST_BYTES);
    return client.packets();
  }

  /** Each session has a token of its own, if the server has the extension. */
  private static void take(VirtualHost socket, VirtualHost from, List<ByteBuf> packets) {
    socket.token += socket.token == 0 ? 0 : 1;
    socket.take(from, packets);
  }

  private void runAll(int us) {
    server.runTo(server.nowUs + us);
    other.runTo(server.nowUs);
    client.runTo(server.nowUs);
  }

  /**
   * Passes everything between the server and the client, and copies of what that sends to a socket
   * of the server.
   *
   * @param isAnswerForwarded whether the client receives what the server sends to the thief, too
   */
  private void connect(int us, VirtualHost copied, boolean isAnswerForwarded) {
    for (int passedUs = 0; passedUs < us; passedUs += STEP_US) {
      List<ByteBuf> packets = client.packets();
      take(copied, thief, packets);
      take(server, client, packets);
      client.take(server, server.packetsTo(client));
      List<ByteBuf> answers = copied.packetsTo(thief);
      if (isAnswerForwarded) {
        client.take(server, answers);
      }
      runAll(STEP_US);
    }
  }

  private void connect(int us) {
    for (int passedUs = 0; passedUs < us; passedUs += STEP_US) {
      take(server, client, client.packets());
      client.take(server, server.packetsTo(client));
      runAll(STEP_US);
    }
  }

  private void assertOnlyTheSessionOfTheClientLives(VirtualHost copied) {
    assertEquals(List.of(EndReason.PEER_MOVED), copied.ends);
    assertEquals(1, copied.count(KcpCounter.PEERS_MOVED));
    assertEquals(1, server.driver.table.size() + other.driver.table.size());
    assertEquals(client.address(), server.session.remote());
    assertEquals(List.of(), client.ends);
    int before = server.received;
    client.write(REQUEST_BYTES);
    connect(100_000);
    assertEquals(before + REQUEST_BYTES, server.received);
    assertEquals(0, client.session.kcp().stats().inFlight());
  }

  /**
   * The client took the answer for that to its own packet, and ignored the retry: two packets, with
   * none dropped, ended its session.
   */
  @Test
  void sessionOfACopyMovesToTheClientThatHasTakenItsAnswer() {
    List<ByteBuf> first = begin();
    take(server, thief, first);
    runAll(STEP_US);
    client.take(server, server.packetsTo(thief));
    assertTrue(client.session.isExtensionEstablished());
    take(server, client, first);
    client.write(REQUEST_BYTES);
    connect(3_000_000);
    assertEquals(client.address(), server.session.remote());
    assertTrue(server.session.path().isValidated());
    assertEquals(1, server.count(KcpCounter.SESSIONS_MOVED));
    assertEquals(2 * REQUEST_BYTES, server.received);
    assertEquals(0, client.session.kcp().stats().inFlight());
    assertEquals(List.of(), client.ends);
    assertEquals(List.of(), server.ends);
    server.packetsTo(thief); // From before.
    server.write(REQUEST_BYTES);
    connect(100_000);
    assertEquals(REQUEST_BYTES, client.received);
    assertEquals(List.of(), server.packetsTo(thief));
  }

  /** It would wait for the answer to its request until its server's session has ended. */
  @Test
  void sessionOfACopyEndsIfTheAddressOfTheClientIsRefused() {
    List<ByteBuf> first = begin();
    take(server, thief, first);
    runAll(STEP_US);
    client.take(server, server.packetsTo(thief));
    server.driver.isAccepting = false;
    client.write(REQUEST_BYTES);
    connect(3_000_000);
    assertEquals(0, server.count(KcpCounter.SESSIONS_MOVED));
    assertEquals(List.of(EndReason.PEER_MOVED), server.ends);
  }

  @Test
  void sessionOfACopyMovesThoughTheClientOnlyWaitsForAnAnswer() {
    List<ByteBuf> first = begin();
    take(server, thief, first);
    runAll(STEP_US);
    client.take(server, server.packetsTo(thief));
    server.write(REQUEST_BYTES);
    take(server, client, first);
    connect(3_000_000);
    assertEquals(client.address(), server.session.remote());
    assertEquals(REQUEST_BYTES, client.received);
    assertEquals(List.of(), client.ends);
    assertEquals(List.of(), server.ends);
  }

  /** Both lived as long as the thief went on. */
  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void sessionOfACopyThatWasSentAheadEndsOnceTheClientIsIn(boolean isAnswerForwarded) {
    List<ByteBuf> first = begin();
    take(server, thief, first);
    server.packetsTo(thief); // Lost: the client takes the retry.
    take(server, client, first);
    client.take(server, server.packetsTo(client));
    connect(100_000, server, false);
    assertTrue(client.session.isExtensionEstablished());
    assertEquals(2, server.driver.table.size());
    connect(2_500_000, server, isAnswerForwarded);
    assertOnlyTheSessionOfTheClientLives(server);
  }

  /** The other socket has a thread of its own. */
  @Test
  void sessionOfACopyEndsAtAnotherSocket() {
    List<Runnable> tasks = new ArrayList<>();
    other.driver.onExecute = tasks::add;
    List<ByteBuf> first = begin();
    take(other, thief, first);
    take(server, client, first);
    client.take(server, server.packetsTo(client));
    connect(2_000_000, other, false);
    assertEquals(1, other.driver.table.size());
    other.driver.onExecute = Runnable::run;
    tasks.forEach(Runnable::run);
    connect(2_500_000, other, false);
    assertOnlyTheSessionOfTheClientLives(other);
  }

  /** Returns the session of the client; the thief has another one, by a retry. */
  private Session beginWithARelayedRetry(List<ByteBuf> first) {
    take(server, client, first);
    Session own = server.session;
    take(server, thief, first);
    client.take(server, server.packetsTo(thief));
    runAll(STEP_US);
    take(server, thief, client.packets());
    assertEquals(2, server.driver.table.size());
    return own;
  }

  /** What the client has confirmed stays, though the thief has a retry answered by the client. */
  @Test
  void sessionOfTheClientOutlivesOneThatARelayedRetryHasBegun() {
    Session own = beginWithARelayedRetry(begin());
    assertTrue(server.session.path().isValidated());
    connect(3_000_000);
    assertTrue(own.isExtensionEstablished());
    assertTrue(server.driver.table.lifecycle().contains(own));
    assertEquals(1, server.driver.table.size());
    assertEquals(List.of(EndReason.PEER_MOVED), server.ends);
    assertEquals(List.of(), client.ends);
    assertEquals(0, client.session.kcp().stats().inFlight());
  }

  /** The client takes the answer of the copy for that of its own session, which ends then. */
  @Test
  void oneSessionIsLeftThoughTheClientTakesTheAnswerOfTheOther() {
    List<ByteBuf> first = begin();
    take(server, thief, first);
    take(server, client, first);
    client.take(server, server.packetsTo(client));
    runAll(STEP_US);
    List<ByteBuf> again = client.packets();
    client.take(server, server.packetsTo(thief));
    assertTrue(client.session.isExtensionEstablished());
    take(server, thief, again);
    take(server, client, again);
    assertEquals(2, server.driver.table.size());
    connect(12_000_000, server, true);
    assertEquals(List.of(EndReason.PEER_MOVED), server.ends);
    assertEquals(1, server.driver.table.size());
  }

  /** A NAT has given the client another port, and answers are late: both ended meanwhile. */
  @Test
  void sessionsOfAClientStayUntilItHasConfirmedOne() {
    List<ByteBuf> first = begin();
    take(server, thief, first);
    take(server, client, first);
    client.take(server, server.packetsTo(client));
    runAll(STEP_US);
    take(server, client, client.packets());
    runAll(3_000_000);
    assertEquals(2, server.driver.table.size());
    connect(STEP_US);
    client.write(REQUEST_BYTES); // What was sent last tells when an answer is one.
    connect(4_000_000);
    assertEquals(List.of(EndReason.PEER_MOVED), server.ends);
    assertEquals(client.address(), server.session.remote());
    assertTrue(server.session.isExtensionEstablished());
  }

  /** The answer leaves once more, with a probe. */
  @Test
  void sessionOfTheClientOutlivesTheOtherThoughItsConfirmationWasLost() {
    List<ByteBuf> first = begin();
    take(server, client, first);
    Session own = server.session;
    runAll(STEP_US);
    client.take(server, server.packetsTo(client));
    runAll(100_000);
    client.packets(); // The confirmation is lost.
    assertTrue(client.session.isExtensionEstablished());
    assertFalse(own.isExtensionEstablished());
    server.driver.table.lifecycle().duplicates().add(own, server.nowUs);
    connect(3_000_000);
    assertTrue(own.isExtensionEstablished());
    assertEquals(List.of(), server.ends);
  }

  /** The client could confirm nothing. */
  @Test
  void sessionOfAServerWithoutTheExtensionOutlivesOneThatARelayedRetryHasBegun() {
    server.token = 0;
    Session own = beginWithARelayedRetry(begin(0x1122_3344_5566_7788L));
    connect(3_000_000);
    assertTrue(server.driver.table.lifecycle().contains(own));
    assertEquals(List.of(), server.ends);
  }

  /** It was accepted as soon as the session had ended. */
  @Test
  void firstPacketOfALongSessionBeginsNoOtherForTwoMinutesAfterItsEnd() {
    List<ByteBuf> first = begin();
    take(server, client, first);
    connect(200_000);
    connectForSeconds(130);
    server.driver.table.remove(server.session, server.nowUs);
    runAll(119_000_000);
    take(server, thief, first);
    assertEquals(0, server.driver.table.size());
    assertEquals(first.size(), server.count(KcpCounter.REPLAYED));
    runAll(1_000_000);
    take(server, thief, first);
    assertEquals(1, server.driver.table.size());
  }

  /** A client without the extension answers relayed challenges at any time. */
  @Test
  void packetBeginsNoSecondSessionWhileItsSessionLivesOrAfterItsEnd() {
    List<ByteBuf> first = begin(0);
    take(server, client, first);
    connect(200_000);
    connectForSeconds(130);
    relayChallenges(first);
    assertEquals(1, server.driver.table.size());
    server.driver.table.remove(server.session, server.nowUs);
    relayChallenges(first);
    assertEquals(0, server.driver.table.size());
    assertTrue(server.count(KcpCounter.ADDRESS_CHALLENGES_OUT) > 0);
  }

  private void relayChallenges(List<ByteBuf> first) {
    for (int i = 0; i < 3; i++) {
      take(server, thief, first);
      client.take(server, server.packetsTo(thief));
      runAll(STEP_US);
      take(server, thief, client.packets());
    }
  }

  private void connectForSeconds(int seconds) {
    for (int second = 0; second < seconds; second++) {
      runAll(1_000_000);
      take(server, client, client.packets());
      client.take(server, server.packetsTo(client));
    }
  }

  /** The server forgets convs after two minutes. */
  @Test
  void firstPacketOfASessionThatLivesBeginsNoOtherWhateverItsAge() {
    List<ByteBuf> first = begin();
    take(server, client, first);
    connect(200_000);
    connectForSeconds(130);
    assertEquals(1, server.driver.table.size());
    take(server, thief, first);
    take(other, thief, first);
    assertEquals(1, server.driver.table.size());
    assertEquals(0, other.driver.table.size());
    assertEquals(first.size(), server.count(KcpCounter.REPLAYED));
    assertEquals(first.size(), other.count(KcpCounter.REPLAYED));
    assertEquals(REQUEST_BYTES, server.received + other.received);
  }

  /** They cost little: clients should have chosen it at random. */
  @Test
  void sixtyFourSessionsOfOneConvAreKnown() {
    SessionDirectory.AuthenticatedSessions sessions = new SessionDirectory.AuthenticatedSessions();
    FirstPacket packet = new FirstPacket(0, false, 1, 1);
    List<Session> all = new ArrayList<>();
    for (int i = 0; i <= SessionDirectory.AuthenticatedSessions.MAX_OF_CONV; i++) {
      client.open(server);
      all.add(client.session);
      sessions.add(client.session, packet);
      client.driver.table.remove(client.session, client.nowUs);
    }
    Session last = all.remove(all.size() - 1);
    assertEquals(List.of(), sessions.othersOfClient(last));
    assertEquals(all.size() - 1, sessions.othersOfClient(all.get(0)).size());
    all.subList(1, all.size()).forEach(sessions::remove);
    assertTrue(sessions.isBegunBy(VirtualHost.CONV, 1));
    assertEquals(List.of(), sessions.othersOfClient(all.get(0)));
    sessions.remove(last);
    sessions.remove(all.get(0));
    assertFalse(sessions.contains(VirtualHost.CONV));
  }

  /** Nothing is kept of sessions that have ended. */
  @Test
  void sessionsThatHaveEndedAreForgotten() {
    take(server, client, begin());
    connect(200_000);
    assertTrue(directory.authenticated().contains(VirtualHost.CONV));
    client.abort(1);
    connect(200_000);
    assertEquals(0, server.driver.table.size());
    assertFalse(directory.authenticated().contains(VirtualHost.CONV));
  }
}
