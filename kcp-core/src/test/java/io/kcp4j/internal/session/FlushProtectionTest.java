package io.kcp4j.internal.session;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kcp4j.AckSample;
import io.kcp4j.CongestionControl;
import io.kcp4j.Delivery;
import io.kcp4j.KcpConfig;
import io.kcp4j.KcpCounter;
import io.kcp4j.KcpCounters;
import io.kcp4j.LossDetection;
import io.kcp4j.LossSample;
import io.kcp4j.fec.FecConfig;
import io.kcp4j.internal.arq.Kcp;
import io.kcp4j.internal.arq.KcpContext;
import io.kcp4j.internal.fec.FecContext;
import io.kcp4j.internal.fec.FecDecoder;
import io.kcp4j.internal.fec.FecPacket;
import io.kcp4j.internal.memory.MemoryAccount;
import io.kcp4j.internal.memory.MemoryBudget;
import io.kcp4j.internal.wire.DatagramOutput;
import io.kcp4j.internal.wire.Segment;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.buffer.UnpooledByteBufAllocator;
import io.netty.util.NetUtil;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/**
 * A session whose groups are aligned with its flushes, and whose peer is the test. Packets are
 * written as text: "D313" a data packet with 313 bytes of payload, "P345" parity with a shard of
 * 345 bytes, "F" a filler, and plain datagrams "313", "ack", "313+ack".
 */
class FlushProtectionTest {

  private static final InetSocketAddress REMOTE = new InetSocketAddress(NetUtil.LOCALHOST, 1111);
  private static final FecConfig DELAYED_COPY =
      FecConfig.adaptive().toBuilder().delayedCopyMs(5).build();
  private static final long MS = 1_000;
  private static final long TICK_US = 16_667;

  /** How many segments a session has sent before a test. */
  private static final int FIRST_SN = 20;

  private final KcpContext context =
      new KcpContext(
          new UnpooledByteBufAllocator(true, true), MemoryBudget.unlimited(), new KcpCounters());
  private final TimerWheel deadlines = new TimerWheel(0);
  private final TestDriver driver;
  private final SessionTable table;
  private final List<ByteBuf> packets = new ArrayList<>();
  private Session session;
  private int conv;
  private long nowUs;

  FlushProtectionTest() {
    driver = TestDriver.builder(context).deadlines(deadlines).build();
    driver.output = remote -> new Output();
    table = driver.table;
    openAnswered(config(), FecConfig.adaptive());
  }

  private final class Output implements DatagramOutput {
    @Override
    public ByteBuf begin(int maxBytes) {
      packets.add(Unpooled.buffer(maxBytes, maxBytes));
      return packets.get(packets.size() - 1);
    }

    @Override
    public void end() {}
  }

  /** Without copies of retransmissions, and with acknowledgements that wait. */
  private static KcpConfig.Builder config() {
    return KcpConfig.builder()
        .mtuBytes(1400)
        .sendWindow(512)
        .noDelay(false)
        .lossDetection(LossDetection.FAST_RETRANSMIT)
        .congestionControl(CongestionControl.NONE);
  }

  /** Ends the session, if there is one, and begins another one. */
  private void open(KcpConfig.Builder config, FecConfig fec) {
    if (session != null) {
      table.remove(session, nowUs);
      session.close();
    }
    conv++;
    KcpConfig settings = config.build();
    session = driver.newSession(REMOTE, new Kcp(conv, settings, context, 0));
    session.reconfigure(settings, fec);
    table.add(session, nowUs);
    receive(Segment.WINS, 0, 0);
  }

  /** The same, and the peer answers several segments after 50 ms each, without variation. */
  private void openAnswered(KcpConfig.Builder config, FecConfig fec) {
    open(config, FecConfig.NONE);
    for (int sn = 0; sn < FIRST_SN; sn++) {
      flush(10);
      int ts = (int) (nowUs / MS);
      nowUs += 50 * MS;
      receive(Segment.ACK, ts, sn, sn + 1);
    }
    session.reconfigure(session.kcp().config(), fec);
    runFor(50 * MS);
    sent();
  }

  @AfterEach
  void closingHoldsNothing() {
    session.close();
    assertEquals(0, context.budget().usedBytes());
  }

