package io.kcp4j.internal.session;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kcp4j.CloseReason;
import io.kcp4j.Delivery;
import io.kcp4j.EndReason;
import io.kcp4j.KcpCounter;
import io.kcp4j.crypto.CipherAlgorithm;
import io.kcp4j.crypto.KeyRing;
import io.kcp4j.crypto.PacketKey;
import io.kcp4j.internal.session.SessionTable.ResetTokens;
import io.kcp4j.internal.wire.Segment;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/**
 * Refusals, by which clients with the extension learn that they need not wait: protocol.md 13.10.
 */
class RefusalTest {

  private static final long CLIENT_TOKEN = 0x1122_3344_5566_7788L;
  private static final CloseReason BANNED = new CloseReason(3, "banned");

  private final VirtualHost client = new VirtualHost(1);
  private final VirtualHost server = new VirtualHost(2);
  private TestDriver.Acceptor accepting;

  @BeforeEach
  void refuse() {
    client.token = CLIENT_TOKEN;
    server.token = 5;
    server.driver.table.resetTokens(new ResetTokens(new byte[ResetTokens.MIN_SECRET_BYTES]));
    accepting = server.driver.acceptor;
    server.driver.acceptor = (remote, conv) -> null;
    server.driver.refusal = BANNED;
  }

  private void accept() {
    server.driver.acceptor = accepting;
  }

  private List<ByteBuf> request() {
    client.open(server);
    client.write(10);
    return client.packets();
  }

  /** What the server sends at once when it receives these. */
  private List<ByteBuf> answer(List<ByteBuf> packets) {
    server.take(client, packets);
    return server.packets();
  }

  /** The time until a refusal counts passes, unless the session ends before. */
  private void waitForOtherAnswers() {
    client.runTo(client.nowUs + client.session.kcp().probeTimeoutUs() + 2_000);
  }

  @Test
  void clientLearnsTheReasonAfterAProbeTimeout() {
    List<ByteBuf> first = request();
    List<ByteBuf> refusal = answer(first);
    assertEquals(1, refusal.size());
    assertEquals(
        "4b01" + "030800" + "8877665544332211" + "170a00" + "03000000" + "62616e6e6564",
        ByteBufUtil.hexDump(VirtualHost.message(refusal.get(0))));
    assertTrue(refusal.get(0).readableBytes() <= first.get(0).readableBytes());
    assertEquals(1, server.count(KcpCounter.REFUSALS_OUT));

    client.take(server, refusal);
    client.runTo(client.nowUs + client.session.kcp().probeTimeoutUs() - 2_000);
    assertEquals(List.of(), client.ends);
    client.runTo(client.nowUs + 4_000);
    assertEquals(List.of(EndReason.REFUSED), client.ends);
    assertEquals(BANNED, client.session.peerReason());
    assertEquals(0, client.driver.table.size());
  }

  @Test
  void clientOfAFullServerLearnsThat() {
    accept();
    fill();
    server.driver.accepted.forEach(
        session -> server.driver.table.lifecycle().validated(session, server.nowUs));
    client.take(server, answer(request()));
    waitForOtherAnswers();
    assertEquals(List.of(EndReason.REFUSED), client.ends);
    assertEquals(new CloseReason(0, "the server is full"), client.session.peerReason());
  }

  @Test
  void sessionsThatMayBeForgedRefuseNobody() {
    accept();
    fill();
    server
        .driver
        .accepted
        .subList(1, VirtualHost.MAX_SESSIONS)
        .forEach(session -> server.driver.table.lifecycle().validated(session, server.nowUs));
    assertEquals(List.of(), answer(request()));
  }

  @Test
  void sessionThatClosesLeavesRoomSoon() {
    accept();
    VirtualHost first = new VirtualHost(3);
    first.token = 7;
    first.open(server);
    first.write(10);
    server.take(first, first.packets());
    first.take(server, server.packets());
    server.runTo(server.nowUs + 20_000);
    first.take(server, server.packets());
    first.runTo(first.nowUs + 20_000);
    server.take(first, first.packets());
    Session closing = server.session;
    assertTrue(closing.isExtensionEstablished());
    fill();
    server
        .driver
        .accepted
        .subList(1, VirtualHost.MAX_SESSIONS)
        .forEach(session -> server.driver.table.lifecycle().validated(session, server.nowUs));
    assertTrue(server.driver.table.closeGracefully(closing, server.nowUs));
    server.driver.table.flushPending(server.nowUs);
    server.packets();
    assertEquals(List.of(), answer(request()));
  }

  private void fill() {
    int missing = VirtualHost.MAX_SESSIONS - server.driver.table.size();
    for (int port = 100; port < 100 + missing; port++) {
      server.take(new VirtualHost(port), List.of(firstSegment()));
    }
    server.packets();
  }

  private static ByteBuf firstSegment() {
    ByteBuf push = Unpooled.buffer();
    Segment.write(push, VirtualHost.CONV, Segment.PUSH, 0, 128, 1, 0, 0, 0);
    return push;
  }

  @Test
  void clientWithLanesLearnsTheReason() {
    client.config = client.config.toBuilder().delivery(Delivery.LANES).build();
    client.open(server);
    client.flush();
    client.take(server, answer(client.packets()));
    waitForOtherAnswers();
    assertEquals(List.of(EndReason.REFUSED), client.ends);
    assertEquals(BANNED, client.session.peerReason());
  }

