package io.kcp4j.internal.session;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kcp4j.KcpConfig;
import io.kcp4j.KcpCounter;
import io.kcp4j.KcpCounters;
import io.kcp4j.internal.arq.KcpContext;
import io.kcp4j.internal.arq.KcpStarts;
import io.kcp4j.internal.memory.MemoryBudget;
import io.kcp4j.internal.wire.Segment;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.buffer.UnpooledByteBufAllocator;
import io.netty.util.NetUtil;
import java.net.InetSocketAddress;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.Random;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Keep-alive probes of a {@link SessionTable} in virtual time: protocol.md 7.3. */
class KeepAliveTest {

  private static final InetSocketAddress REMOTE = new InetSocketAddress(NetUtil.LOCALHOST, 1111);

  private static final int ROUND_TRIP_US = 200_000;

  private final KcpContext context =
      new KcpContext(
          new UnpooledByteBufAllocator(true, true), MemoryBudget.unlimited(), new KcpCounters());
  private final TestDriver driver = TestDriver.of(context).recordEvents();
  private final SessionTable table = driver.table;

  /** An answer to a probe, and the time at which it is received. */
  private record Answer(long atUs, int conv) {}

  private final Queue<Answer> onTheirWay = new ArrayDeque<>();
  private final Random random = new Random(1);
  private long nowUs;

  /** How late sweeps are, as wake-ups are. */
  private int delayUs;

  /** The probability that a probe or an answer is lost. */
  private double loss;

  private boolean answers = true;
  private final List<String> ends = new ArrayList<>();

  /** The times at which peers were reported as unresponsive. */
  private final List<Long> unresponsiveAt = new ArrayList<>();

  /** The times at which probes were sent. */
  private final List<Long> probes = new ArrayList<>();

  private Session add(int conv) {
    Session session = driver.newSession(REMOTE, conv);
    table.add(session, nowUs);
    return session;
  }

  private void addMany(int sessions) {
    for (int conv = 1; conv <= sessions; conv++) {
      add(conv);
    }
  }

  /** Sweeps every second, and has the peers answer probes. */
  private void runTo(long untilUs) {
    while (nowUs < untilUs) {
      long nextUs = sweep() ? nowUs + 1_000 : nextSweepUs();
      while (!onTheirWay.isEmpty() && onTheirWay.element().atUs <= nextUs) {
        Answer next = onTheirWay.remove();
        nowUs = Math.max(nowUs, next.atUs);
        answer(next.conv);
      }
      nowUs = nextUs;
    }
  }

  private long nextSweepUs() {
    return (nowUs / 1_000_000 + 1) * 1_000_000 + delayUs;
  }

  private boolean sweep() {
    boolean isPartial = table.sweep(nowUs);
    table.flushPending(nowUs);
    for (String event : driver.events()) {
      if (event.startsWith("ended")) {
        ends.add(event);
      } else if (event.startsWith("unresponsive")) {
        unresponsiveAt.add(nowUs);
      } else if (event.endsWith("WASK")) {
        probes.add(nowUs);
        if (answers && random.nextDouble() >= loss && random.nextDouble() >= loss) {
          int conv = Integer.parseInt(event.replaceAll("\\D", ""));
          onTheirWay.add(new Answer(nowUs + ROUND_TRIP_US, conv));
        }
      }
    }
    return isPartial;
  }

  private void answer(int conv) {
    ByteBuf wins = Unpooled.buffer();
    Segment.write(wins, conv, Segment.WINS, 0, 128, 0, 0, 0, 0);
    table.receive(REMOTE, wins, nowUs);
    table.endBatch(nowUs);
  }

  @Test
  void sevenProbesLeaveAtGrowingIntervals() {
    add(1);
    answers = false;
    runTo(200_000_000);
    List<Long> gaps = new ArrayList<>();
    for (int i = 1; i < probes.size(); i++) {
      gaps.add(probes.get(i) - probes.get(i - 1));
    }
    // 1, 1.5, 2.25, 3.375, 5.1 and 7.6 s, rounded up to the resolution of the timer.
    assertEquals(
        List.of(1_000_000L, 2_000_000L, 3_000_000L, 4_000_000L, 6_000_000L, 8_000_000L), gaps);
    assertEquals(List.of("ended 1 HANDSHAKE_TIMEOUT"), ends);
  }

  @Test
  void noAnswerIsAwaitedForLongerThanTheInterval() {
    TestDriver.configure(add(1), config -> config.keepAliveIntervalMs(2000));
    answers = false;
    runTo(16_000_000);
    assertEquals(
        List.of(
            2_000_000L, 3_000_000L, 5_000_000L, 7_000_000L, 9_000_000L, 11_000_000L, 13_000_000L),
        probes);
    assertEquals(List.of("ended 1 HANDSHAKE_TIMEOUT"), ends);
  }

