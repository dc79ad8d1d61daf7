package io.kcp4j.internal.session;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kcp4j.KcpCounter;
import io.kcp4j.crypto.CipherAlgorithm;
import io.kcp4j.crypto.KeyRing;
import io.kcp4j.crypto.PacketKey;
import io.kcp4j.internal.session.SessionTable.ResetTokens;
import io.netty.buffer.ByteBuf;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Supplier;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * First packets of clients that somebody on the path, who has no key, holds back, records, or sends
 * ahead of the clients from other ports: protocol.md 8.10. A client seals each transmission with a
 * new nonce. Virtual time, with an AEAD; clients with the extension and without.
 */
class HeldPacketTest {

  private static final int REQUEST_BYTES = 10;
  private static final int STEP_US = 10_000;

  private final VirtualHost server = host(2);
  private final VirtualHost client = host(1);

  private int nextPort = 100;

  private static VirtualHost host(int port) {
    byte[] key = new byte[CipherAlgorithm.AES_128_GCM.keyBytes()];
    return new VirtualHost(port, KeyRing.of(PacketKey.of(CipherAlgorithm.AES_128_GCM, key)));
  }

  private void begin(boolean hasExtension) {
    if (hasExtension) {
      server.token = 5;
      server.driver.table.resetTokens(new ResetTokens(new byte[ResetTokens.MIN_SECRET_BYTES]));
    }
    begin(client, hasExtension);
  }

  private void begin(VirtualHost client, boolean hasExtension) {
    client.token = hasExtension ? 0x1122_3344_5566_0000L + client.address().getPort() : 0;
    client.open(server);
    client.write(REQUEST_BYTES);
  }

  private VirtualHost thief() {
    return new VirtualHost(nextPort++);
  }

  private int executed() {
    return server.received / REQUEST_BYTES;
  }

  private void runAll(VirtualHost... clients) {
    server.runTo(server.nowUs + STEP_US);
    for (VirtualHost other : clients) {
      other.runTo(server.nowUs);
    }
  }

  /** Passes everything between the server and clients, for so long. */
  private void connect(int us, VirtualHost... clients) {
    for (int passedUs = 0; passedUs < us; passedUs += STEP_US) {
      for (VirtualHost other : clients) {
        server.take(other, other.packets());
        other.take(server, server.packetsTo(other));
      }
      runAll(clients);
    }
  }

  /** What the client sends next. */
  private List<ByteBuf> nextPackets() {
    List<ByteBuf> packets = List.of();
    for (int passedUs = 0; packets.isEmpty() && passedUs < 5_000_000; passedUs += STEP_US) {
      runAll(client);
      packets = client.packets();
    }
    return packets;
  }

  private static void assertAnswered(VirtualHost client) {
    assertTrue(client.session.hasPeerAnswered());
    assertEquals(0, client.session.kcp().stats().inFlight());
  }

  /** The request was executed once for each. */
  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void heldRetransmissionsExecuteTheRequestOnce(boolean hasExtension) {
    begin(hasExtension);
    List<ByteBuf> held = new ArrayList<>();
    while (held.size() < 8) {
      held.addAll(client.packets());
      runAll(client);
    }
    connect(8_000_000, client);
    assertEquals(1, executed());
    assertAnswered(client);
    for (ByteBuf packet : held) {
      VirtualHost thief = thief();
      server.take(thief, List.of(packet));
      List<ByteBuf> answers = server.packetsTo(thief);
      assertTrue(answers.size() <= 1);
      answers.forEach(a -> assertTrue(a.readableBytes() <= packet.readableBytes()));
    }
    assertEquals(1, executed());
    assertEquals(1, server.driver.table.size());
    assertEquals(held.size(), server.count(KcpCounter.REPLAYED));
  }

