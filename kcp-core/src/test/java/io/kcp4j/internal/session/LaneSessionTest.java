package io.kcp4j.internal.session;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kcp4j.CongestionControl;
import io.kcp4j.Delivery;
import io.kcp4j.EndReason;
import io.kcp4j.KcpConfig;
import io.kcp4j.KcpCounter;
import io.kcp4j.fec.FecConfig;
import io.kcp4j.internal.arq.Kcp;
import io.kcp4j.internal.lanes.Lane;
import io.kcp4j.internal.lanes.LaneNumbers;
import io.kcp4j.internal.lanes.OutboundMessage;
import io.kcp4j.internal.wire.Segment;
import io.kcp4j.internal.wire.Time;
import io.kcp4j.lanes.LaneConfig;
import io.kcp4j.lanes.LaneKind;
import io.kcp4j.lanes.LanesConfig;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Lanes in sessions: how peers find out that both have them, and unreliable messages. */
class LaneSessionTest {

  private static final long CLIENT_TOKEN = 0x1122_3344_5566_7788L;
  private static final long SERVER_TOKEN = 0x99aa_bbcc_ddee_ff00L;
  private static final String TO_CLIENT = "4b01" + "030800" + "8877665544332211";
  private static final String TO_SERVER = "4b01" + "030800" + "00ffeeddccbbaa99";
  private static final String FLAGS = "5300";
  private static final String DEFAULT_LANES = "0f0600" + "0004" + "00004000";

  private final VirtualHost client = new VirtualHost(1);
  private final VirtualHost server = new VirtualHost(2);
  private final List<String> received = new ArrayList<>();
  private final List<String> fates = new ArrayList<>();

  LaneSessionTest() {
    KcpConfig config =
        KcpConfig.builder()
            .delivery(Delivery.LANES)
            .congestionControl(CongestionControl.NONE)
            .build();
    for (VirtualHost host : List.of(client, server)) {
      host.config = config;
      host.driver.onProgress = this::read;
    }
    client.token = CLIENT_TOKEN;
    server.token = SERVER_TOKEN;
  }

  private void read(Session session) {
    for (Lane lane; (lane = session.lanes().nextNews()) != null; ) {
      for (ByteBuf message; (message = lane.receive()) != null; message.release()) {
        received.add(lane.id() + ":" + message.toString(StandardCharsets.US_ASCII));
      }
      if (lane.takeInputEnd()) {
        received.add(lane.id() + ":end");
      }
    }
  }

  private void begin() {
    client.open(server);
    client.flush();
  }

  private void beginAndExchange() {
    begin();
    exchange(3);
    assertTrue(client.session.lanes().isOpen());
    assertTrue(server.session.lanes().isOpen());
  }

  /** Packets go to and fro, 10 ms each way. */
  private void exchange(int roundTrips) {
    for (int i = 0; i < roundTrips; i++) {
      server.runTo(server.nowUs + 10_000);
      server.take(client, client.packets());
      client.runTo(client.nowUs + 10_000);
      client.take(server, server.packets());
    }
  }

  private void queue(VirtualHost host, int lane, String text) {
    Lane to = host.session.lanes().lane(lane);
    to.send(
        new OutboundMessage(Unpooled.copiedBuffer(text, StandardCharsets.US_ASCII)) {
          @Override
          protected void sent() {
            fates.add(text + " sent");
          }

          @Override
          protected void dropped(Drop reason) {
            fates.add(text + " " + reason);
          }
        });
  }

  private static void config(VirtualHost host, int lane, LaneKind kind) {
    host.session.lanes().lane(lane).config(LaneConfig.of(kind));
  }

  private static List<String> messages(List<ByteBuf> packets) {
    return packets.stream()
        .map(VirtualHost::message)
        .filter(ByteBuf::isReadable)
        .map(ByteBufUtil::hexDump)
        .toList();
  }

  // Offer and answer

