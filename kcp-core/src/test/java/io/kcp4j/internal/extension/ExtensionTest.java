package io.kcp4j.internal.extension;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kcp4j.Delivery;
import io.kcp4j.KcpConfig;
import io.kcp4j.KcpCounter;
import io.kcp4j.LossDetection;
import io.kcp4j.fec.FecConfig;
import io.kcp4j.internal.session.VirtualHost;
import io.kcp4j.internal.wire.Segment;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** {@link Extension}: offer, answer and confirmation, and what others can forge. */
class ExtensionTest {

  private static final long CLIENT_TOKEN = 0x1122_3344_5566_7788L;
  private static final long SERVER_TOKEN = 0x99aa_bbcc_ddee_ff00L;

  private static final String FLAGS = "5300";
  private static final String PARAMETERS = "120700" + "cc444444" + "10" + FLAGS;
  private static final String SERVER_PARAMETERS = "120700" + "00000000" + "10" + FLAGS;
  private static final String OFFER = "4b01" + "010800" + "8877665544332211" + PARAMETERS;
  private static final String ANSWER =
      "4b01"
          + ("030800" + "8877665544332211")
          + ("020800" + "00ffeeddccbbaa99")
          + SERVER_PARAMETERS;
  private static final String CONFIRMATION = "4b01" + "030800" + "00ffeeddccbbaa99";

  private final VirtualHost client = new VirtualHost(1);
  private final VirtualHost server = new VirtualHost(2);

  private void open() {
    client.token = CLIENT_TOKEN;
    server.token = SERVER_TOKEN;
    client.open(server);
  }

  /** Forwards what both send for so many milliseconds, with a delay of 10 ms each way. */
  private void exchange(int ms) {
    List<ByteBuf> toServer = new ArrayList<>();
    List<ByteBuf> toClient = new ArrayList<>();
    for (int i = 0; i < ms / 10; i++) {
      server.take(client, toServer);
      client.take(server, toClient);
      client.runTo(client.nowUs + 10_000);
      server.runTo(server.nowUs + 10_000);
      toServer = client.packets();
      toClient = server.packets();
    }
    server.take(client, toServer);
    client.take(server, toClient);
  }

  private static List<String> messages(List<ByteBuf> packets) {
    return packets.stream()
        .map(VirtualHost::message)
        .filter(ByteBuf::isReadable)
        .map(ByteBufUtil::hexDump)
        .toList();
  }

  private List<ByteBuf> answers() {
    server.runTo(server.nowUs + 20_000);
    return server.packets();
  }

  @Test
  void firstDatagramHasThePushFirstAndTheOfferLast() {
    open();
    client.write(5000);
    List<ByteBuf> packets = client.packets();
    ByteBuf first = packets.get(0);
    assertEquals(Segment.PUSH, Segment.cmd(first, 0));
    assertEquals(OFFER, ByteBufUtil.hexDump(VirtualHost.message(first)));
    assertTrue(VirtualHost.message(first).readableBytes() <= 23);
    assertEquals(KcpConfig.DEFAULT.mtuBytes(), first.readableBytes());
    assertEquals(List.of(OFFER), messages(packets));
    int wins = first.readableBytes() - OFFER.length() / 2 - Segment.HEADER_BYTES;
    assertEquals(0, Segment.una(first, wins));
    assertEquals(Segment.wnd(first, 0), Segment.wnd(first, wins));
  }

  /** A message must not have more fragments than without the extension. */
  @Test
  void inMessageModeAnOfferFollowsOnlyASegmentThatLeavesRoom() {
    client.config = KcpConfig.builder().delivery(Delivery.MESSAGE).build();
    server.config = client.config;
    open();
    int fullBytes = KcpConfig.DEFAULT.mssBytes();
    client.write(2 * fullBytes);
    List<ByteBuf> packets = client.packets();
    assertEquals(2, packets.size());
    assertEquals(List.of(), messages(packets));
    client.write(10);
    String offer = OFFER.replace(PARAMETERS, "120700" + "cc444444" + "11" + "537f");
    assertEquals(List.of(offer), messages(client.packets()));
  }