  /** They began a session, and the client's own packets were dropped as replays of them. */
  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void packetsSentAheadFromOnePortDoNotLockTheClientOut(boolean hasExtension) {
    VirtualHost thief = thief();
    sendAhead(hasExtension, () -> thief);
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void packetsSentAheadFromManyPortsDoNotLockTheClientOut(boolean hasExtension) {
    sendAhead(hasExtension, this::thief);
  }

  private void sendAhead(boolean hasExtension, Supplier<VirtualHost> thief) {
    begin(hasExtension);
    for (int passedUs = 0; passedUs < 10_000_000; passedUs += STEP_US) {
      for (ByteBuf packet : client.packets()) {
        server.take(thief.get(), List.of(packet));
        server.take(client, List.of(packet));
      }
      client.take(server, server.packetsTo(client));
      runAll(client);
    }
    assertEquals(2, executed());
    assertAnswered(client);
    assertEquals(hasExtension, client.session.isExtensionEstablished());
  }

  /** With the extension, the retry takes one round trip. */
  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void clientsWithEqualConvsGetInBoth(boolean hasExtension) {
    VirtualHost second = host(3);
    begin(hasExtension);
    connect(STEP_US, client);
    begin(second, hasExtension);
    connect(hasExtension ? 5 * STEP_US : 2_000_000, client, second);
    assertEquals(2, executed());
    assertEquals(2, server.driver.table.size());
    connect(1_000_000, client, second);
    assertAnswered(client);
    assertAnswered(second);
  }

  /** What the client sends after the NAT has given it another port, and no answer has arrived. */
  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void clientWhoseNatRebindsBeforeTheAnswerGetsIn(boolean hasExtension) {
    begin(hasExtension);
    server.take(client, client.packets());
    server.packets();
    VirtualHost rebound = thief();
    for (int passedUs = 0; passedUs < 5_000_000; passedUs += STEP_US) {
      server.take(rebound, client.packets());
      server.packetsTo(client);
      client.take(server, server.packetsTo(rebound));
      runAll(client);
    }
    assertAnswered(client);
  }

  /** Each time, the server asks for a token of the new address. */
  @Test
  void clientWhoseNatRebindsThreeTimesBeforeTheAnswerGetsIn() {
    begin(true);
    server.take(client, client.packets());
    server.packets();
    VirtualHost rebound = client;
    for (int rebindings = 0; rebindings < 3; rebindings++) {
      rebound = thief();
      server.take(rebound, nextPackets());
      client.take(server, server.packetsTo(rebound));
    }
    server.take(rebound, nextPackets());
    runAll(client);
    client.take(server, server.packetsTo(rebound));
    assertTrue(server.session.path().isValidated());
    assertEquals(2, executed());
    assertAnswered(client);
    assertTrue(client.session.isExtensionEstablished());
  }

  /** Who relays challenges has the client answer them. Each packet begins one session at most. */
  @Test
  void packetBeginsNoSecondSessionThoughItsChallengeIsRelayed() {
    begin(false);
    List<ByteBuf> first = client.packets();
    server.take(client, first);
    assertEquals(1, executed());
    VirtualHost thief = thief();
    for (int i = 0; i < 10; i++) {
      server.take(thief, first.subList(0, 1));
      client.take(server, server.packetsTo(thief));
      runAll(client);
      server.take(thief, client.packets());
    }
    assertEquals(1, executed());
    assertTrue(server.count(KcpCounter.ADDRESS_CHALLENGES_OUT) > 0);
  }

  /** The relay asks for a retry with the client's last packet, each time from another port. */
  @Test
  void relayedRetriesHaveTheRequestExecutedFourTimesAtMost() {
    begin(true);
    VirtualHost port = thief();
    while (client.nowUs < 30_000_000) {
      List<ByteBuf> packets = client.packets();
      server.take(port, packets);
      if (!packets.isEmpty()) {
        port = thief();
        server.take(port, packets);
        client.take(server, server.packetsTo(port));
      }
      runAll(client);
    }
    assertEquals(4, executed());
    assertEquals(4, server.driver.accepted.size());
    assertTrue(client.count(KcpCounter.RETRIES_REFUSED) > 0);
    long retransmitted = client.count(KcpCounter.RETRANSMITTED);
    assertTrue(retransmitted <= 12, "its timeouts back off: " + retransmitted);
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void clientWhoseFirstPacketWasRefusedGetsIn(boolean hasExtension) {
    TestDriver.Acceptor acceptor = server.driver.acceptor;
    server.driver.acceptor = (remote, conv) -> null;
    begin(hasExtension);
    server.take(client, client.packets());
    assertEquals(0, executed());
    server.driver.acceptor = acceptor;
    runAll(client);
    connect(2_000_000, client);
    assertEquals(1, executed());
    assertAnswered(client);
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void clientWhoseSessionWasEvictedGetsInAgain(boolean hasExtension) {
    begin(hasExtension);
    server.take(client, client.packets());
    server.packets();
    server.driver.table.lifecycle().evict(server.session, server.nowUs);
    connect(2_000_000, client);
    assertEquals(2, executed());
    assertAnswered(client);
  }

  @Test
  void nothingIsSentWhileNoSessionWouldBeAccepted() {
    begin(false);
    List<ByteBuf> first = client.packets();
    server.take(client, first);
    server.packets();
    server.driver.isAccepting = false;
    VirtualHost thief = thief();
    server.take(thief, first);
    assertEquals(List.of(), server.packetsTo(thief));
    assertEquals(first.size(), server.count(KcpCounter.ACCEPT_REFUSED));
  }

  /** KCP's clients double their timeout: the next first datagram may come seconds later. */
  @Test
  void answerToAChallengeIsRememberedUntilTheNextTimeout() {
    begin(false);
    List<ByteBuf> first = client.packets();
    server.take(thief(), first);
    server.take(client, first);
    client.take(server, server.packetsTo(client));
    client.runTo(client.nowUs + STEP_US);
    server.take(client, client.packets());
    assertEquals(1, executed());
    long answeredAtUs = server.nowUs;
    server.runTo(answeredAtUs + 7_500_000);
    client.runTo(server.nowUs);
    List<ByteBuf> later = client.packets();
    server.take(client, later.subList(later.size() - 1, later.size()));
    assertEquals(2, executed());
  }
}