  @Test
  void offerAndAnswerSayHowManyLanesThereAreAndTheBudget() {
    begin();
    List<ByteBuf> first = client.packets();
    assertEquals(List.of("4b01" + "010800" + "8877665544332211" + DEFAULT_LANES), messages(first));
    ByteBuf packet = first.get(0);
    assertEquals(1, Segment.length(packet, 0));
    assertEquals(0, packet.getByte(Segment.HEADER_BYTES));
    server.lanes = LanesConfig.builder().maxLanes(10).budgetBytes(65_536).build();
    server.take(client, first);
    server.runTo(server.nowUs + 20_000);
    List<ByteBuf> answer = server.packets();
    assertEquals(
        List.of(
            TO_CLIENT
                + ("020800" + "00ffeeddccbbaa99")
                + ("120700" + "00000000" + "12" + FLAGS)
                + ("0f0600" + "0a00" + "00000100")),
        messages(answer));
    client.take(server, answer);
    String confirmation = TO_SERVER + "120700" + "cc444444" + "12" + FLAGS;
    assertEquals(List.of(confirmation), messages(client.packets()), "confirmed at once");
    assertThrows(IllegalArgumentException.class, () -> queue(client, 10, "a"));
  }

  @Test
  void messagesThatWaitLeaveWithTheAnswer() {
    begin();
    queue(client, 1, "a");
    client.flush();
    exchange(3);
    assertEquals(List.of("1:a"), received);
    queue(server, 2, "b");
    server.flush();
    exchange(1);
    assertEquals(List.of("1:a", "2:b"), received);
    assertEquals(List.of("a sent", "b sent"), fates);
  }

  /** A network has cut the datagram: fewer bytes than a header has are left behind the preface. */
  @Test
  void firstDatagramWithoutItsOfferIsNotAcknowledgedAndComesAgain() {
    begin();
    ByteBuf cut = client.packets().get(0).slice(0, 2 * Segment.HEADER_BYTES);
    server.take(client, List.of(cut));
    server.runTo(server.nowUs + 100_000);
    assertEquals(List.of(), server.packets());
    assertEquals(List.of(), server.ends);
    client.runTo(client.nowUs + 300_000);
    exchange(5);
    assertTrue(client.session.lanes().isOpen());
    assertTrue(server.session.lanes().isOpen());
  }

  private static List<ByteBuf> padded(List<ByteBuf> packets) {
    return packets.stream()
        .map(packet -> Unpooled.wrappedBuffer(packet, Unpooled.wrappedBuffer(new byte[3])))
        .toList();
  }

  /** A network adds a few bytes to each datagram. */
  @Test
  void trailingBytesHideNeitherOffersNorAnswers() {
    begin();
    for (int i = 0; i < 3; i++) {
      server.runTo(server.nowUs + 10_000);
      server.take(client, padded(client.packets()));
      client.runTo(client.nowUs + 10_000);
      client.take(server, padded(server.packets()));
    }
    assertTrue(server.session.lanes().isOpen());
    assertTrue(client.session.lanes().isOpen());
    assertTrue(server.session.isExtensionEstablished());
  }

  /** An acknowledgement without the answer would tell the client that there are no lanes. */
  @Test
  void unreliableDatagramsLeaveTheAllowanceOfThePathToTheAnswer() {
    client.fec = FecConfig.of(10, 3);
    server.fec = client.fec;
    begin();
    server.take(client, client.packets());
    TestDriver.configure(server.session, config -> config.datagramQueue(10));
    server.session.sendUnreliable(Unpooled.buffer().writeZero(180));
    server.flush();
    server.runTo(server.nowUs + 20_000);
    client.take(server, server.packets());
    assertTrue(client.session.lanes().isOpen());
    server.take(client, client.packets());
    server.flush();
    assertEquals(1, server.packets().size());
    assertEquals(1, server.count(KcpCounter.UNRELIABLE_OUT));
  }

  @Test
  void serverMaySendBeforeItsAnswerIsConfirmed() {
    begin();
    server.take(client, client.packets());
    queue(server, 2, "b");
    server.flush();
    client.take(server, server.packets());
    assertEquals(List.of("2:b"), received);
  }

