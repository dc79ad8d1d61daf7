package io.kcp4j.internal.session;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kcp4j.Delivery;
import io.kcp4j.EndReason;
import io.kcp4j.KcpCounter;
import io.kcp4j.crypto.CipherAlgorithm;
import io.kcp4j.crypto.KeyRing;
import io.kcp4j.crypto.PacketKey;
import io.kcp4j.internal.admission.Admission;
import io.kcp4j.internal.extension.ExtensionMessage;
import io.kcp4j.internal.session.SessionTable.ResetTokens;
import io.kcp4j.internal.wire.Segment;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * {@link Admission}: clients that begin again with the address and conversation id of a dead
 * predecessor, and what its session does to them.
 */
class SuccessorTest {

  private static final int PORT = 1;
  private static final int DELAY_US = 10_000;

  private KeyRing keys;
  private VirtualHost server;
  private VirtualHost predecessor;
  private VirtualHost successor;

  /** All that the predecessor has sent. */
  private final List<ByteBuf> recorded = new ArrayList<>();

  @BeforeEach
  void makeHosts() {
    makeHosts(KeyRing.NONE);
  }

  private void makeHosts(KeyRing keys) {
    this.keys = keys;
    server = new VirtualHost(2, keys);
    server.token = 5;
    server.driver.table.resetTokens(new ResetTokens(new byte[ResetTokens.MIN_SECRET_BYTES]));
    predecessor = client(0x1111_2222_3333_4444L);
    successor = client(0x7777_8888_9999_aaaaL);
    successor.tsOrigin += 0x2000_0000;
  }

  private VirtualHost client(long token) {
    VirtualHost client = new VirtualHost(PORT, keys);
    client.token = token;
    return client;
  }

  private void encrypt() {
    makeHosts(KeyRing.of(PacketKey.of(CipherAlgorithm.AES_128_GCM, new byte[16])));
  }

  /** Lets two hosts exchange what they send, so often in each direction. */
  private void exchange(VirtualHost client, int times) {
    for (int i = 0; i < times; i++) {
      client.runTo(client.nowUs + DELAY_US);
      server.runTo(server.nowUs + DELAY_US);
      List<ByteBuf> packets = client.packets();
      if (client == predecessor) {
        packets.forEach(packet -> recorded.add(packet.copy()));
      }
      server.take(client, packets);
      client.take(server, server.packets());
    }
  }

  private void deliver(Delivery delivery) {
    for (VirtualHost host : List.of(server, predecessor, successor)) {
      host.config = host.config.toBuilder().delivery(delivery).build();
    }
  }

  private void beginPredecessor() {
    predecessor.open(server);
    for (int i = 0; i < 3; i++) {
      predecessor.write(100);
      exchange(predecessor, 10);
    }
    assertEquals(300, server.received);
    server.received = 0;
    successor.nowUs = predecessor.nowUs;
  }

  @Test
  void clientThatBeginsAgainGetsASessionOfItsOwn() {
    beginPredecessor();
    Session before = server.session;
    successor.open(server);
    for (int i = 0; i < 7; i++) {
      successor.write(10);
    }
    exchange(successor, 20);
    assertEquals(70, server.received);
    assertNotSame(before, server.session);
    assertEquals(List.of(EndReason.SUPERSEDED), server.ends);
    assertEquals(List.of(), successor.ends);
    assertEquals(0, successor.session.kcp().segmentsToSend());
    assertTrue(server.session.path().isValidated());
  }

  @Test
  void sessionWithAnAeadIsReplacedToo() {
    encrypt();
    clientThatBeginsAgainGetsASessionOfItsOwn();
  }

  @ParameterizedTest
  @EnumSource(
      value = Delivery.class,
      names = {"MESSAGE", "LANES"})
  void otherDeliveriesAreReplacedToo(Delivery delivery) {
    deliver(delivery);
    predecessor.open(server);
    predecessor.flush();
    if (delivery == Delivery.MESSAGE) {
      predecessor.write(10);
    }
    exchange(predecessor, 20);
    Session before = server.session;
    successor.nowUs = predecessor.nowUs;
    successor.open(server);
    successor.flush();
    if (delivery == Delivery.MESSAGE) {
      successor.write(10);
    }
    exchange(successor, 20);
    assertNotSame(before, server.session);
    assertEquals(List.of(EndReason.SUPERSEDED), server.ends);
    assertTrue(successor.session.isExtensionEstablished());
  }