  @Test
  void peersAgreeWithinARoundTrip() {
    open();
    client.write(10);
    server.take(client, client.packets());
    assertFalse(server.session.isExtensionEstablished());
    List<ByteBuf> answers = answers();
    assertEquals(List.of(ANSWER), messages(answers));
    client.take(server, answers);
    assertTrue(client.session.isExtensionEstablished());
    client.runTo(client.nowUs + 20_000);
    List<ByteBuf> confirmation = client.packets();
    assertEquals(List.of(CONFIRMATION), messages(confirmation));
    server.take(client, confirmation);
    assertTrue(server.session.isExtensionEstablished());
  }

  private static List<ByteBuf> padded(List<ByteBuf> packets, int bytes) {
    return packets.stream()
        .map(packet -> Unpooled.wrappedBuffer(packet, Unpooled.wrappedBuffer(new byte[bytes])))
        .toList();
  }

  /** They are ignored, and do not hide the message of a datagram whose other segments count. */
  @ParameterizedTest
  @ValueSource(ints = {1, Segment.HEADER_BYTES - 1})
  void trailingBytesShorterThanAHeaderDoNotHideAMessage(int bytes) {
    open();
    client.write(10);
    server.take(client, padded(client.packets(), bytes));
    client.take(server, padded(answers(), bytes));
    assertTrue(client.session.isExtensionEstablished());
    client.runTo(client.nowUs + 20_000);
    server.take(client, padded(client.packets(), bytes));
    assertTrue(server.session.isExtensionEstablished());
  }

  @Test
  void nothingIsAddedOncePeersHaveAgreed() {
    open();
    client.write(10);
    exchange(200);
    assertTrue(client.session.isExtensionEstablished() && server.session.isExtensionEstablished());
    client.write(3000);
    List<ByteBuf> packets = client.packets();
    assertEquals(KcpConfig.DEFAULT.mtuBytes(), packets.get(0).readableBytes());
    server.take(client, packets);
    server.write(3000);
    assertEquals(List.of(), messages(packets));
    assertEquals(List.of(), messages(answers()));
  }

  @Test
  void answerIsRepeatedUntilItIsConfirmed() {
    open();
    client.write(10);
    server.take(client, client.packets());
    answers();
    server.write(10);
    assertEquals(List.of(ANSWER), messages(server.packets()));
  }

  @Test
  void confirmationIsRepeatedForEachAnswer() {
    open();
    client.write(10);
    server.take(client, client.packets());
    client.take(server, answers());
    client.runTo(client.nowUs + 20_000);
    client.packets();
    server.write(10);
    client.take(server, server.packets());
    client.runTo(client.nowUs + 20_000);
    assertEquals(List.of(CONFIRMATION), messages(client.packets()));
  }

  @Test
  void peerThatAcknowledgesThreeOffersWithoutAnAnswerIsOfferedNoMore() {
    open();
    server.token = 0;
    for (int i = 0; i < 3; i++) {
      assertFalse(client.session.isExtensionUnsupported());
      client.write(10);
      List<ByteBuf> packets = client.packets();
      assertEquals(List.of(OFFER), messages(packets));
      server.take(client, packets);
      client.take(server, answers());
    }
    assertTrue(client.session.isExtensionUnsupported());
    client.write(2000);
    List<ByteBuf> packets = client.packets();
    assertEquals(List.of(), messages(packets));
    assertEquals(KcpConfig.DEFAULT.mtuBytes(), packets.get(0).readableBytes());
  }

  @Test
  void oldPeerIsRecognisedThoughManyFlushesAreUnderWay() {
    open();
    server.token = 0;
    List<List<ByteBuf>> underWay = new ArrayList<>();
    for (int i = 0; i < 60; i++) {
      client.write(10);
      underWay.add(client.packets());
      client.runTo(client.nowUs + 10_000);
      server.runTo(server.nowUs + 10_000);
      if (i >= 20) {
        server.take(client, underWay.get(i - 20));
        client.take(server, server.packets());
      }
    }
    assertTrue(client.session.isExtensionUnsupported());
  }