  @Test
  void lostOfferAndLostAnswersAreRepeated() {
    begin();
    queue(client, 1, "a");
    client.packets();
    client.runTo(client.nowUs + 300_000);
    server.take(client, client.packets());
    for (int i = 0; i < 2; i++) {
      server.runTo(server.nowUs + 300_000);
      server.packets();
      client.runTo(client.nowUs + 300_000);
      server.take(client, client.packets());
    }
    exchange(20);
    assertEquals(List.of("1:a"), received);
    assertEquals(List.of(), client.ends);
  }

  @Test
  void answerThatIsLostBehindTheAcknowledgementOfTheOfferIsAskedForAgain() {
    begin();
    server.take(client, client.packets());
    server.runTo(server.nowUs + 20_000);
    List<ByteBuf> answer = server.packets();
    ByteBuf ackOnly = answer.get(0).copy(0, Segment.HEADER_BYTES);
    client.take(server, List.of(ackOnly));
    exchange(3);
    assertTrue(client.session.lanes().isOpen());
    assertEquals(List.of(), client.ends);
  }

  // Peers without lanes

  private void assertEndsWithoutLanes(VirtualHost host, EndReason reason) {
    assertEquals(List.of(reason), host.ends);
    assertFalse(host.session.lanes().isOpen());
    assertEquals(List.of("a SESSION_CLOSED"), fates);
  }

  private void closeWhenEnded(VirtualHost host) {
    host.driver.onEnd =
        (ended, reason) -> {
          host.ends.add(reason);
          ended.close();
        };
  }

  private void abortWhenEnded(VirtualHost host) {
    host.driver.onEnd =
        (ended, reason) -> {
          host.ends.add(reason);
          host.driver.table.abort(ended, 0, host.nowUs);
        };
  }

  @Test
  void clientWhoseServerHasTheExtensionButNoLanesFails() {
    server.config = KcpConfig.DEFAULT;
    server.driver.onProgress = server::read;
    abortWhenEnded(server);
    closeWhenEnded(client);
    begin();
    queue(client, 1, "a");
    exchange(4);
    assertEndsWithoutLanes(client, EndReason.DELIVERY_MISMATCHED);
    assertEquals(
        "DELIVERY of the peer is STREAM, here LANES: set the same on both sides",
        client.session.deliveryMismatch());
    assertEquals(List.of(EndReason.DELIVERY_MISMATCHED), server.ends);
    assertEquals(0, server.driver.table.size());
  }

  @Test
  void serverWhoseClientHasTheExtensionButNoLanesFails() {
    client.config = KcpConfig.DEFAULT;
    client.driver.onProgress = client::read;
    abortWhenEnded(client);
    abortWhenEnded(server);
    client.open(server);
    client.write(100);
    exchange(4);
    assertEquals(List.of(EndReason.DELIVERY_MISMATCHED), client.ends);
    assertEquals(List.of(EndReason.DELIVERY_MISMATCHED), server.ends);
    assertEquals(0, client.driver.table.size());
    assertEquals(0, server.driver.table.size());
  }

  @Test
  void clientWhoseServerDoesNotHaveTheExtensionFails() {
    server.config = KcpConfig.DEFAULT;
    server.token = 0;
    server.driver.onProgress = server::read;
    closeWhenEnded(client);
    begin();
    queue(client, 1, "a");
    exchange(20);
    assertEndsWithoutLanes(client, EndReason.LANES_UNSUPPORTED);
    assertEquals(3, server.received, "a byte for each offer");
  }

  @Test
  void serverWhoseClientDoesNotHaveTheExtensionFails() {
    client.config = KcpConfig.DEFAULT;
    client.token = 0;
    client.open(server);
    client.write(100);
    server.take(client, client.packets());
    assertEquals(List.of(EndReason.LANES_UNSUPPORTED), server.ends);
  }

  @Test
  void impossibleLimitsOfThePeerAreNoLanes() {
    begin();
    ByteBuf offer = client.packets().get(0);
    offer.setIntLE(offer.writerIndex() - Integer.BYTES, -1);
    server.take(client, List.of(offer));
    assertEquals(List.of(EndReason.LANES_UNSUPPORTED), server.ends);
  }

