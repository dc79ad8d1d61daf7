package io.kcp4j.internal.session;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kcp4j.CongestionControl;
import io.kcp4j.Delivery;
import io.kcp4j.KcpConfig;
import io.kcp4j.KcpCounter;
import io.kcp4j.LossDetection;
import io.kcp4j.crypto.CipherAlgorithm;
import io.kcp4j.crypto.KeyRing;
import io.kcp4j.crypto.PacketKey;
import io.kcp4j.fec.FecConfig;
import io.kcp4j.internal.fec.FecPacket;
import io.kcp4j.internal.lanes.OutboundMessage;
import io.kcp4j.internal.wire.Segment;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Cipher, FEC and ARQ together, from one {@link SessionTable} to another. */
class PacketLayersTest {

  private static final int MTU = 1200;

  private Host client = new Host(1, KeyRing.NONE);
  private Host server = new Host(2, KeyRing.NONE);

  private void seal(CipherAlgorithm algorithm) {
    KeyRing keys = KeyRing.of(PacketKey.ofPassphrase(algorithm, "k"));
    client = new Host(1, keys);
    server = new Host(2, keys);
  }

  @AfterEach
  void nothingIsLeft() {
    client.close();
    server.close();
  }

  private Session open(FecConfig fec) {
    client.fec = fec;
    return client.open(server.address, 7);
  }

  /** Sends complete groups until the server has detected the ratio. */
  private void prove(Session session) {
    for (int i = 4 * session.fecConfig().dataShards(); i > 0; i--) {
      client.send(session, session.kcp().mssBytes());
      server.take(client, client.packets());
    }
    Host.received(server.sessions.get(session.conv())).release();
  }

  private Session accepted() {
    return server.sessions.get(7);
  }

  private static int type(ByteBuf packet) {
    return FecPacket.type(packet, 0);
  }

  private static List<ByteBuf> without(List<ByteBuf> packets, int... lost) {
    List<ByteBuf> left = new ArrayList<>(packets);
    for (int i = lost.length - 1; i >= 0; i--) {
      left.remove(lost[i]);
    }
    return left;
  }

  @ParameterizedTest
  @EnumSource(names = {"STREAM", "MESSAGE"})
  void segmentsMadeBeforeFecWasSwitchedOnAreSentWithoutItsHeader(Delivery delivery) {
    int mss = 1500 - Segment.HEADER_BYTES;
    client.config =
        KcpConfig.builder()
            .congestionControl(CongestionControl.NONE)
            .lossDetection(
                LossDetection.FAST_RETRANSMIT) // Sends no copies, which would fill groups.
            .mtuBytes(1500)
            .delivery(delivery)
            .sendWindow(4)
            .sendQueue(8)
            .build();
    server.config = client.config;
    Session session = open(FecConfig.NONE);
    client.send(session, 6 * mss); // Of which two wait for the window.
    client.packets(); // All are lost.
    session.reconfigure(client.config, FecConfig.of(2, 1));
    for (int nowUs = 1_000_000; nowUs <= 4_000_000; nowUs += 1_000_000) {
      session.expire(nowUs);
      client.table.flushPending(nowUs);
      List<ByteBuf> packets = client.packets();
      packets.forEach(packet -> assertTrue(packet.readableBytes() <= 1500));
      server.take(client, packets);
      accepted().expire(nowUs);
      server.table.flushPending(0);
      client.take(server, server.packets());
    }
    assertEquals(0, server.count(KcpCounter.OVERSIZE));
    assertEquals(6 * mss, Host.received(accepted()).readableBytes());

    client.send(session, 2 * session.kcp().mssBytes());
    assertEquals(FecPacket.PARITY, type(client.packets().get(2)));
  }

  @ParameterizedTest
  @EnumSource
  void packetsAreAsLongAsTheMtuUnderEveryCipher(CipherAlgorithm algorithm) {
    seal(algorithm);
    Session session = open(FecConfig.of(3, 2));
    client.send(session, 3 * session.kcp().mssBytes());
    List<ByteBuf> packets = client.packets();
    assertEquals(5, packets.size());
    packets.forEach(packet -> assertEquals(MTU, packet.readableBytes()));
    server.take(client, packets);
    assertEquals(3 * session.kcp().mssBytes(), Host.received(accepted()).readableBytes());
  }

  @Test
  void datagramsAreSentWithoutACopyIfNoLayerIsAdded() {
    client.send(open(FecConfig.NONE), 2000);
    assertEquals(2, client.readyPackets);
    server.take(client, client.packets());
    assertEquals(2000, Host.received(accepted()).readableBytes());
  }