  @Test
  void numberAndIntervalOfProbesCanBeSet() {
    Session session = add(1);
    TestDriver.configure(session, config -> config.keepAliveProbes(3));
    TestDriver.configure(session, config -> config.keepAliveProbeIntervalMs(4_000));
    answers = false;
    runTo(78_000_000);
    assertEquals(List.of(60_000_000L, 64_000_000L, 70_000_000L), probes);
    assertEquals(List.of(), ends);
    runTo(79_000_001);
    assertEquals(List.of("ended 1 HANDSHAKE_TIMEOUT"), ends);
  }

  /** The settings of the guide's recipes, whenever the last datagram has come. */
  @ParameterizedTest
  @ValueSource(ints = {1, 400, 999, 1000})
  void threeProbesASecondApartEndTheSessionWithinFiveSeconds(int lastMs) {
    Session session = add(1);
    TestDriver.configure(session, config -> config.keepAliveIntervalMs(1000));
    TestDriver.configure(session, config -> config.keepAliveProbes(3));
    answers = false;
    nowUs = lastMs * 1_000L;
    answer(1);
    write(session);
    long killedAtUs = nowUs;
    do {
      nowUs = nextSweepUs();
      sweep();
    } while (ends.isEmpty());
    assertEquals(List.of("ended 1 KEEP_ALIVE_TIMEOUT"), ends);
    long tookUs = nowUs - killedAtUs;
    assertTrue(tookUs >= 4_000_000 && tookUs <= 5_000_000, () -> "took " + tookUs);
  }

  @Test
  void longestProbeIntervalIsTheKeepAliveInterval() {
    Session session = add(1);
    TestDriver.configure(session, config -> config.keepAliveProbes(Integer.MAX_VALUE));
    TestDriver.configure(session, config -> config.keepAliveProbeIntervalMs(Integer.MAX_VALUE));
    answers = false;
    runTo(36_000_000_000L);
    assertEquals(599, probes.size());
    assertEquals(List.of(), ends);
  }

  @Test
  void peerThatHasAnsweredBeforeHasStoppedAnswering() {
    add(1);
    runTo(70_000_000);
    answers = false;
    runTo(170_000_000);
    assertEquals(List.of("ended 1 KEEP_ALIVE_TIMEOUT"), ends);
  }

  @Test
  void peerThatDoesNotAnswerAProbeIsReportedOnce() {
    Session session = add(1);
    answers = false;
    runTo(60_500_000);
    assertFalse(session.isPeerUnresponsive());
    runTo(80_000_000);
    assertEquals(List.of(61_000_000L), unresponsiveAt);
    assertTrue(session.isPeerUnresponsive());

    answer(1);
    assertFalse(session.isPeerUnresponsive());
    runTo(150_000_000);
    assertEquals(List.of(61_000_000L, 141_000_000L), unresponsiveAt);
  }

  @Test
  void peerIsNotReportedAfterAPauseBeforeItsAnswersAreRead() {
    add(1);
    answers = false;
    runTo(60_100_000);
    nowUs += 80_000_000;
    sweep();
    assertEquals(List.of(), unresponsiveAt);
  }

  @Test
  void peerThatDoesNotAcknowledgeIsReported() {
    Session session = add(1);
    write(session);
    List<Long> reported = new ArrayList<>();
    driver.onUnresponsive = s -> reported.add(nowUs);
    runDeadlinesTo(3_000_000);
    assertEquals(1, reported.size());
    assertTrue(reported.get(0) >= 1_000_000 && reported.get(0) <= 1_700_000, reported::toString);
  }

  @Test
  void peerThatSendsIsNotReportedThoughItAcknowledgesNothing() {
    Session session = add(1);
    write(session);
    for (int i = 0; i < 40; i++) {
      runDeadlinesTo(nowUs + 100_000);
      answer(1);
    }
    assertFalse(driver.events().contains("unresponsive 1"));
  }

  @Test
  void reportMayCloseTheSession() {
    Session session = add(1);
    write(session);
    driver.onUnresponsive =
        s -> {
          table.remove(s, nowUs);
          s.close();
        };
    runDeadlinesTo(3_000_000);
    assertEquals(0, table.size());
    assertEquals(0, driver.deadlines.size());
  }