  @Test
  void lanesNeedRoomForTheMessagesOfTheExtension() {
    client.config = client.config.toBuilder().mtuBytes(115).build();
    Exception refusal = assertThrows(IllegalArgumentException.class, this::begin);
    assertEquals("mssBytes: 91 (expected: >= 92 with lanes)", refusal.getMessage());
    client.config = client.config.toBuilder().mtuBytes(116).build();
    beginAndExchange();
    KcpConfig smaller = client.config.toBuilder().mtuBytes(115).build();
    assertThrows(
        IllegalArgumentException.class, () -> client.session.reconfigure(smaller, FecConfig.NONE));
  }

  // Unreliable messages

  @Test
  void unreliableMessagesShareTheDatagramOfTheTick() {
    beginAndExchange();
    config(client, 5, LaneKind.UNRELIABLE);
    config(client, 300, LaneKind.UNRELIABLE_SEQUENCED);
    queue(client, 1, "a");
    queue(client, 5, "b");
    queue(client, 300, "cd");
    queue(client, 5, "e");
    client.flush();
    List<ByteBuf> packets = client.packets();
    assertEquals(1, packets.size());
    assertEquals(
        List.of(
            TO_SERVER
                + ("130700" + "0500" + "00000000" + "62")
                + ("140800" + "2c01" + "00000000" + "6364")
                + ("130700" + "0500" + "01000000" + "65")),
        messages(packets));
    server.take(client, packets);
    assertEquals(List.of("1:a", "300:cd", "5:b", "5:e"), received.stream().sorted().toList());
    assertEquals(List.of("b sent", "cd sent", "e sent", "a sent"), fates);
  }

  @Test
  void unreliableMessagesTakeAsManyDatagramsAsTheyNeed() {
    beginAndExchange();
    config(client, 5, LaneKind.UNRELIABLE);
    String text = "x".repeat(500);
    IntStream.range(0, 7).forEach(i -> queue(client, 5, text));
    client.flush();
    List<ByteBuf> packets = client.packets();
    assertEquals(4, packets.size());
    server.take(client, packets);
    assertEquals(7, received.size());
  }

  @Test
  void largestUnreliableMessageFillsADatagram() {
    beginAndExchange();
    config(client, 5, LaneKind.UNRELIABLE);
    int max = client.session.lanes().lane(5).maxMessageBytes();
    queue(client, 5, "x".repeat(max));
    client.flush();
    List<ByteBuf> packets = client.packets();
    assertEquals(1200, packets.get(0).readableBytes());
    server.take(client, packets);
    assertEquals(1, received.size());
    assertThrows(IllegalArgumentException.class, () -> queue(client, 5, "x".repeat(max + 1)));
  }

  @Test
  void messageThatHasBecomeTooLargeIsDropped() {
    beginAndExchange();
    config(client, 5, LaneKind.UNRELIABLE);
    queue(client, 5, "x".repeat(1_000));
    queue(client, 5, "b");
    KcpConfig smaller = client.config.toBuilder().mtuBytes(500).build();
    client.session.reconfigure(smaller, FecConfig.NONE);
    client.flush();
    server.take(client, client.packets());
    assertEquals(List.of("5:b"), received);
    assertTrue(fates.get(0).endsWith(" TOO_LARGE"), fates.toString());
  }

  @Test
  void unreliableMessagesArriveOnceInAnyOrder() {
    beginAndExchange();
    config(client, 5, LaneKind.UNRELIABLE);
    List<ByteBuf> packets = new ArrayList<>();
    for (int i = 0; i < 4; i++) {
      queue(client, 5, "" + i);
      client.flush();
      packets.addAll(client.packets());
    }
    server.take(client, List.of(packets.get(2), packets.get(0), packets.get(2), packets.get(1)));
    server.take(client, packets);
    assertEquals(List.of("5:2", "5:0", "5:1", "5:3"), received);
  }

  @Test
  void sequencedMessagesThatAreOlderThanOneThatHasArrivedAreDropped() {
    beginAndExchange();
    config(client, 5, LaneKind.UNRELIABLE_SEQUENCED);
    List<ByteBuf> packets = new ArrayList<>();
    for (int i = 0; i < 4; i++) {
      queue(client, 5, "" + i);
      client.flush();
      packets.addAll(client.packets());
    }
    server.take(client, List.of(packets.get(1), packets.get(0), packets.get(1), packets.get(3)));
    server.take(client, List.of(packets.get(2)));
    assertEquals(List.of("5:1", "5:3"), received);
  }