  /** Under an AEAD, the repeated first datagram may be a replay. */
  @Test
  void reasonIsToldAgainIfItWasLost() {
    KeyRing keys = KeyRing.of(PacketKey.of(CipherAlgorithm.AES_128_GCM, new byte[16]));
    VirtualHost client = new VirtualHost(3, keys);
    client.token = CLIENT_TOKEN;
    VirtualHost server = new VirtualHost(4, keys);
    server.token = 5;
    server.driver.table.resetTokens(new ResetTokens(new byte[ResetTokens.MIN_SECRET_BYTES]));
    server.driver.acceptor = (remote, conv) -> null;
    server.driver.isAccepting = false;
    server.driver.refusal = BANNED;
    client.open(server);
    client.write(10);
    server.take(client, client.packets());
    server.packets();
    client.runTo(client.nowUs + 400_000);
    server.take(client, client.packets());
    client.take(server, server.packets());
    client.runTo(client.nowUs + 1_000_000);
    assertEquals(List.of(EndReason.REFUSED), client.ends);
    assertEquals(BANNED, client.session.peerReason());
  }

  @Test
  void fullServerTellsNothingToAPeerThatItWouldNotAccept() {
    accept();
    fill();
    server.driver.accepted.forEach(
        session -> server.driver.table.lifecycle().validated(session, server.nowUs));
    server.driver.isAccepting = false;
    server.driver.refusal = null;
    assertEquals(List.of(), answer(request()));
  }

  @Test
  void answerToAProbeDoesNotContradictARefusal() {
    client.open(server);
    client.session.kcp().probe();
    client.flush();
    client.take(server, answer(client.packets()));
    client.write(10);
    client.take(server, answer(client.packets()));
    waitForOtherAnswers();
    assertEquals(List.of(EndReason.REFUSED), client.ends);
  }

  @Test
  void sessionsThatCloseBeforeTheyAreValidatedFillNothing() {
    SessionDirectory directory = SessionDirectory.ofOne(1);
    VirtualHost server = new VirtualHost(4, KeyRing.NONE, directory);
    server.token = 5;
    client.open(server);
    client.write(10);
    server.take(client, client.packets());
    assertTrue(server.abort(1));
    client.take(server, server.packets());
    server.take(client, client.packets());
    assertEquals(0, server.driver.table.size());
    assertFalse(directory.isFull());
  }

  @Test
  void textIsCutBetweenCharactersToTheSizeOfTheOffer() {
    server.driver.refusal = new CloseReason(4, "é".repeat(32));
    List<ByteBuf> first = request();
    List<ByteBuf> refusal = answer(first);
    int freeBytes = first.get(0).readableBytes() - refusal.get(0).readableBytes();
    assertTrue(freeBytes >= 0 && freeBytes < 2, freeBytes + " bytes");
    client.take(server, refusal);
    waitForOtherAnswers();
    assertEquals(new CloseReason(4, "é".repeat(18)), client.session.peerReason());
  }

  @Test
  void anyOtherAnswerContradictsARefusal() {
    List<ByteBuf> first = request();
    client.take(server, answer(first));
    accept();
    client.take(server, answer(first));
    server.runTo(server.nowUs + 20_000);
    client.take(server, server.packets());
    waitForOtherAnswers();
    assertEquals(List.of(), client.ends);
    assertTrue(client.session.isExtensionEstablished());
  }

  @Test
  void refusalAfterAnAnswerIsIgnored() {
    List<ByteBuf> first = request();
    List<ByteBuf> refusal = answer(first);
    accept();
    server.take(client, first);
    server.runTo(server.nowUs + 20_000);
    client.take(server, server.packets());
    client.write(10);
    client.take(server, refusal);
    waitForOtherAnswers();
    assertEquals(List.of(), client.ends);
  }

  @Test
  void refusalThatDoesNotShowTheTokenOfTheClientIsIgnored() {
    ByteBuf refusal = answer(request()).get(0);
    int token = refusal.readableBytes() - VirtualHost.message(refusal).readableBytes() + 5;
    refusal.setByte(token, refusal.getByte(token) ^ 1);
    client.take(server, List.of(refusal));
    waitForOtherAnswers();
    assertEquals(List.of(), client.ends);
  }

  @Test
  void serverAsksForARetryAfterARefusal() {
    List<ByteBuf> first = request();
    client.take(server, answer(first));
    server.driver.table.unvalidatedLimit(2);
    accept();
    for (int port = 100; port < 102; port++) {
      server.take(new VirtualHost(port), List.of(firstSegment()));
    }
    server.packets();
    client.take(server, answer(first));
    assertEquals(1, server.count(KcpCounter.RETRIES_OUT));
    waitForOtherAnswers();
    assertEquals(List.of(), client.ends);
  }

  @Test
  void clientWithoutTheExtensionIsToldNothing() {
    client.token = 0;
    assertEquals(List.of(), answer(request()));
    assertEquals(1, server.count(KcpCounter.ACCEPT_REFUSED));
  }

  @Test
  void clientIsToldNothingUnlessThereIsAReason() {
    server.driver.refusal = null;
    assertEquals(List.of(), answer(request()));
  }

  @Test
  void forgedOffersGetABoundedNumberOfAnswers() {
    List<ByteBuf> first = request();
    for (int port = 1_000; port < 21_000; port++) {
      server.take(new VirtualHost(port), first);
    }
    long answers = server.count(KcpCounter.REFUSALS_OUT);
    assertTrue(answers > 0 && answers <= 2_000, answers + " answers");
    assertFalse(server.driver.table.size() > 0);
  }
}
