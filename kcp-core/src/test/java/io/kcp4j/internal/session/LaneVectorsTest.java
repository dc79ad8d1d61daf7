package io.kcp4j.internal.session;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kcp4j.Delivery;
import io.kcp4j.KcpConfig;
import io.kcp4j.KcpCounter;
import io.kcp4j.internal.lanes.Lane;
import io.kcp4j.internal.lanes.OutboundMessage;
import io.kcp4j.internal.wire.Segment;
import io.kcp4j.lanes.LaneConfig;
import io.kcp4j.lanes.LaneKind;
import io.kcp4j.lanes.LanesConfig;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** The vectors of protocol.md 15: sessions write and read these bytes. */
class LaneVectorsTest {

  private static final Path PAGE = Path.of("../src/docs/protocol.md");

  // As they are on the page.

  private static final String OFFER = "4b01 010800 8877665544332211 0f0600 0004 00004000";
  private static final String ANSWER =
      "4b01 030800 8877665544332211 020800 00ffeeddccbbaa99"
          + " 120700 00000000 12 5300 0f0600 0a00 00000100";
  private static final String CONFIRMATION = "4b01 030800 00ffeeddccbbaa99 120700 cc444444 12 5300";
  private static final String TWO_MESSAGES = "49 03 07 02 6869 4a ac02 01 03 686579";
  private static final String LAST_WITHOUT_LENGTH = "49 03 07 02 6869 0a ac02 01 686579";
  private static final String NUMBER_OF_16_BITS = "02 05 0700 61";
  private static final String NUMBER_OF_32_BITS = "22 05 409c0000 61";
  private static final String FRAGMENT = "5a 05 02 b817 b717 01 61";
  private static final String FRAGMENT_WITHOUT_LENGTH = "1a 05 02 b817 b717 61";
  private static final String CONSUMED = "03 03 80000000";
  private static final String FIN = "04 05 02000000 00";
  private static final String FIN_OF_CUT_MESSAGE = "04 05 02000000 da0a";
  private static final String FIN_ACK = "05 05";
  private static final String STOP = "06 05 02000000";
  private static final String UNRELIABLE_FIN = "07 09 64000000";
  private static final String UNRELIABLE_MESSAGES =
      "4b01 030800 00ffeeddccbbaa99 130700 0500 00000000 62 140800 2c01 00000000 6364"
          + " 130700 0500 01000000 65";
  private static final String WITH_NUMBERS_OF_16_BITS =
      "4b01 030800 00ffeeddccbbaa99 100500 0500 0000 62 110600 2c01 0000 6364 100500 0500 0100 65";

  private static final int FIRST_FRAGMENT_BYTES = 1370;

  private final VirtualHost client = new VirtualHost(1);
  private final VirtualHost server = new VirtualHost(2);

  /** What both sides have read. */
  private final List<String> received = new ArrayList<>();

  /** The payload of each PUSH of either side since {@link #open}. */
  private final List<String> payloads = new ArrayList<>();

  /** Whether the client is of an earlier version, as the server sees it. */
  private boolean isEarlierClient;

  /** Of crafted segments. */
  private int sn;

  LaneVectorsTest() {
    for (VirtualHost host : List.of(client, server)) {
      host.config = KcpConfig.builder().delivery(Delivery.LANES).build();
      host.driver.onProgress = this::read;
    }
    client.token = 0x1122_3344_5566_7788L;
    server.token = 0x99aa_bbcc_ddee_ff00L;
  }

  private void read(Session session) {
    for (Lane lane; (lane = session.lanes().nextNews()) != null; ) {
      for (ByteBuf message; (message = lane.receive()) != null; message.release()) {
        boolean isShort = message.readableBytes() < 10;
        String text = message.toString(StandardCharsets.US_ASCII);
        received.add(lane.id() + ":" + (isShort ? text : text.length() + " bytes"));
      }
      if (lane.takeInputEnd()) {
        received.add(lane.id() + ":end");
      }
    }
  }

  private void open() {
    client.open(server);
    client.flush();
    exchange(3);
    assertTrue(client.session.lanes().isOpen() && server.session.lanes().isOpen());
    payloads.clear();
    sn = 1; // The preface was 0.
  }

  private void exchange(int roundTrips) {
    for (int i = 0; i < roundTrips; i++) {
      server.runTo(server.nowUs + 10_000);
      server.take(client, sent(client));
      client.runTo(client.nowUs + 10_000);
      client.take(server, sent(server));
    }
  }

  private List<ByteBuf> sent(VirtualHost host) {
    List<ByteBuf> packets = host.packets();
    if (isEarlierClient && host == client) {
      packets = packets.stream().map(EarlierPeerTest::withoutParameters).toList();
    }
    packets.forEach(this::notePayloads);
    return packets;
  }