  @Test
  void numbersOfUnreliableMessagesWrap() {
    beginAndExchange();
    config(client, 5, LaneKind.UNRELIABLE_SEQUENCED);
    for (int i = 0; i < 70_000; i++) {
      queue(client, 5, "");
      client.flush();
      server.take(client, client.packets());
    }
    assertEquals(70_000, received.size());
  }

  /**
   * Sends empty messages on lane 5, which arrive unless they are lost; returns the first packet.
   */
  private ByteBuf sendMany(int messages, boolean areLost) {
    ByteBuf first = null;
    for (int i = 0; i < messages; i++) {
      queue(client, 5, "");
      client.flush();
      List<ByteBuf> packets = client.packets();
      first = first == null ? packets.get(0) : first;
      if (!areLost) {
        server.take(client, packets);
      }
    }
    fates.clear();
    return first;
  }

  @ParameterizedTest
  @EnumSource(names = {"UNRELIABLE", "UNRELIABLE_SEQUENCED"})
  void replayedMessageIsNeverDeliveredAgainAndStopsNothing(LaneKind kind) {
    beginAndExchange();
    config(client, 5, kind);
    ByteBuf recorded = sendMany(40_000, false);
    assertEquals(40_000, received.size());
    server.take(client, List.of(recorded));
    assertEquals(40_000, received.size(), "delivered again");
    sendMany(100, false);
    assertEquals(40_100, received.size(), "the lane has stopped");
  }

  @Test
  void replayedMessageDoesNotTurnALaneThatHasEndedUnreliable() {
    beginAndExchange();
    config(client, 5, LaneKind.UNRELIABLE);
    ByteBuf recorded = sendMany(40_000, false);
    client.session.lanes().lane(5).shutdownOutput();
    client.flush();
    exchange(3);
    received.clear();
    server.take(client, List.of(recorded));
    config(client, 5, LaneKind.RELIABLE_ORDERED);
    for (int i = 0; i < 100; i++) {
      queue(client, 5, "" + i);
    }
    client.flush();
    exchange(3);
    assertEquals(100, received.size());
    assertEquals(0, server.count(KcpCounter.LANE_FRAMES_REFUSED));
  }

  @ParameterizedTest
  @EnumSource(names = {"UNRELIABLE", "UNRELIABLE_SEQUENCED"})
  void messageBehind100000LostOnesIsDelivered(LaneKind kind) {
    beginAndExchange();
    config(client, 5, kind);
    sendMany(1, false);
    sendMany(100_000, true);
    received.clear();
    sendMany(1, false);
    assertEquals(List.of("5:"), received);
  }

  @Test
  void numbersOf32BitsWrap() {
    beginAndExchange();
    config(client, 5, LaneKind.UNRELIABLE);
    LaneNumbers.set(client.session.lanes().lane(5), server.session.lanes().lane(5), -2);
    ByteBuf recorded = sendMany(1, false);
    sendMany(3, false);
    server.take(client, List.of(recorded));
    assertEquals(4, received.size());
  }

  @Test
  void oldestUnreliableMessageOfALaneIsDroppedForTheNewest() {
    client.lanes = LanesConfig.builder().unreliableQueue(2).build();
    server.lanes = client.lanes;
    server.driver.onProgress = session -> {};
    beginAndExchange();
    config(client, 5, LaneKind.UNRELIABLE);
    config(client, 6, LaneKind.UNRELIABLE);
    queue(client, 6, "other");
    for (int i = 0; i < 4; i++) {
      queue(client, 5, "" + i);
    }
    assertEquals(List.of("0 QUEUE_FULL", "1 QUEUE_FULL"), fates);
    client.flush();
    for (int i = 4; i < 6; i++) {
      queue(client, 5, "" + i);
    }
    client.flush();
    server.take(client, client.packets());
    read(server.session);
    assertEquals(List.of("6:other", "5:4", "5:5"), received);
    assertEquals(2, server.count(KcpCounter.UNRELIABLE_DROPPED));
  }