  /** A segment of the peer, which has received everything below {@code una}. */
  private void receive(int cmd, int sn, int una) {
    receive(cmd, 0, sn, una);
  }

  private void receive(int cmd, int ts, int sn, int una) {
    ByteBuf datagram = Unpooled.buffer();
    Segment.write(datagram, conv, cmd, 0, 512, ts, sn, una, 0);
    table.receive(REMOTE, datagram, nowUs);
    table.endBatch(nowUs);
  }

  private void acknowledgeAll() {
    receive(Segment.WINS, 0, nextSn());
  }

  private int nextSn() {
    int next = FIRST_SN;
    for (ByteBuf packet : packets) {
      int index = isFec(packet) ? FecPacket.DATA_HEADER_BYTES : 0;
      if (index > 0 && FecPacket.type(packet, 0) == FecPacket.PARITY) {
        continue;
      }
      for (; index < packet.writerIndex(); index += 24 + Segment.length(packet, index)) {
        if (Segment.cmd(packet, index) == Segment.PUSH) {
          next = Math.max(next, Segment.sn(packet, index) + 1);
        }
      }
    }
    return next;
  }

  private void flush(int... writes) {
    for (int bytes : writes) {
      assertTrue(session.kcp().send(Unpooled.buffer().writeZero(bytes)));
    }
    table.scheduleFlush(session);
    table.flushPending(nowUs);
  }

  private void runFor(long us) {
    long untilUs = nowUs + us;
    while (deadlines.nextDeadline() <= untilUs) {
      nowUs = Math.max(nowUs, deadlines.nextDeadline());
      deadlines.advance(nowUs);
      table.flushPending(nowUs);
    }
    nowUs = untilUs;
    deadlines.advance(nowUs);
  }

  /** A tick whose datagrams the peer acknowledges before the next. */
  private List<String> tick(int... writes) {
    flush(writes);
    acknowledgeAll();
    List<String> sent = sent();
    runFor(TICK_US);
    sent.addAll(sent());
    return sent;
  }

  private void ticks(int count, int... writes) {
    for (int i = 0; i < count; i++) {
      tick(writes);
    }
  }

  // Packets as text

  private static boolean isFec(ByteBuf packet) {
    return FecPacket.isFec(FecPacket.type(packet, 0));
  }

  private List<String> sent() {
    List<String> sent = new ArrayList<>(packets.stream().map(this::text).toList());
    packets.clear();
    return sent;
  }

  private String text(ByteBuf packet) {
    if (!isFec(packet)) {
      return segments(packet, 0);
    }
    return FecPacket.type(packet, 0) == FecPacket.PARITY
        ? "P" + (packet.writerIndex() - FecPacket.HEADER_BYTES)
        : "D" + segments(packet, FecPacket.DATA_HEADER_BYTES);
  }

  private static String segments(ByteBuf packet, int index) {
    List<String> segments = new ArrayList<>();
    for (; index < packet.writerIndex(); index += 24 + Segment.length(packet, index)) {
      switch (Segment.cmd(packet, index)) {
        case Segment.PUSH -> segments.add("" + Segment.length(packet, index));
        case Segment.ACK -> segments.add("ack");
        default -> segments.add("F");
      }
    }
    return String.join("+", segments);
  }

  private static List<String> list(String packets) {
    return List.of(packets.split(" "));
  }

  // Groups

  @Test
  void sessionThatThePeerHasNotAnsweredSendsCopies() {
    open(config(), FecConfig.adaptive());
    assertEquals(list("1250 1250"), tick(1250));
    assertEquals(list("1250 1250 1250 1250"), tick(2500));
    openAnswered(config(), FecConfig.adaptive());
    assertEquals(list("D313 D313 D313 D311 P339 P339 P339"), tick(1250));
  }

  @Test
  void flushIsAGroupWithParity() {
    for (int i = 0; i < 3; i++) {
      assertEquals(list("D313 D313 D313 D311 P339 P339 P339"), tick(1250), "training");
    }
    assertEquals(list("D313 D313 D313 D311 P339"), tick(1250));
    assertEquals(list("D625 D625 D625 D625 P651"), tick(2500));
  }

  /** Has no limits, and knows of a queue if the test says so. */
  private static final class QueueWitness implements CongestionControl {