  private void notePayloads(ByteBuf packet) {
    int index = 0;
    while (index < packet.writerIndex()) {
      int bytes = Segment.length(packet, index);
      if (Segment.cmd(packet, index) == Segment.PUSH) {
        payloads.add(ByteBufUtil.hexDump(packet, index + Segment.HEADER_BYTES, bytes));
      }
      index += Segment.HEADER_BYTES + bytes;
    }
  }

  private static String hex(String vector) {
    return vector.replace(" ", "");
  }

  private void assertSent(String vector) {
    assertTrue(payloads.contains(hex(vector)), vector + ": " + payloads);
  }

  private static Lane lane(VirtualHost host, int id) {
    return host.session.lanes().lane(id);
  }

  private static void configure(VirtualHost host, int id, LaneKind kind) {
    lane(host, id).config(LaneConfig.of(kind));
  }

  private static void queue(VirtualHost host, int id, String text) {
    lane(host, id)
        .send(
            new OutboundMessage(Unpooled.copiedBuffer(text, StandardCharsets.US_ASCII)) {
              @Override
              protected void sent() {}

              @Override
              protected void dropped(Drop reason) {}
            });
  }

  private void send(VirtualHost host, int id, String... texts) {
    for (String text : texts) {
      queue(host, id, text);
    }
    host.flush();
    exchange(3);
  }

  /** The server receives a segment with these frames. */
  private void receive(String frames) {
    byte[] payload = ByteBufUtil.decodeHexDump(hex(frames));
    ByteBuf datagram = Unpooled.buffer(1400);
    int ts = client.tsOrigin + (int) (client.nowUs / 1_000);
    Segment.write(datagram, VirtualHost.CONV, Segment.PUSH, 0, 128, ts, sn++, 0, payload.length);
    server.take(client, List.of(datagram.writeBytes(payload)));
  }

  private void assertNothingRefused() {
    assertEquals(0, server.count(KcpCounter.LANE_FRAMES_REFUSED));
  }

  @Test
  void vectorsAreThoseOfThePage() throws IOException {
    String page = Files.readString(PAGE);
    String section = page.substring(page.indexOf("## 15. Lanes"));
    List<String> vectors =
        List.of(
            OFFER,
            ANSWER,
            CONFIRMATION,
            TWO_MESSAGES,
            LAST_WITHOUT_LENGTH,
            NUMBER_OF_16_BITS,
            NUMBER_OF_32_BITS,
            FRAGMENT,
            FRAGMENT_WITHOUT_LENGTH,
            CONSUMED,
            FIN,
            FIN_OF_CUT_MESSAGE,
            FIN_ACK,
            STOP,
            UNRELIABLE_FIN,
            UNRELIABLE_MESSAGES,
            WITH_NUMBERS_OF_16_BITS);
    assertEquals(vectors, section.lines().filter(line -> line.matches("[0-9a-f ]+")).toList());
  }

  // Offer and answer

  @Test
  void offerFollowsAPrefaceAndIsAnswered() {
    server.lanes = LanesConfig.builder().maxLanes(10).budgetBytes(65_536).build();
    client.open(server);
    client.flush();
    List<ByteBuf> first = sent(client);
    assertEquals(List.of("00"), payloads);
    assertEquals(hex(OFFER), ByteBufUtil.hexDump(VirtualHost.message(first.get(0))));
    server.take(client, first);
    server.runTo(server.nowUs + 20_000);
    ByteBuf answer = server.packets().get(0);
    assertEquals(hex(ANSWER), ByteBufUtil.hexDump(VirtualHost.message(answer)));
    client.take(server, List.of(answer));
    ByteBuf confirmation = client.packets().get(0);
    assertEquals(hex(CONFIRMATION), ByteBufUtil.hexDump(VirtualHost.message(confirmation)));
    assertEquals(64 * 1024 / 8 - 64, lane(client, 9).maxMessageBytes());
  }

  // Messages

  @Test
  void messagesOfSeveralLanesShareASegment() {
    open();
    lane(client, 3).config(LaneConfig.DEFAULT.withPriority(0));
    configure(client, 300, LaneKind.RELIABLE_UNORDERED);
    send(client, 3, "0", "1", "2", "3", "4", "5", "6");
    send(client, 300, "0");
    received.clear();
    queue(client, 3, "hi");
    send(client, 300, "hey");
    assertSent(TWO_MESSAGES);
    assertEquals(List.of("3:hi", "300:hey"), received);
  }