  @Test
  void unreliableMessagesWaitUntilThePeerHasLanes() {
    begin();
    config(client, 5, LaneKind.UNRELIABLE);
    queue(client, 5, "a");
    exchange(3);
    assertEquals(List.of("5:a"), received);
  }

  @Test
  void endOfAnUnreliableLaneFollowsItsMessages() {
    beginAndExchange();
    config(client, 5, LaneKind.UNRELIABLE);
    queue(client, 5, "a");
    client.session.lanes().lane(5).shutdownOutput();
    client.flush();
    List<ByteBuf> packets = client.packets();
    exchange(4);
    server.take(client, packets); // Older than the end.
    assertEquals(List.of("5:end"), received);
    assertTrue(client.session.lanes().lane(5).isOutputOpen());
    queue(client, 5, "b");
    client.flush();
    exchange(1);
    assertEquals(List.of("5:end", "5:b"), received);
  }

  @Test
  void lateMessageOfAnUnreliableLaneDoesNotConcernTheNextKind() {
    beginAndExchange();
    config(client, 5, LaneKind.UNRELIABLE);
    queue(client, 5, "a");
    client.flush();
    List<ByteBuf> late = client.packets();
    client.session.lanes().lane(5).shutdownOutput();
    client.flush();
    exchange(2);
    server.take(client, late);
    assertNull(server.session.lanes().lane(5).inputKind());
    config(client, 5, LaneKind.RELIABLE_ORDERED);
    queue(client, 5, "b");
    client.flush();
    exchange(2);
    assertEquals(List.of("5:end", "5:b"), received);
  }

  /** What the client asks the server then leaves no room for the message in its datagram. */
  @Test
  void largestUnreliableMessageLeavesThoughTheServerIsSilent() {
    beginAndExchange();
    config(client, 5, LaneKind.UNRELIABLE);
    queue(client, 1, "a");
    client.flush();
    client.runTo(client.nowUs + 2_000_000);
    client.packets();
    queue(client, 5, "x".repeat(client.session.lanes().lane(5).maxMessageBytes()));
    client.flush();
    assertTrue(fates.get(fates.size() - 1).endsWith("x sent"), "sent");
    assertTrue(client.packets().size() <= 3);
  }

  /** The answer to the end of the peer leaves no room in its datagram for what was planned. */
  @Test
  void unreliableMessageOfAFlushThatHasFailedLeavesBehindAnAnswer() {
    beginAndExchange();
    config(client, 5, LaneKind.UNRELIABLE);
    queue(client, 5, "x".repeat(client.session.lanes().lane(5).maxMessageBytes()));
    client.failingOutputs = 1;
    assertThrows(OutOfMemoryError.class, client::flush);
    assertEquals(List.of(), client.packets());
    server.session.shutdownOutput(server.nowUs);
    server.flush();
    client.take(server, server.packets());
    client.flush();
    List<ByteBuf> packets = client.packets();
    assertEquals(TO_SERVER + "070100" + "04", messages(packets).get(0));
    assertEquals(2, packets.size());
    assertEquals(1200, packets.get(1).readableBytes());
    server.take(client, packets);
    assertEquals(1, received.size());
    assertTrue(client.session.isInputFinished());
  }

  @Test
  void unreliableMessagesCountAsPayloadForTheIdleTimeout() {
    beginAndExchange();
    config(client, 5, LaneKind.UNRELIABLE);
    TestDriver.configure(server.session, config -> config.idleTimeoutMs(2_000));
    for (int i = 0; i < 5; i++) {
      server.runTo(server.nowUs + 1_000_000);
      queue(client, 5, "a");
      client.flush();
      server.take(client, client.packets());
    }
    assertEquals(List.of(), server.ends);
    server.runTo(server.nowUs + 4_000_000);
    assertEquals(List.of(EndReason.IDLE_TIMEOUT), server.ends);
  }

  // The end of the session

  @Test
  void closeFollowsTheMessagesThatWait() {
    beginAndExchange();
    for (int i = 0; i < 100; i++) {
      queue(client, i, "x".repeat(3_000));
    }
    client.session.sendClose(client.nowUs);
    client.flush();
    exchange(1);
    assertFalse(server.session.isInputFinished());
    exchange(30);
    assertEquals(100, received.size());
    assertTrue(server.session.isInputFinished());
  }