  private void write(Session session) {
    session.kcp().send(Unpooled.buffer().writeZero(10));
    table.scheduleFlush(session);
    table.flushPending(nowUs);
  }

  private void runDeadlinesTo(long untilUs) {
    for (; nowUs < untilUs; nowUs += 1_000) {
      driver.deadlines.advance(nowUs);
      table.flushPending(nowUs);
    }
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 999, 199_999})
  void sweepThatIsALittleLateDoesNotDelayTheNextProbeByASecond(int delayUs) {
    this.delayUs = delayUs;
    TestDriver.configure(add(1), config -> config.keepAliveIntervalMs(1000));
    answers = false;
    runTo(10_000_000);
    assertEquals(
        Stream.of(1, 2, 3, 4, 5, 6, 7).map(s -> s * 1_000_000L + delayUs).toList(), probes);
    assertEquals(List.of("ended 1 HANDSHAKE_TIMEOUT"), ends);
  }

  @Test
  void pauseOfTheProcessEndsNoSessionWhosePeerAnswers() {
    addMany(1000);
    runTo(30_000_000);
    nowUs += 80_000_000;
    runTo(200_000_000);
    assertEquals(List.of(), ends);
    assertEquals(1000, table.size());
  }

  @Test
  void answersReceivedDuringAPauseAreReadBeforeSessionsEnd() {
    addMany(1000);
    answers = false;
    runTo(92_000_000);
    assertEquals(7000, probes.size());
    nowUs += 80_000_000;
    for (boolean isPartial = true; isPartial; nowUs += 1_000) {
      isPartial = table.sweep(nowUs);
    }
    for (int conv = 1; conv <= 1000; conv++) {
      answer(conv);
    }
    answers = true;
    runTo(nowUs + 100_000_000);
    assertEquals(List.of(), ends);
    assertEquals(1000, table.size());
  }

  @Test
  void sessionsOfUnresponsivePeersEndAfterAPauseToo() {
    addMany(100);
    answers = false;
    runTo(92_000_000);
    nowUs += 80_000_000;
    runTo(nowUs + 20_000_000);
    assertEquals(100, ends.size());
  }

  @Test
  void pauseDoesNotEndASessionAsIdleWhoseInputWaits() {
    Session session = add(1);
    TestDriver.configure(session, config -> config.idleTimeoutMs(10_000));
    runTo(5_000_000);
    nowUs += 80_000_000;
    table.sweep(nowUs);
    receivePush();
    runTo(nowUs + 9_000_000);
    assertEquals(List.of(), ends);
    runTo(nowUs + 3_000_000);
    assertEquals(List.of("ended 1 IDLE_TIMEOUT"), ends);
  }

  private void receivePush() {
    ByteBuf push = Unpooled.buffer();
    Segment.write(push, 1, Segment.PUSH, 0, 128, 0, 0, 0, 10);
    driver.onProgress = s -> s.kcp().receive().release();
    table.receive(REMOTE, push.writeZero(10), nowUs);
    table.endBatch(nowUs);
    driver.onProgress = s -> {};
  }

  @Test
  void idleTimeoutThatIsSetLaterCountsWhatHasMovedBefore() {
    Session session = add(1);
    runTo(5_000_000);
    receivePush();
    runTo(7_000_000);
    TestDriver.configure(session, config -> config.idleTimeoutMs(3_000));
    runTo(7_500_000);
    assertEquals(List.of(), ends);
    runTo(9_500_000);
    assertEquals(List.of("ended 1 IDLE_TIMEOUT"), ends);
  }

  @Test
  void oneLostDatagramInTenEndsNoIdleSession() {
    addMany(500);
    loss = 0.1;
    runTo(20 * 60_000_000);
    assertEquals(List.of(), ends);
    assertEquals(500, table.size());
  }

  @Test
  void answerIsAwaitedOnlyOnceTheProbeHasLeft() {
    add(1);
    answers = false;
    driver.outputWritable = () -> false;
    runTo(300_000_000);
    assertEquals(List.of(), ends);
    assertEquals(0, context.total().get(KcpCounter.PROBES_OUT));

    driver.outputWritable = () -> true;
    runTo(302_000_000);
    assertEquals(List.of(300_000_000L, 301_000_000L), probes);
    answer(1);
    runTo(360_000_000);
    assertEquals(2, probes.size());
    runTo(500_000_000);
    assertEquals(List.of("ended 1 KEEP_ALIVE_TIMEOUT"), ends);
  }

  @Test
  void datagramReceivedBeforeThePendingProbeLeavesRestartsTheInterval() {
    add(1);
    answers = false;
    driver.outputWritable = () -> false;
    runTo(70_000_000);
    answer(1);
    driver.outputWritable = () -> true;
    runTo(130_000_000);
    assertEquals(List.of(70_000_000L), probes, "the pending probe");
    runTo(131_000_000);
    assertEquals(2, probes.size());
    assertEquals(130_000_000L, probes.get(1));
  }

  private void receive(int conv, int cmd, int sn, int una) {
    receiveAt(conv, cmd, 0, sn, una);
  }

  private void receiveAt(int conv, int cmd, int ts, int sn, int una) {
    ByteBuf datagram = Unpooled.buffer();
    Segment.write(datagram, conv, cmd, 0, 128, ts, sn, una, 0);
    table.receive(REMOTE, datagram, nowUs);
    table.endBatch(nowUs);
  }

  /** A session that has sent a number of segments, all of which were acknowledged. */
  private Session addUploader(int firstSn, int segments) {
    Session session =
        driver.newSession(REMOTE, KcpStarts.kcp(1, KcpConfig.DEFAULT, context, 0, firstSn));
    table.add(session, nowUs);
    for (int i = 1; i <= segments; i++) {
      session.kcp().send(Unpooled.buffer().writeZero(10));
      table.scheduleFlush(session);
      table.flushPending(nowUs);
      receive(1, Segment.ACK, firstSn + i - 1, firstSn + i);
    }
    assertTrue(session.kcp().isDrained());
    return session;
  }

  @Test
  void clientThatOnlySendsNoticesThatTheServerHasLostTheSession() {
    addUploader(0, 3); // Probes are answered as a new server does, with una 0.
    runTo(120_000_000);
    assertEquals(7, probes.size());
    assertEquals(List.of("ended 1 KEEP_ALIVE_TIMEOUT"), ends);
  }

  @Test
  void agesOfAnswersAreComparedAcrossTheWrap() {
    addUploader(-2, 4);
    runTo(59_000_000);
    answers = false;
    runTo(62_000_000);
    receive(1, Segment.WINS, 0, 1); // Stale: una 2 was received before.
    runTo(120_000_000);
    assertEquals(List.of("ended 1 KEEP_ALIVE_TIMEOUT"), ends);
  }

  @Test
  void acknowledgementOfTheChallengeCountsAsAlive() {
    addUploader(-2, 4);
    answers = false;
    runTo(61_000_000);
    acknowledge(1, 60_000, 2);
    runTo(120_000_000);
    assertEquals(List.of(), ends);
  }

  @Test
  void answerWithoutTheTimestampOfTheChallengeDoesNotCountAsAlive() {
    addUploader(-2, 4);
    answers = false;
    runTo(61_000_000);
    receive(1, Segment.WINS, 0, 2);
    acknowledge(1, 59_999, 2);
    acknowledge(1, 61_001, 2);
    runTo(120_000_000);
    assertEquals(List.of("ended 1 KEEP_ALIVE_TIMEOUT"), ends);
  }

  private void acknowledge(int sn, int ts, int una) {
    receiveAt(1, Segment.ACK, ts, sn, una);
  }

  @Test
  void reorderedDatagramsDoNoHarmBesideNewerOnes() {
    Session session = addUploader(0, 3);
    answers = false;
    for (int s = 1; s <= 300; s++) {
      receiveAt(1, Segment.PUSH, s, 0, 3);
      receive(1, Segment.WINS, 0, 1);
      runTo(nowUs + 1_000_000);
    }
    assertEquals(List.of(), probes);
    assertTrue(table.lifecycle().contains(session));
  }

  @Test
  void windowProbeAnswersOfAServerWithoutTheSessionDoNotCountAsAlive() {
    Session session = addUploader(0, 3);
    ByteBuf closing = Unpooled.buffer();
    session.kcp().send(Unpooled.buffer().writeZero(10));
    table.scheduleFlush(session);
    table.flushPending(nowUs);
    Segment.write(closing, 1, Segment.ACK, 0, 0, 0, 3, 4, 0);
    table.receive(REMOTE, closing, nowUs);
    session.kcp().send(Unpooled.buffer().writeZero(10));
    table.scheduleFlush(session);
    table.endBatch(nowUs);
    for (int s = 0; s < 120; s++) {
      receive(1, Segment.WINS, 0, 0);
      runTo(nowUs + 1_000_000);
    }
    assertEquals(List.of("ended 1 KEEP_ALIVE_TIMEOUT"), ends);
  }

  @Test
  void clientThatHasSentNothingDoesNotNotice() {
    add(1);
    runTo(300_000_000);
    assertEquals(List.of(), ends);
  }
}