  @Test
  void datagramsAreCopiedForFecOrACipher() {
    client.send(open(FecConfig.of(3, 2)), 2000);
    assertEquals(0, client.readyPackets);
    client.close();
    seal(CipherAlgorithm.XOR);
    client.send(open(FecConfig.NONE), 2000);
    assertEquals(0, client.readyPackets);
  }

  @Test
  void lostPacketsAreRecoveredOnceTheRatioIsDetected() {
    server.fec = FecConfig.of(3, 2);
    Session session = open(FecConfig.of(3, 2));
    prove(session);
    long before = server.count(KcpCounter.FEC_PARITY_IN);
    client.send(session, 3 * session.kcp().mssBytes());
    server.take(client, without(client.packets(), 1, 2));
    assertEquals(2, server.count(KcpCounter.FEC_RECOVERED));
    assertEquals(before + 2, server.count(KcpCounter.FEC_PARITY_IN));
    assertEquals(before + 2, client.count(KcpCounter.FEC_PARITY_OUT));
    assertEquals(3 * session.kcp().mssBytes(), Host.received(accepted()).readableBytes());
    assertEquals(0, server.count(KcpCounter.FEC_RATIO_CHANGES));
  }

  @Test
  void windowOfARecoveredDatagramIsIgnored() {
    server.fec = FecConfig.of(1, 1);
    client.config = KcpConfig.builder().receiveWindow(99).build();
    Session session = open(FecConfig.of(1, 1));
    prove(session);
    client.config = KcpConfig.builder().receiveWindow(50).build();
    session.reconfigure(client.config, session.fecConfig());
    client.send(session, 10);
    server.take(client, without(client.packets(), 0));
    assertEquals(1, server.count(KcpCounter.FEC_RECOVERED));
    assertEquals(99, accepted().kcp().stats().remoteWindow());
  }

  @Test
  void acknowledgementsAreNotProtected() {
    server.fec = FecConfig.of(2, 1);
    Session session = open(FecConfig.NONE);
    client.send(session, 10);
    server.take(client, client.packets());
    accepted().kcp().probe();
    server.table.scheduleFlush(accepted());
    server.table.flushPending(20_000);
    ByteBuf control = server.packets().get(0);
    assertEquals(7, Segment.conv(control, 0));
    assertEquals(Segment.ACK, Segment.cmd(control, 0));
    assertEquals(Segment.WASK, Segment.cmd(control, Segment.HEADER_BYTES));
    assertEquals(2 * Segment.HEADER_BYTES, control.readableBytes());
  }

  @Test
  void parityFindsItsSessionAmongThoseOfItsAddress() {
    server.fec = FecConfig.of(2, 1);
    Session first = open(FecConfig.of(2, 1));
    Session second = client.open(server.address, 8);
    prove(first);
    prove(second);
    client.send(first, 2 * first.kcp().mssBytes());
    List<ByteBuf> ofFirst = client.packets();
    client.send(second, 2 * second.kcp().mssBytes());
    List<ByteBuf> ofSecond = client.packets();
    // Each has lost its second packet, and the parity of either would fit the gap of both.
    server.take(client, List.of(ofFirst.get(0), ofSecond.get(0), ofSecond.get(2), ofFirst.get(2)));
    assertEquals(2, server.count(KcpCounter.FEC_RECOVERED));
    for (int conv : new int[] {7, 8}) {
      int received = Host.received(server.sessions.get(conv)).readableBytes();
      assertEquals(2 * first.kcp().mssBytes(), received);
    }
  }

  @Test
  void parityOfUnknownPeersIsDropped() {
    server.fec = FecConfig.of(1, 1);
    Session session = open(FecConfig.of(2, 1));
    client.send(session, 2 * session.kcp().mssBytes());
    server.take(client, without(client.packets(), 0, 1));
    assertEquals(0, server.table.size());
    assertEquals(1, server.count(KcpCounter.UNKNOWN_SESSION));
  }

  @Test
  void dataWithAFalseSizeIsRefused() {
    Session session = open(FecConfig.of(1, 1));
    client.send(session, 10);
    ByteBuf data = client.packets().get(0);
    data.setShortLE(6, data.getUnsignedShortLE(6) + 1);
    server.take(client, List.of(data));
    assertEquals(1, server.count(KcpCounter.FEC_REFUSED));
    assertEquals(0, server.table.size());
  }

  @Test
  void everyCutOfAPacketIsHarmless() {
    Session session = open(FecConfig.of(1, 1));
    client.send(session, 30);
    for (ByteBuf packet : client.packets()) {
      for (int length = 0; length < packet.readableBytes(); length++) {
        server.take(client, List.of(packet.copy(0, length)));
      }
    }
    assertEquals(0, server.count(KcpCounter.FEC_RECOVERED));
    assertEquals(0, server.table.size());
  }