  @Test
  void inputIsFinishedWhenAllLanesHaveBeenRead() {
    server.driver.onProgress = session -> {};
    beginAndExchange();
    queue(client, 1, "a");
    client.session.lanes().lane(1).shutdownOutput();
    client.session.shutdownOutput(client.nowUs);
    client.flush();
    exchange(2);
    assertFalse(server.session.isInputFinished());
    server.session.lanes().lane(1).receive().release();
    assertFalse(server.session.isInputFinished(), "the end of the lane has not been taken");
    read(server.session);
    assertEquals(List.of("1:end"), received);
    assertTrue(server.session.isInputFinished());
  }

  private void limitTheClient() {
    client.lanes = LanesConfig.builder().maxLanes(8).budgetBytes(65_536).build();
  }

  /** The server sends ten times the budget of a client that reads everything. */
  private void sendTenBudgets() {
    for (int i = 0; i < 220; i++) {
      queue(server, 1, "x".repeat(3_000));
    }
    server.flush();
  }

  @Test
  void sideThatHasEndedItsOutputReportsWhatItHasRead() {
    limitTheClient();
    beginAndExchange();
    queue(client, 1, "a");
    client.session.shutdownOutput(client.nowUs);
    client.flush();
    exchange(2);
    assertTrue(server.session.isInputFinished());
    received.clear();
    sendTenBudgets();
    exchange(40);
    assertEquals(220, received.size());
    server.session.lanes().lane(1).shutdownOutput();
    server.flush();
    exchange(2);
    assertTrue(server.session.lanes().lane(1).isOutputOpen(), "the end was answered");
    queue(server, 1, "b");
    server.session.sendClose(server.nowUs);
    server.flush();
    exchange(2);
    assertEquals(List.of("1:end", "1:b"), received.subList(220, 222));
    assertTrue(server.session.isInputFinished());
    assertTrue(client.session.isInputFinished());
    assertEquals(0, server.count(KcpCounter.LANE_FRAMES_REFUSED));
  }

  /** The final sequence number includes the reports that have left before. */
  @Test
  void endOfTheOutputIsTakenThoughReportsHaveArrivedBeforeIt() {
    limitTheClient();
    beginAndExchange();
    client.session.shutdownOutput(client.nowUs);
    client.flush();
    List<ByteBuf> fin = new ArrayList<>(client.packets());
    client.runTo(client.nowUs + 5_000);
    fin.addAll(client.packets()); // With its copies.
    sendTenBudgets();
    client.take(server, server.packets());
    server.take(client, client.packets());
    assertFalse(server.session.isInputFinished());
    server.take(client, fin);
    assertFalse(server.session.isInputFinished(), "below what has been received");
    exchange(40);
    assertEquals(220, received.size());
    assertTrue(server.session.isInputFinished());
  }

  @Test
  void closingTheSessionDropsWhatWaits() {
    begin();
    config(client, 5, LaneKind.UNRELIABLE);
    queue(client, 5, "u");
    queue(client, 1, "r");
    client.session.close();
    assertEquals(List.of("r SESSION_CLOSED", "u SESSION_CLOSED"), fates);
  }

  @Test
  void sessionsWithoutLanesHaveNone() {
    client.config = KcpConfig.DEFAULT;
    client.open(server);
    assertNull(client.session.lanes());
    Kcp kcp = client.session.kcp();
    assertThrows(
        IllegalStateException.class,
        () -> client.driver.table.offerLanes(client.session, LanesConfig.DEFAULT, 1));
    assertTrue(kcp.isSendable());
  }

  @Test
  void lanesThatComeToRestHaveNoDeadline() {
    beginAndExchange();
    queue(client, 1, "a");
    client.flush();
    exchange(10);
    assertEquals(Time.NO_DEADLINE, client.session.kcp().nextDeadline());
    assertEquals(Time.NO_DEADLINE, server.session.kcp().nextDeadline());
    assertTrue(client.session.kcp().isQuiescent());
  }
}