  @Test
  void answerHasTheAcksOfItsFlushThoughThatHasManyDatagrams() {
    open();
    server.driver.onProgress =
        session -> {
          server.read(session);
          if (server.received == 10) {
            session.kcp().send(Unpooled.buffer().writeZero(5000));
          }
        };
    client.write(10);
    server.take(client, client.packets());
    server.runTo(server.nowUs + 20_000);
    client.take(server, server.packets());
    assertTrue(client.session.isExtensionEstablished());
  }

  @Test
  void offersThatAreLostDoNotCount() {
    open();
    server.token = 0;
    client.write(10);
    server.take(client, client.packets());
    client.take(server, answers());
    for (int i = 0; i < 5; i++) {
      client.write(10);
      client.packets();
    }
    assertFalse(client.session.isExtensionUnsupported());
  }

  @Test
  void extensionPausesWhileTheMtuIsTooSmall() {
    open();
    client.write(10);
    exchange(200);
    client.session.reconfigure(smallMtu(), FecConfig.NONE);
    assertTrue(client.session.isExtensionUnsupported());
    client.session.shutdownOutput(client.nowUs);
    client.flush();
    assertEquals(List.of(), messages(client.packets()));

    client.session.reconfigure(KcpConfig.DEFAULT, FecConfig.NONE);
    assertFalse(client.session.isExtensionUnsupported());
    client.flush();
    exchange(200);
    assertTrue(server.session.isInputFinished());
  }

  @Test
  void clientOffersAgainOnceTheMtuHasRoom() {
    client.config = smallMtu();
    open();
    client.write(10);
    assertEquals(List.of(), messages(client.packets()));
    client.session.reconfigure(KcpConfig.DEFAULT, FecConfig.NONE);
    client.write(10);
    assertEquals(List.of(OFFER), messages(client.packets()));
  }

  @Test
  void settingsThatAreRefusedLeaveTheExtensionAsItIs() {
    open();
    client.write(10);
    exchange(200);
    KcpConfig refused = smallMtu().toBuilder().lossDetection(LossDetection.FAST_RETRANSMIT).build();
    assertThrows(
        IllegalArgumentException.class, () -> client.session.reconfigure(refused, FecConfig.NONE));
    assertFalse(client.session.isExtensionUnsupported());
  }

  private static KcpConfig smallMtu() {
    return KcpConfig.builder().mtuBytes(60).build();
  }

  @Test
  void serverSendsNothingToAPeerThatHasNotOffered() {
    open();
    client.token = 0;
    client.open(new VirtualHost(3));
    VirtualHost old = new VirtualHost(4);
    old.open(server);
    old.write(10);
    server.take(old, old.packets());
    server.write(10);
    assertEquals(List.of(), messages(answers()));
    assertFalse(server.session.isExtensionEstablished());
  }

  @Test
  void firstSegmentIsRetransmittedWithAnOffer() {
    open();
    client.write(10);
    client.packets();
    List<ByteBuf> retransmitted = List.of();
    for (int ms = 0; retransmitted.isEmpty() && ms < 1_000; ms++) {
      client.runTo(client.nowUs + 1_000);
      retransmitted = client.packets();
    }
    assertEquals(OFFER, ByteBufUtil.hexDump(VirtualHost.message(retransmitted.get(0))));
    server.take(client, retransmitted);
    client.take(server, answers());
    assertTrue(client.session.isExtensionEstablished());
  }

  @Test
  void offerThatDoesNotBeginTheSessionIsIgnoredWithoutProof() {
    open();
    VirtualHost old = new VirtualHost(4);
    old.open(server);
    old.write(10);
    server.take(old, old.packets());
    server.take(old, List.of(forged(OFFER)));
    server.write(10);
    assertEquals(List.of(), messages(answers()));
  }