  @Test
  void firstDatagramOfTheSuccessorMayBeLostOrReordered() {
    beginPredecessor();
    successor.open(server);
    List<ByteBuf> packets = new ArrayList<>();
    for (int i = 0; i < 4; i++) {
      successor.write(10);
      packets.addAll(successor.packets());
    }
    server.take(successor, packets.subList(1, 4));
    assertEquals(0, server.received);
    successor.take(server, server.packets());
    exchange(successor, 100);
    assertEquals(40, server.received);
    assertEquals(List.of(EndReason.SUPERSEDED), server.ends);
  }

  @Test
  void forgedOffersDoNotDelayTheSession() {
    beginPredecessor();
    successor.open(server);
    successor.write(10);
    List<ByteBuf> forged = successor.packets();
    for (int second = 0; second < 3; second++) {
      for (int i = 0; i < 100; i++) {
        for (int j = 0; j < 10; j++) {
          server.take(successor, forged);
        }
        predecessor.write(1);
        exchange(predecessor, 1);
      }
    }
    exchange(predecessor, 10);
    assertEquals(300, server.received);
    assertEquals(List.of(), server.ends);
    assertEquals(List.of(), predecessor.ends);
    assertEquals(0, predecessor.session.kcp().segmentsToSend());
  }

  @Test
  void payloadWithoutAnOfferIsNotSpliced() {
    deliver(Delivery.MESSAGE);
    beginPredecessor();
    successor.open(server);
    for (int i = 0; i < 7; i++) {
      successor.write(successor.session.kcp().mssBytes());
    }
    exchange(successor, 20);
    assertEquals(0, server.received);
    assertEquals(7, successor.session.kcp().segmentsToSend());
    assertTrue(server.count(KcpCounter.FOREIGN_TIMESTAMP) >= 7);
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void replayOfThePredecessorChangesNothing(boolean isEncrypted) {
    if (isEncrypted) {
      encrypt();
    }
    beginPredecessor();
    List<ByteBuf> replay = List.copyOf(recorded);
    successor.open(server);
    for (int i = 0; i < 7; i++) {
      successor.write(10);
      server.take(predecessor, replay);
      exchange(successor, 3);
    }
    Session begun = server.session;
    for (int i = 0; i < 200; i++) {
      server.take(predecessor, replay);
      successor.write(1);
      exchange(successor, 50);
    }
    assertEquals(270, server.received);
    assertSame(begun, server.session);
    assertEquals(List.of(EndReason.SUPERSEDED), server.ends);
    assertEquals(List.of(), successor.ends);
  }

  @Test
  void replayAfterARetryOfThePredecessorChangesNothing() {
    beginPredecessor();
    successor.open(server);
    successor.write(10);
    exchange(successor, 1);
    successor.runTo(successor.nowUs + DELAY_US);
    List<ByteBuf> answered = successor.packets().stream().map(ByteBuf::copy).toList();
    server.take(successor, answered);
    successor.take(server, server.packets());
    exchange(successor, 10);
    assertEquals(List.of(EndReason.SUPERSEDED), server.ends);
    VirtualHost third = client(0x3141_5926_5358_9793L);
    third.tsOrigin += 0x4000_0000;
    third.nowUs = successor.nowUs;
    third.open(server);
    third.write(10);
    exchange(third, 10);
    assertEquals(2, server.ends.size());
    Session begun = server.session;
    server.take(successor, answered);
    exchange(third, 10);
    assertSame(begun, server.session);
    assertEquals(2, server.ends.size());
  }

  @Test
  void successorOfAClosedSessionNeedNotWait() {
    beginPredecessor();
    server.driver.table.remove(server.session, server.nowUs);
    server.session.close();
    server.take(predecessor, recorded);
    assertEquals(0, server.driver.table.size());
    server.packets();
    successor.open(server);
    successor.write(10);
    exchange(successor, 10);
    assertEquals(10, server.received);
    assertEquals(1, server.driver.table.size());
  }

  @Test
  void serverThatAcceptsNobodyKeepsTheSession() {
    beginPredecessor();
    server.driver.isAccepting = false;
    successor.open(server);
    successor.write(10);
    exchange(successor, 20);
    assertEquals(List.of(), server.ends);
  }

  @Test
  void clientTakesNothingOfTheSessionOfItsPredecessor() {
    beginPredecessor();
    server.write(1_000);
    List<ByteBuf> ofPredecessor = server.packets();
    server.runTo(server.nowUs + 1_000_000);
    ofPredecessor = new ArrayList<>(ofPredecessor);
    ofPredecessor.addAll(server.packets());
    successor.open(server);
    for (int i = 0; i < 7; i++) {
      successor.write(10);
    }
    successor.take(server, ofPredecessor);
    assertEquals(7, successor.session.kcp().segmentsToSend());
    assertEquals(0, successor.received);
    assertEquals(ofPredecessor.size(), successor.count(KcpCounter.UNPROVEN));
    exchange(successor, 20);
    server.write(50);
    exchange(successor, 20);
    assertEquals(50, successor.received);
    assertEquals(70, server.received);
  }

  @Test
  void serverMaySpeakFirst() {
    server.driver.table.acceptOnProbe(true);
    successor.open(server);
    successor.session.kcp().probe();
    successor.flush();
    server.take(successor, successor.packets());
    server.write(40);
    successor.take(server, server.packets());
    assertEquals(40, successor.received);
  }

  @Test
  void peerWhoseClockSeemsToJumpIsAskedForItsToken() {
    beginPredecessor();
    long suspendedUs = 300_000_000;
    predecessor.driver.table.scheduleFlush(predecessor.session);
    predecessor.nowUs += suspendedUs;
    predecessor.write(10);
    exchange(predecessor, 100);
    assertEquals(10, server.received);
    assertTrue(server.count(KcpCounter.FOREIGN_TIMESTAMP) > 0);
    assertEquals(List.of(), server.ends);
    assertEquals(List.of(), predecessor.ends);
  }

  @Test
  void peerWhoseClockSeemsToJumpIsChallengedOnceASecond() {
    beginPredecessor();
    int ts = Segment.ts(recorded.get(recorded.size() - 1), 0) + 1_000_000;
    int challenges = 0;
    for (int i = 0; i < 25; i++) {
      take(ts + i, 3);
      server.runTo(server.nowUs + 100_000);
      challenges += server.packets().stream().anyMatch(SuccessorTest::hasChallenge) ? 1 : 0;
    }
    assertEquals(3, challenges);
  }

  private static boolean hasChallenge(ByteBuf packet) {
    return ExtensionMessage.findInSegments(packet, ExtensionMessage.PATH_CHALLENGE)
        != ExtensionMessage.NONE;
  }

  @Test
  void peerMayPauseForAnyTime() {
    beginPredecessor();
    predecessor.nowUs += 50_000_000;
    server.nowUs += 50_000_000;
    predecessor.write(10);
    exchange(predecessor, 10);
    assertEquals(10, server.received);
    assertEquals(0, server.count(KcpCounter.FOREIGN_TIMESTAMP));
  }

  @Test
  void segmentBefore60SecondsAgoIsNotTaken() {
    beginPredecessor();
    int ts = Segment.ts(recorded.get(recorded.size() - 1), 0);
    take(ts - 59_000, 3);
    assertEquals(10, server.received);
    take(ts - 61_000, 4);
    take(ts + 61_000, 4);
    assertEquals(10, server.received);
    assertEquals(2, server.count(KcpCounter.FOREIGN_TIMESTAMP));
    take(ts + 59_000, 4);
    assertEquals(20, server.received);
  }

  private void take(int ts, int sn) {
    ByteBuf push = Unpooled.buffer();
    Segment.write(push, VirtualHost.CONV, Segment.PUSH, 0, 128, ts, sn, 0, 10);
    server.take(predecessor, List.of(push.writeZero(10)));
  }
}