  @Test
  void packetThatNoKeyOpensIsCounted() {
    seal(CipherAlgorithm.AES_128_GCM);
    Session session = open(FecConfig.NONE);
    client.send(session, 30);
    ByteBuf packet = client.packets().get(0);
    ByteBuf altered = packet.copy();
    altered.setByte(40, ~altered.getByte(40));
    server.take(client, List.of(altered));
    assertEquals(1, server.count(KcpCounter.DECRYPT_FAILED));
    assertEquals(0, server.table.size());
    server.take(client, List.of(packet));
    assertEquals(1, server.table.size());
  }

  @Test
  void probeOfAnUnknownPeerIsAnsweredSealed() {
    seal(CipherAlgorithm.AES);
    Session session = open(FecConfig.NONE);
    session.kcp().probe();
    client.table.scheduleFlush(session);
    client.table.flushPending(0);
    List<ByteBuf> probe = client.packets();
    server.take(client, probe);
    assertEquals(0, server.table.size());
    List<ByteBuf> answer = server.packets();
    assertEquals(1, answer.size());
    assertEquals(probe.get(0).readableBytes(), answer.get(0).readableBytes());
    client.take(server, answer);
    assertEquals(1, session.kcp().counters().get(KcpCounter.SEGMENTS_IN));
  }

  @Test
  void unreliableDatagramNeedsASession() {
    client.unreliableLimit = 1;
    server.unreliableLimit = 1;
    Session session = open(FecConfig.of(1, 1));
    session.sendUnreliable(client.allocator.buffer().writeInt(42));
    client.table.scheduleFlush(session);
    client.table.flushPending(0);
    List<ByteBuf> early = client.packets();
    assertEquals(FecPacket.OUT_OF_BAND, type(early.get(0)));
    server.take(client, early);
    assertEquals(1, server.count(KcpCounter.UNKNOWN_SESSION));

    client.send(session, 10);
    server.take(client, client.packets());
    server.take(client, early);
    ByteBuf datagram = accepted().receiveUnreliable();
    assertEquals(42, datagram.readInt());
    datagram.release();
    assertNull(accepted().receiveUnreliable());
  }

  @Test
  void oldestUnreliableDatagramIsDroppedFromAFullQueue() {
    client.unreliableLimit = 3;
    server.unreliableLimit = 2;
    Session session = open(FecConfig.of(1, 1));
    client.send(session, 10);
    server.take(client, client.packets());
    for (int i = 0; i < 4; i++) {
      session.sendUnreliable(client.allocator.buffer().writeInt(i));
    }
    assertEquals(1, client.count(KcpCounter.UNRELIABLE_DROPPED));
    client.table.scheduleFlush(session);
    client.table.flushPending(0);
    server.take(client, client.packets());
    assertEquals(1, server.count(KcpCounter.UNRELIABLE_DROPPED));
    ByteBuf first = accepted().receiveUnreliable();
    assertEquals(2, first.readInt());
    first.release();
    assertTrue(accepted().isUnreliableReceivable());
  }

  /** Moves only unreliable datagrams for so long, one a second; sessions are idle after ten. */
  private void talkUnreliably(Session session, long untilUs) {
    TestDriver.configure(session, config -> config.idleTimeoutMs(10_000));
    TestDriver.configure(accepted(), config -> config.idleTimeoutMs(10_000));
    for (long nowUs = 1_000_000; nowUs <= untilUs; nowUs += 1_000_000) {
      session.sendUnreliable(client.allocator.buffer().writeInt(42));
      client.table.scheduleFlush(session);
      client.table.flushPending(nowUs);
      for (ByteBuf packet : client.packets()) {
        server.table.receive(client.address, packet, nowUs);
      }
      server.table.endBatch(nowUs);
      client.table.sweep(nowUs);
      server.table.sweep(nowUs);
    }
  }

  private static final class Observed extends OutboundMessage {

    private final List<String> fates;

    Observed(ByteBuf content, List<String> fates) {
      super(content);
      this.fates = fates;
    }

    @Override
    protected void sent() {
      fates.add("sent");
    }

    @Override
    protected void dropped(Drop reason) {
      fates.add(reason.name());
    }
  }