    boolean isQueueStanding;

    @Override
    public int window() {
      return 1000;
    }

    @Override
    public boolean isQueueStanding() {
      return isQueueStanding;
    }

    @Override
    public void onAck(AckSample sample) {}

    @Override
    public void onLoss(LossSample sample) {}

    @Override
    public void onMssChanged(int mssBytes) {}
  }

  @Test
  void flushHasNoParityWhileAQueueStandsOnThePath() {
    QueueWitness witness = new QueueWitness();
    openAnswered(config().congestionControl(mss -> witness), FecConfig.adaptive());
    ticks(3, 1250);
    witness.isQueueStanding = true;
    assertEquals(list("1250"), tick(1250));
    witness.isQueueStanding = false;
    assertEquals(list("D313 D313 D313 D311 P339"), tick(1250));
  }

  @Test
  void fixedRatioKeepsItsParityWhileAQueueStandsOnThePath() {
    QueueWitness witness = new QueueWitness();
    witness.isQueueStanding = true;
    FecConfig fixed = FecConfig.of(3, 2).toBuilder().flushAligned(true).build();
    openAnswered(config().congestionControl(mss -> witness), fixed);
    assertEquals(5, tick(1250).size());
  }

  @Test
  void largerFlushIsSeveralGroups() {
    ticks(3, 1250);
    List<String> sent = tick(8000);
    assertEquals(list("D1000 D1000 D1000 D1000 P1026 D1000 D1000 D1000 D1000 P1026"), sent);
  }

  @Test
  void messagesShareTheDatagramsOfAGroup() {
    openAnswered(config().delivery(Delivery.MESSAGE), FecConfig.adaptive());
    int[] messages = new int[25];
    Arrays.fill(messages, 50);
    ticks(3, messages);
    List<String> sent = tick(messages);
    assertEquals(5, sent.size());
    assertEquals("D50+50+50+50+50+50+50", sent.get(0));
    assertEquals("D50+50+50+50", sent.get(3));
    assertEquals("P520", sent.get(4));
  }

  @Test
  void fixedRatioIsAlignedToo() {
    openAnswered(config(), FecConfig.of(3, 2).toBuilder().flushAligned(true).build());
    assertEquals(list("D417 D417 D416 P443 P443"), tick(1250));
    assertEquals(list("D417 D417 D416 P443 P443"), tick(1250));
  }

  @Test
  void groupsAreDecodedByAnyReceiver() {
    FecDecoder decoder =
        new FecDecoder(FecConfig.NONE, new FecContext(MemoryAccount.of(MemoryBudget.unlimited())));
    int recovered = 0;
    for (int i = 0; i < 100; i++) {
      flush(1250);
      acknowledgeAll();
      packets.remove(i % 4);
      for (ByteBuf packet : packets) {
        decoder.input(packet, 0, packet.writerIndex(), nowUs);
        for (ByteBuf datagram; (datagram = decoder.nextRecovered()) != null; recovered++) {
          assertEquals(conv, Segment.conv(datagram, datagram.readerIndex()));
          assertEquals(24 + 313, datagram.readableBytes(), 2);
        }
      }
      packets.clear();
      runFor(TICK_US);
    }
    assertTrue(recovered > 95, "recovered " + recovered);
  }

  // Bursts of several flushes

  /** What a server sends that answers each datagram of a tick. */
  private List<String> partsOfATick() {
    flush(313);
    runFor(500);
    flush(626);
    runFor(MS);
    flush(311);
    acknowledgeAll();
    List<String> sent = sent();
    runFor(TICK_US);
    sent.addAll(sent());
    return sent;
  }

  @Test
  void partsOfABurstShareAGroup() {
    for (int i = 0; i < 100; i++) {
      partsOfATick();
    }
    assertEquals(list("D313 D313 D313 D311 P339"), partsOfATick());
  }

  @Test
  void groupThatABurstLeavesIncompleteIsFilledAfterTheGap() {
    ticks(100, 1250);
    flush(313);
    assertEquals(list("D313"), sent());
    runFor(1_999);
    assertEquals(List.of(), sent());
    runFor(MS);
    assertEquals(list("DF DF DF P339"), sent());
    assertEquals(3, session.kcp().counters().get(KcpCounter.FEC_FILLERS_OUT));
    assertEquals(list("D313 D313 D313 D311 P339"), tick(1250));
  }