  @Test
  void lengthOfTheLastMessageMayBeLeftOut() {
    open();
    for (int number = 0; number < 7; number++) {
      receive("49 03 0" + number + " 01 61");
    }
    received.clear();
    receive(LAST_WITHOUT_LENGTH);
    assertEquals(List.of("3:hi", "300:hey"), received);
    assertNothingRefused();
  }

  @Test
  void numbersOf16And32BitsAreRead() {
    open();
    receive(NUMBER_OF_16_BITS);
    receive(NUMBER_OF_32_BITS);
    assertEquals(List.of("5:a", "5:a"), received);
    receive(NUMBER_OF_16_BITS);
    assertEquals(1, server.count(KcpCounter.LANE_FRAMES_REFUSED), "the same number");
  }

  @Test
  void lastFragmentCompletesAMessage() {
    for (String last : List.of(FRAGMENT, FRAGMENT_WITHOUT_LENGTH)) {
      LaneVectorsTest test = new LaneVectorsTest();
      test.open();
      test.receive(last);
      test.receive("1a 05 02 b817 00" + "61".repeat(FIRST_FRAGMENT_BYTES));
      assertEquals(List.of(), test.received);
      int rest = 2_999 - FIRST_FRAGMENT_BYTES;
      test.receive("1a 05 02 b817 da0a" + "61".repeat(1_000));
      test.receive("1a 05 02 b817 c212" + "61".repeat(rest - 1_000));
      assertEquals(List.of("5:3000 bytes"), test.received);
      test.assertNothingRefused();
    }
  }

  // Control frames

  @Test
  void consumedHasTheSizesOfMessagesAnd64BytesForEach() {
    server.lanes = LanesConfig.builder().maxLanes(4).budgetBytes(2_048).build();
    open();
    send(client, 3, "x".repeat(64));
    assertSent(CONSUMED);
    assertEquals(0, lane(client, 3).stats().outstandingBytes());
  }

  @Test
  void finHasTheNumberOfTheNextMessageAndIsAnsweredWhenAllIsRead() {
    open();
    send(client, 5, "a", "b");
    lane(client, 5).shutdownOutput();
    assertFalse(lane(client, 5).isOutputOpen());
    client.flush();
    exchange(3);
    assertSent(FIN);
    assertEquals(List.of("5:a", "5:b", "5:end"), received);
    assertSent(FIN_ACK);
    assertTrue(lane(client, 5).isOutputOpen());
  }

  @Test
  void finOfAnAbortedLaneHasHowMuchOfTheLastMessageWasSent() {
    client.config = client.config.toBuilder().mtuBytes(1400).sendWindow(1).build();
    open();
    send(client, 5, "a");
    queue(client, 5, "x".repeat(3_000));
    client.flush();
    lane(client, 5).abortOutput();
    client.flush();
    exchange(3);
    assertSent(FIN_OF_CUT_MESSAGE);
    assertEquals(List.of("5:a", "5:end"), received);
  }

  @Test
  void stopHasTheLowestNumberThatIsMissing() {
    open();
    send(client, 5, "a", "b");
    lane(server, 5).discardInput();
    server.flush();
    exchange(3);
    assertSent(STOP);
    assertSent(FIN);
    assertTrue(lane(client, 5).takeOutputStop());
    assertTrue(lane(client, 5).isUnused());
  }

  @Test
  void endOfAnUnreliableLaneIsASegment() {
    open();
    configure(client, 9, LaneKind.UNRELIABLE);
    for (int i = 0; i < 100; i++) {
      queue(client, 9, "");
      client.flush();
    }
    lane(client, 9).shutdownOutput();
    client.flush();
    exchange(3);
    assertSent(UNRELIABLE_FIN);
    assertEquals("9:end", received.get(received.size() - 1));
    assertSent("05 09");
  }

  // Unreliable messages

  @Test
  void unreliableMessagesAreItemsOfOneMessage() {
    assertUnreliableMessages(UNRELIABLE_MESSAGES);
  }

  @Test
  void numbersTowardsAnEarlierPeerHave16Bits() {
    isEarlierClient = true;
    assertUnreliableMessages(WITH_NUMBERS_OF_16_BITS);
  }

  private void assertUnreliableMessages(String vector) {
    open();
    configure(client, 5, LaneKind.UNRELIABLE);
    configure(client, 300, LaneKind.UNRELIABLE_SEQUENCED);
    queue(client, 5, "b");
    queue(client, 300, "cd");
    queue(client, 5, "e");
    client.flush();
    List<ByteBuf> packets = client.packets();
    assertEquals(1, packets.size());
    assertEquals(hex(vector), ByteBufUtil.hexDump(VirtualHost.message(packets.get(0))));
    server.take(client, packets);
    assertEquals(List.of("300:cd", "5:b", "5:e"), received.stream().sorted().toList());
  }
}