  @Test
  void answerWithoutAnAcknowledgementIsIgnored() {
    open();
    client.write(10);
    client.take(server, List.of(forged(ANSWER)));
    assertFalse(client.session.isExtensionEstablished());
  }

  @Test
  void answerWithAnAcknowledgementOfAnotherTimestampIsIgnored() {
    open();
    client.write(10);
    int ts = Segment.ts(client.packets().get(0), 0);
    client.take(server, List.of(forged(ts + 1, ANSWER)));
    assertFalse(client.session.isExtensionEstablished());
  }

  @Test
  void answerThatDoesNotShowTheTokenIsIgnored() {
    open();
    client.write(10);
    int ts = Segment.ts(client.packets().get(0), 0);
    String other = ANSWER.replace("88776655", "88776656");
    client.take(server, List.of(forged(ts, other)));
    assertFalse(client.session.isExtensionEstablished());
  }

  @Test
  void tokensDoNotChange() {
    open();
    client.write(10);
    exchange(200);
    client.write(10);
    int ts = Segment.ts(client.packets().get(0), 0);
    client.take(server, List.of(forged(ts, ANSWER.replace("00ffee", "01ffee"))));
    client.runTo(client.nowUs + 20_000);
    assertEquals(List.of(), messages(client.packets()));
    server.take(client, List.of(forged(OFFER.replace("887766", "897766"))));
    server.write(10);
    assertEquals(List.of(), messages(answers()));
  }

  @Test
  void itemsOfUnknownTypesAreSkipped() {
    open();
    client.write(10);
    int ts = Segment.ts(client.packets().get(0), 0);
    String withUnknown = "4b01" + "ff0300" + "abcdef" + ANSWER.substring(4) + "c80000";
    client.take(server, List.of(forged(ts, withUnknown)));
    assertTrue(client.session.isExtensionEstablished());
    assertEquals(0, client.count(KcpCounter.EXTENSION_REFUSED));
  }

  @Test
  void messageThatIsMalformedIsCountedAndTheRestOfItsDatagramApplied() {
    List<String> malformed =
        List.of(
            "4b",
            ANSWER.replace(SERVER_PARAMETERS, "120600" + "00000000" + "00" + "00"),
            "4c01",
            "4b02" + ANSWER.substring(4),
            ANSWER + "00",
            ANSWER + "020000",
            ANSWER.substring(0, ANSWER.length() - 2),
            ANSWER + "c8ffff");
    for (String message : malformed) {
      VirtualHost host = new VirtualHost(1);
      host.token = CLIENT_TOKEN;
      host.open(server);
      host.write(10);
      int ts = Segment.ts(host.packets().get(0), 0);
      host.take(server, List.of(forged(ts, message)));
      assertFalse(host.session.isExtensionEstablished(), message);
      assertEquals(1, host.count(KcpCounter.EXTENSION_REFUSED), message);
      assertTrue(host.session.kcp().isDrained(), message);
    }
  }

  @Test
  void clientWhoseMtuHasNoRoomDoesNotOffer() {
    client.config = KcpConfig.builder().mtuBytes(60).build();
    open();
    client.write(10);
    assertEquals(List.of(), messages(client.packets()));
  }

  /** A WINS with a message. */
  private static ByteBuf forged(String message) {
    ByteBuf out = Unpooled.buffer();
    int bytes = message.length() / 2;
    Segment.write(out, VirtualHost.CONV, Segment.WINS, 0, 128, 0, 0, 0, bytes);
    return out.writeBytes(ByteBufUtil.decodeHexDump(message));
  }

  /** The same behind an ACK of the first segment. */
  private static ByteBuf forged(int ts, String message) {
    ByteBuf out = Unpooled.buffer();
    Segment.write(out, VirtualHost.CONV, Segment.ACK, 0, 128, ts, 0, 0, 0);
    return out.writeBytes(forged(message));
  }
}