  @Test
  void gapRestartsWithEachFlush() {
    ticks(100, 1250);
    flush(313);
    runFor(1_500);
    flush(313);
    runFor(1_500);
    assertEquals(list("D313 D313"), sent());
    runFor(1_500);
    assertEquals(list("DF DF P339"), sent());
  }

  @Test
  void groupIsFilledThoughAllIsAcknowledged() {
    ticks(100, 1250);
    flush(313);
    acknowledgeAll();
    assertTrue(session.kcp().isDrained());
    runFor(3 * MS);
    assertEquals(list("D313 DF DF DF P339"), sent());
    runFor(5_000 * MS); // Probes: a WINS gives no round-trip time.
    assertEquals(Long.MAX_VALUE, deadlines.nextDeadline());
  }

  @Test
  void groupIsFilledBeforeTheSessionCloses() {
    ticks(100, 1250);
    assertTrue(session.kcp().send(Unpooled.buffer().writeZero(313)));
    table.flushNow(session, nowUs);
    assertEquals(list("D313 DF DF DF P339"), sent());
  }

  @Test
  void fillerHasTheNumbersOfTheDatagramBeforeIt() {
    ticks(100, 1250);
    receive(Segment.PUSH, 0, nextSn());
    flush(313);
    runFor(3 * MS);
    ByteBuf filler = packets.get(packets.size() - 2);
    assertEquals(Segment.WINS, Segment.cmd(filler, 8));
    assertEquals(conv, Segment.conv(filler, 8));
    assertEquals(1, Segment.una(filler, 8));
    assertEquals(256, Segment.wnd(filler, 8));
    assertEquals(0, Segment.length(filler, 8));
  }

  // What is not protected

  @Test
  void acknowledgementsAloneArePlain() {
    receive(Segment.PUSH, 0, 0);
    runFor(100 * MS);
    assertEquals(list("ack"), sent());
  }

  @Test
  void acknowledgementsJoinADatagramOfTheGroup() {
    ticks(3, 1250);
    receive(Segment.PUSH, 0, nextSn());
    assertEquals(list("Dack+313 D313 D313 D311 P363"), tick(1250));
  }

  @Test
  void retransmissionsArePlain() {
    ticks(3, 1250);
    flush(1250);
    sent();
    runFor(160 * MS);
    assertEquals(list("313+313+313+311"), sent());
    flush(1250);
    runFor(100 * MS);
    List<String> sent = sent();
    assertEquals(list("D313 D313 D313 D311 P339 P339"), sent.subList(0, 6));
  }

  @Test
  void bulkDataIsPlainAndNotSplit() {
    ticks(3, 1250);
    flush(100_000);
    List<String> sent = sent();
    assertEquals("1368", sent.get(0));
    assertTrue(sent.stream().noneMatch(packet -> packet.matches("[DP].*")), sent.toString());
  }

  // Copies

  @Test
  void tinyFlushIsCopied() {
    ticks(3, 50);
    long before = session.kcp().counters().get(KcpCounter.FEC_COPIES_OUT);
    assertEquals(list("50 50"), tick(50));
    assertEquals(before + 1, session.kcp().counters().get(KcpCounter.FEC_COPIES_OUT));
  }

  @Test
  void copyHasNoAcknowledgements() {
    ticks(3, 50);
    receive(Segment.PUSH, 0, nextSn());
    assertEquals(list("ack+50 50"), tick(50));
  }

  @Test
  void retransmissionIsNotCopied() {
    ticks(3, 50);
    flush(50);
    sent();
    runFor(140 * MS);
    nowUs += 30 * MS;
    flush(40);
    assertEquals(list("50 40 40"), sent().subList(0, 3));
  }

  @Test
  void tinyFlushIsAGroupInTraining() {
    assertEquals(7, tick(50).size());
    assertEquals(list("D13 D13 D13 D11 P39 P39 P39"), tick(50));
  }