  @Test
  void unreliableDatagramsCountAsPayloadOnBothSides() {
    client.unreliableLimit = 1;
    server.unreliableLimit = 1;
    Session session = open(FecConfig.of(2, 1));
    client.send(session, 10);
    server.take(client, client.packets());
    talkUnreliably(session, 30_000_000);
    assertEquals(1, client.table.size());
    assertEquals(1, server.table.size());
    for (long nowUs = 30_000_000; nowUs <= 42_000_000; nowUs += 1_000_000) {
      client.table.sweep(nowUs);
      server.table.sweep(nowUs);
    }
    assertEquals(0, client.table.size());
    assertEquals(0, server.table.size());
  }

  @Test
  void unreliableDatagramsThatAreNotTakenDoNotKeepASession() {
    client.unreliableLimit = 1;
    Session session = open(FecConfig.of(2, 1));
    client.send(session, 10);
    server.take(client, client.packets());
    talkUnreliably(session, 12_000_000);
    assertEquals(1, client.table.size());
    assertEquals(0, server.table.size());
  }

  @Test
  void unreliableDatagramIsNotifiedOfItsFate() {
    client.unreliableLimit = 1;
    Session session = open(FecConfig.of(1, 1));
    List<String> fates = new ArrayList<>();
    session.sendUnreliable(new Observed(client.allocator.buffer().writeInt(1), fates));
    session.sendUnreliable(new Observed(client.allocator.buffer().writeInt(2), fates));
    assertEquals(List.of("QUEUE_FULL"), fates);
    client.table.scheduleFlush(session);
    client.table.flushPending(0);
    assertEquals(List.of("QUEUE_FULL", "sent"), fates);
    assertEquals(1, client.packets().size());

    session.sendUnreliable(new Observed(client.allocator.buffer().writeInt(3), fates));
    client.table.remove(session, 0);
    session.close();
    assertEquals(List.of("QUEUE_FULL", "sent", "SESSION_CLOSED"), fates);
  }

  /** Against the rules. The datagrams behind it, and the session, waited for it for ever. */
  @Test
  void unreliableDatagramWhoseBufferIsReleasedIsDroppedAlone() {
    client.unreliableLimit = 2;
    Session session = open(FecConfig.of(1, 1));
    List<String> fates = new ArrayList<>();
    int before = session.kcp().memory().heldBytes();
    ByteBuf released = Unpooled.buffer(10).writeInt(1);
    session.sendUnreliable(new Observed(released, fates));
    session.sendUnreliable(new Observed(client.allocator.buffer().writeInt(2), fates));
    released.release();
    client.table.scheduleFlush(session);
    client.table.flushPending(0);
    assertEquals(List.of("UNREADABLE", "sent"), fates);
    assertEquals(1, client.packets().size());
    assertEquals(before, session.kcp().memory().heldBytes());
  }

  @Test
  void unreliableDatagramThatCannotBeSentNamesWhatIsMissing() {
    ByteBuf one = Unpooled.buffer(1).writeZero(1);
    Session withoutQueue = open(FecConfig.of(1, 1));
    assertTrue(
        assertThrows(IllegalArgumentException.class, () -> withoutQueue.sendUnreliable(one))
            .getMessage()
            .startsWith("datagramQueue"));
    withoutQueue.reconfigure(withoutQueue.kcp().config(), FecConfig.NONE);
    TestDriver.configure(withoutQueue, config -> config.datagramQueue(1));
    assertTrue(
        assertThrows(IllegalArgumentException.class, () -> withoutQueue.sendUnreliable(one))
            .getMessage()
            .startsWith("FEC"));
  }

  @Test
  void largestUnreliableDatagramFillsThePacket() {
    Session session = open(FecConfig.of(1, 1));
    TestDriver.configure(session, config -> config.datagramQueue(1));
    int max = session.maxUnreliableBytes();
    assertEquals(MTU - FecPacket.DATA_HEADER_BYTES - Integer.BYTES, max);
    ByteBuf large = Unpooled.buffer(max + 1).writeZero(max + 1);
    assertThrows(IllegalArgumentException.class, () -> session.sendUnreliable(large));
    session.sendUnreliable(large.writerIndex(max));
    assertTrue(session.hasUnreliableToSend());
    client.table.scheduleFlush(session);
    client.table.flushPending(0);
    assertFalse(session.hasUnreliableToSend());
    assertEquals(MTU, client.packets().get(0).readableBytes());
  }

  @Test
  void ratioMayChangeWhileTheSessionRuns() {
    Session session = open(FecConfig.of(3, 2));
    client.send(session, 3000);
    server.take(client, client.packets());
    session.reconfigure(client.config, FecConfig.NONE);
    client.send(session, 3000);
    List<ByteBuf> plain = client.packets();
    plain.forEach(packet -> assertEquals(7, Segment.conv(packet, 0)));
    server.take(client, plain);
    assertEquals(6000, Host.received(accepted()).readableBytes());
  }
}
