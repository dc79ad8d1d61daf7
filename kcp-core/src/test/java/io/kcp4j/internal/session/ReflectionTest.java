package io.kcp4j.internal.session;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kcp4j.Delivery;
import io.kcp4j.KcpConfig;
import io.kcp4j.KcpCounter;
import io.kcp4j.crypto.CipherAlgorithm;
import io.kcp4j.crypto.KeyRing;
import io.kcp4j.crypto.PacketKey;
import io.kcp4j.fec.FecConfig;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.net.InetSocketAddress;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Packets of one side that somebody sends back to it: protocol.md 2.7 and 11.18. */
class ReflectionTest {

  private static final int SECOND = 1_000_000;

  private static final KeyRing KEYS =
      KeyRing.of(PacketKey.of(CipherAlgorithm.AES_128_GCM, new byte[16]));

  /** Its own acknowledgement validated the path, and its answers were answered for ever. */
  @Test
  void addressThatSendsEverythingBackIsNotValidatedAndMakesNoLoop() {
    Crowd crowd = new Crowd(16 << 20, KcpConfig.builder().delivery(Delivery.STREAM).build());
    InetSocketAddress mirror = Crowd.address(9, 9);
    crowd.sendBack(mirror);
    crowd.onRead = session -> session.kcp().send(Unpooled.buffer().writeZero(2_000));
    crowd.forge(mirror, 0, 0, 1_000);
    crowd.run(10_000);
    assertEquals(1_000, crowd.received.get(mirror));
    assertFalse(crowd.server.accepted.get(0).path().isValidated());
    long bytes = crowd.sentTo.get(mirror);
    assertTrue(bytes <= 3 * 1_024 + 8 * 64 + 40 * 24, "sent " + bytes);
    assertTrue(crowd.count(KcpCounter.REFLECTED) > 0);
  }

  /** The acknowledgement of one side made the same side believe that the other one had it. */
  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void packetsThatAreSentBackToEitherSideHaveNoEffect(boolean isToServer) {
    VirtualHost client = new VirtualHost(1, KEYS);
    VirtualHost server = new VirtualHost(2, KEYS);
    client.open(server);
    VirtualHost victim = isToServer ? server : client;
    for (int i = 0; i < 100; i++) {
      client.write(700);
      exchange(client, server, victim);
      server.write(500);
      exchange(client, server, victim);
    }
    assertEquals(100 * 500, client.received);
    assertEquals(100 * 700, server.received);
    assertTrue(victim.count(KcpCounter.REFLECTED) >= 99);
    assertEquals(0, client.count(KcpCounter.ACKNOWLEDGES_UNSENT));
  }

  /**
   * A datagram without PUSH and ACK was sent back. What this side has received of the peer counted
   * as what the peer has received, and was never sent again.
   */
  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void datagramWithoutDataThatIsSentBackAcknowledgesNothing(boolean isToServer) {
    VirtualHost client = new VirtualHost(1, KEYS);
    VirtualHost server = new VirtualHost(2, KEYS);
    client.token = 0x1122_3344_5566_7788L;
    server.token = 0x99aa_bbcc_ddee_ff00L;
    client.open(server);
    client.write(700);
    exchange(client, server);
    TestDriver.configure(client.session, config -> config.datagramQueue(10));
    TestDriver.configure(server.session, config -> config.datagramQueue(10));
    VirtualHost victim = isToServer ? server : client;
    VirtualHost peer = isToServer ? client : server;
    peer.write(5_000); // The victim has received more segments than the peer.
    exchange(client, server);
    victim.write(10_000); // All of it is lost.
    victim.packets();
    victim.session.sendUnreliable(Unpooled.buffer().writeLong(1));
    victim.flush();
    victim.take(peer, victim.packets());
    int before = peer.received;
    for (int i = 0; i < 100; i++) {
      exchange(client, server);
    }
    assertEquals(before + 10_000, peer.received);
  }

  private static void exchange(VirtualHost client, VirtualHost server) {
    for (int ms = 0; ms < 30; ms++) {
      client.runTo(client.nowUs + 1_000);
      server.runTo(client.nowUs);
      server.take(client, client.packetsTo(server));
      client.take(server, server.packetsTo(client));
    }
  }

  /** Each packet is sent back to the victim before it arrives at the other side. */
  private static void exchange(VirtualHost client, VirtualHost server, VirtualHost victim) {
    VirtualHost peer = victim == client ? server : client;
    for (int ms = 0; ms < 30; ms++) {
      client.runTo(client.nowUs + 1_000);
      server.runTo(client.nowUs);
      List<ByteBuf> toServer = client.packetsTo(server);
      List<ByteBuf> toClient = server.packetsTo(client);
      victim.take(peer, victim == client ? toServer : toClient);
      server.take(client, toServer);
      client.take(server, toClient);
    }
  }

  /** A group of the other side was completed by it, and what was recovered was garbage. */
  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void parityThatIsSentBackRecoversNothing(boolean isToServer) {
    VirtualHost client = new VirtualHost(1, KEYS);
    VirtualHost server = new VirtualHost(2, KEYS);
    client.fec = FecConfig.of(3, 1);
    server.fec = client.fec;
    client.open(server);
    VirtualHost victim = isToServer ? server : client;
    for (int i = 0; i < 100; i++) {
      client.write(400);
      exchange(client, server, victim);
      server.write(400);
      exchange(client, server, victim);
    }
    assertEquals(100 * 400, client.received);
    assertEquals(100 * 400, server.received);
    // Of the first packet of a session no copy is kept.
    assertTrue(victim.count(KcpCounter.FEC_RECOVERED) <= 1);
    assertTrue(victim.count(KcpCounter.FEC_PARITY_IN) > 40);
  }

  @Test
  void lossIsRecoveredOfPeersWhoseNumbersBeginAnywhere() {
    VirtualHost client = new VirtualHost(1, KEYS);
    VirtualHost server = new VirtualHost(2, KEYS);
    client.fec = FecConfig.of(3, 1);
    server.fec = client.fec;
    client.open(server);
    for (int i = 0; i < 400; i++) {
      client.write(400);
      client.runTo(client.nowUs + SECOND / 100);
      server.runTo(client.nowUs);
      List<ByteBuf> packets = client.packetsTo(server);
      server.take(
          client, i % 7 == 3 && !packets.isEmpty() ? packets.subList(1, packets.size()) : packets);
      client.take(server, server.packetsTo(client));
    }
    assertTrue(
        server.count(KcpCounter.FEC_RECOVERED) > 20, "" + server.count(KcpCounter.FEC_RECOVERED));
  }
}