  @Test
  void delayedCopiesReplaceGroups() {
    openAnswered(config(), DELAYED_COPY);
    flush(1250);
    assertEquals(list("1250"), sent());
    runFor(4_999);
    assertEquals(List.of(), sent());
    runFor(MS);
    assertEquals(list("1250"), sent());
    runFor(90 * MS);
    assertEquals(List.of(), sent());
  }

  @Test
  void severalDelayedCopiesAreEquallyApart() {
    FecConfig fixed = FecConfig.of(3, 2).toBuilder().flushAligned(true).delayedCopyMs(5).build();
    openAnswered(config(), fixed);
    flush(1250);
    acknowledgeAll();
    sent();
    runFor(6 * MS);
    assertEquals(list("1250"), sent());
    runFor(6 * MS);
    assertEquals(list("1250"), sent());
    runFor(100 * MS);
    assertEquals(List.of(), sent());
  }

  @Test
  void delayedCopyFlushesNothingElse() {
    openAnswered(config().intervalMs(50), DELAYED_COPY);
    flush(1250);
    receive(Segment.PUSH, 0, 0);
    sent();
    runFor(10 * MS);
    assertEquals(list("1250"), sent());
    runFor(50 * MS);
    assertEquals(list("ack"), sent());
  }

  // Losses

  @Test
  void lossesRaiseTheParity() {
    ticks(70, 1250);
    flush(1250);
    runFor(250 * MS);
    acknowledgeAll();
    sent();
    List<String> sent = tick(1250);
    sent.remove("0"); // A probe: a WINS gives no round-trip time.
    assertEquals(list("D313 D313 D313 D311 P339 P339"), sent);
  }

  @Test
  void spuriousRetransmissionsDoNotRaiseTheParity() {
    openAnswered(config().lossDetection(LossDetection.RACK), FecConfig.adaptive());
    ticks(70, 1250);
    int ts = (int) (nowUs / MS);
    flush(1250);
    int end = nextSn();
    runFor(200 * MS);
    assertTrue(session.kcp().counters().get(KcpCounter.RETRANSMITTED) > 0);
    for (int sn = end - 4; sn < end; sn++) {
      receive(Segment.ACK, ts, sn, sn + 1);
    }
    assertTrue(session.kcp().counters().get(KcpCounter.SPURIOUSLY_RETRANSMITTED) > 0);
    sent();
    assertEquals(list("D313 D313 D313 D311 P339"), tick(1250));
  }

  @Test
  void sessionWithoutLossSendsOnlyTrainingAfterAMinute() {
    ticks(3_700, 1250);
    sent();
    List<String> sent = new ArrayList<>();
    for (int i = 0; i < 1_800; i++) {
      sent.addAll(tick(1250));
    }
    sent.removeIf("0"::equals); // Probes: a WINS gives no round-trip time.
    assertEquals(1_797, sent.stream().filter("1250"::equals).count());
    assertEquals(9, sent.stream().filter(packet -> packet.startsWith("P")).count());
    assertEquals(1_797 + 3 * 7, sent.size());
  }

  @Test
  void protectionReturnsWithTheFirstLoss() {
    ticks(3_700, 1250);
    sent();
    flush(1250);
    runFor(250 * MS);
    acknowledgeAll();
    sent();
    assertEquals(list("D313 D313 D313 D311 P339 P339"), tick(1250));
  }

  // Limits and settings

  @Test
  void parityCountsAgainstTheRateLimit() {
    openAnswered(config().rateLimit(1_000_000).intervalMs(1), FecConfig.adaptive());
    flush(1100);
    assertEquals(list("D275 D275 D275 D275 P301 P301 P301"), sent());
    flush(400);
    assertEquals(List.of(), sent(), "2,000 bytes may leave in the interval");
    runFor(3 * MS);
    assertEquals("D100", sent().get(0));
  }

  @Test
  void settingsCanChangeWhileAGroupIsOpenAndCopiesWait() {
    ticks(100, 1250);
    flush(313);
    session.reconfigure(session.kcp().config(), FecConfig.NONE);
    runFor(10 * MS);
    assertEquals(list("D313"), sent());
    session.reconfigure(session.kcp().config(), DELAYED_COPY);
    flush(100);
    session.reconfigure(session.kcp().config(), FecConfig.NONE);
    runFor(10 * MS);
    assertEquals(list("100"), sent());
  }
}
