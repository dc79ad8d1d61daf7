package io.kcp4j.internal.arq;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kcp4j.EndReason;
import io.kcp4j.KcpConfig;
import io.kcp4j.KcpCounter;
import io.kcp4j.internal.arq.Kcp.InputResult;
import io.kcp4j.internal.send.Outage;
import io.kcp4j.internal.wire.Segment;
import io.netty.buffer.ByteBuf;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A session whose peer does not answer for some time. Round trips take 40 ms. */
class KcpOutageTest {

  private static final int RTT_US = 40_000;
  private static final int SECOND_US = 1_000_000;

  /** How long an outage lasts until its probes leave once in a second. */
  private static final int SLOWEST_US = 16 * SECOND_US;

  private final DrivenKcp driven = new DrivenKcp(KcpConfig.builder().build());

  /** Round trips of single segments, so that the estimators know the path. */
  private void warmUp() {
    for (int i = 0; i < 100; i++) {
      driven.sendSegments(1);
      SentSegment sent = driven.sent().get(0);
      driven.runTo(driven.nowUs + RTT_US);
      acknowledge(sent);
    }
    driven.sent();
  }

  private void acknowledge(SentSegment segment) {
    driven.peerUna = segment.sn() + 1;
    driven.receiveBatch(driven.ack(segment.sn(), segment.ts()));
  }

  private static boolean isChallenge(SentSegment segment) {
    return segment.cmd() == Segment.PUSH && segment.payload().readableBytes() == 0;
  }

  private static boolean isData(SentSegment segment) {
    return segment.cmd() == Segment.PUSH && segment.payload().readableBytes() > 0;
  }

  /** Runs to an instant, and returns when challenges left. */
  private List<Long> challengesUntil(long untilUs) {
    List<Long> times = new ArrayList<>();
    while (driven.kcp.nextDeadline() <= untilUs) {
      driven.runTo(driven.kcp.nextDeadline());
      if (driven.sent().stream().anyMatch(KcpOutageTest::isChallenge)) {
        times.add(driven.nowUs);
      }
    }
    driven.runTo(untilUs);
    return times;
  }

  private static void assertNear(long expectedUs, long us, int toleranceUs) {
    assertTrue(Math.abs(us - expectedUs) <= toleranceUs, us + " (expected: " + expectedUs + ")");
  }

  private SentSegment nextChallenge() {
    long untilUs = driven.nowUs + 3 * SECOND_US;
    while (true) {
      assertTrue(driven.kcp.nextDeadline() <= untilUs, "no challenge leaves");
      driven.runTo(driven.kcp.nextDeadline());
      for (SentSegment sent : driven.sent()) {
        if (isChallenge(sent)) {
          return sent;
        }
      }
    }
  }

  private void answer(SentSegment challenge) {
    driven.receiveBatch(driven.ack(challenge.sn(), challenge.ts()));
    driven.runTo(driven.nowUs);
  }

  private long dataSent() {
    return driven.sent().stream().filter(KcpOutageTest::isData).count();
  }

  @Test
  void probesLeaveAtASixteenthOfTheOutage() {
    warmUp();
    long sinceUs = driven.nowUs;
    driven.sendSegments(1);
    List<Long> times = challengesUntil(sinceUs + 29 * SECOND_US);
    long timeoutUs = driven.kcp.probeTimeoutUs();
    assertTrue(times.get(0) - sinceUs <= 3 * timeoutUs + 1_000, "first at " + times.get(0));
    for (int i = 1; i < times.size(); i++) {
      long outageUs = times.get(i - 1) - sinceUs;
      long distanceUs = Math.max(2 * timeoutUs, Math.min(outageUs / 16, SECOND_US));
      assertNear(distanceUs, times.get(i) - times.get(i - 1), 1_000);
    }
  }

  @Test
  void probesAreSmall() {
    warmUp();
    driven.sendSegments(1);
    driven.sent();
    while (driven.nowUs < 20 * SECOND_US) {
      driven.runTo(driven.kcp.nextDeadline());
      for (ByteBuf datagram : driven.sentDatagrams()) {
        List<SentSegment> segments = SentSegment.in(datagram);
        boolean isProbe = segments.stream().anyMatch(KcpOutageTest::isChallenge);
        assertTrue(!isProbe || segments.size() > 1 || datagram.readableBytes() == 24);
      }
    }
  }

  @Test
  void answerToAProbeEndsTheBackOffAndSendsTheOldest() {
    warmUp();
    long sinceUs = driven.nowUs;
    driven.sendSegments(1);
    driven.runTo(sinceUs + 27 * SECOND_US);
    driven.sent();
    SentSegment challenge = nextChallenge();
    driven.runTo(driven.nowUs + RTT_US);
    driven.sent();

    answer(challenge);

    assertEquals(2, dataSent(), "it leaves twice");
    long timeoutUs = driven.kcp.probeTimeoutUs();
    driven.runTo(driven.nowUs + timeoutUs + timeoutUs / 2 + 1_000);
    assertEquals(2, dataSent(), "and again after one timeout");
  }

  @Test
  void answerToAProbeRestartsTheProgressTimeout() {
    warmUp();
    long sinceUs = driven.nowUs;
    driven.sendSegments(1);
    driven.runTo(sinceUs + 27 * SECOND_US);
    driven.sent();
    answer(nextChallenge());
    long answeredAtUs = driven.nowUs;
    driven.runTo(answeredAtUs + 29 * SECOND_US);
    assertTrue(driven.kcp.failure() != EndReason.USER_TIMEOUT);
  }

  @Test
  void tenOldestSegmentsLeaveUponTheAnswer() {
    warmUp();
    driven.sendSegments(40);
    driven.runTo(driven.nowUs + 5 * SECOND_US);
    driven.sent();
    SentSegment challenge = nextChallenge();
    driven.sent();
    int una = driven.peerUna;

    answer(challenge);

    List<Integer> sns =
        driven.sent().stream().filter(KcpOutageTest::isData).map(SentSegment::sn).toList();
    for (int i = 0; i < 10; i++) {
      assertTrue(sns.contains(una + i), "of " + sns);
    }
    assertEquals(10, sns.stream().distinct().count());
  }

  /** Others have timed out, too, and wait for the halved rate of BBR. */
  @ParameterizedTest
  @ValueSource(ints = {500, 1_000, 1_500, 2_000, 5_000})
  void oldestSegmentsLeaveBeforeOthersThatHaveTimedOut(int outageMs) {
    warmUp();
    driven.sendSegments(60);
    driven.runTo(driven.nowUs + outageMs * 1_000L);
    driven.sent();
    SentSegment challenge = nextChallenge();
    driven.runTo(driven.nowUs + RTT_US);
    driven.sent();
    int una = driven.peerUna;

    answer(challenge);
    driven.runTo(driven.nowUs + RTT_US);

    List<Integer> sns =
        driven.sent().stream().filter(KcpOutageTest::isData).map(SentSegment::sn).toList();
    List<Integer> first = sns.stream().distinct().limit(10).toList();
    assertEquals(IntStream.range(una, una + 10).boxed().toList(), first);
  }

  /** As one does that has no memory for segments. */
  @Test
  void peerThatOnlyAnswersProbesIsSentLessAndLess() {
    warmUp();
    driven.sendSegments(40);
    int[] sent = new int[4];
    long sinceUs = driven.nowUs;
    driven.sent();
    while (driven.nowUs < sinceUs + 20L * SECOND_US) {
      driven.runTo(driven.kcp.nextDeadline());
      for (SentSegment segment : driven.sent()) {
        if (isChallenge(segment)) {
          answer(segment);
        } else if (isData(segment)) {
          sent[(int) Math.min(3, (driven.nowUs - sinceUs) / (5 * SECOND_US))]++;
        }
      }
    }
    assertTrue(sent[0] > 2 * sent[3], sent[0] + " and later " + sent[3]);
    assertTrue(sent[3] <= 5 * 80, "in five seconds: " + sent[3]);
  }

  @Test
  void outageOfAPeerThatOnlyAnswersProbesGoesOnFromItsStart() {
    warmUp();
    driven.sendSegments(1);
    driven.runTo(driven.nowUs + 17 * SECOND_US);
    driven.sent();
    answer(nextChallenge());
    driven.sent();
    int challenges = challengesUntil(driven.nowUs + 5 * SECOND_US).size();
    assertTrue(challenges >= 4 && challenges <= 6, "in five seconds: " + challenges);
  }

  /** The answer to a probe ends the first one, and then its segment is acknowledged. */
  @Test
  void nextOutageBeginsAnew() {
    warmUp();
    driven.sendSegments(1);
    SentSegment sent = driven.sent().get(0);
    driven.runTo(driven.nowUs + 10 * SECOND_US);
    driven.sent();
    answer(nextChallenge());
    acknowledge(sent);
    warmUp();

    long sinceUs = driven.nowUs;
    driven.sendSegments(40);
    assertTrue(challengesUntil(sinceUs + 2 * SECOND_US).size() > 5, "at an eighth of a second");
    driven.sent();
    SentSegment challenge = nextChallenge();
    driven.sent();
    answer(challenge);
    driven.runTo(driven.nowUs + RTT_US);
    assertEquals(10, driven.sentSns(Segment.PUSH).stream().distinct().count());
  }

  /** Else nobody could tell that its second transmission was needless. */
  @Test
  void segmentSentOnceThatLeavesUponAnAnswerCountsAsSentTwice() {
    warmUp();
    driven.sendSegments(1);
    driven.runTo(driven.nowUs + 5 * SECOND_US);
    driven.sent();
    SentSegment challenge = nextChallenge();
    driven.sent();
    driven.sendSegments(1);
    SentSegment young = driven.sent().get(0);
    driven.runTo(driven.nowUs + RTT_US + 1_000);
    driven.sent();
    answer(challenge);
    assertTrue(driven.sentSns(Segment.PUSH).contains(young.sn()));
    driven.runTo(driven.nowUs + RTT_US / 2);
    driven.receiveBatch(driven.ack(young.sn(), young.ts()));
    assertEquals(1, driven.count(KcpCounter.SPURIOUSLY_RETRANSMITTED));
  }

  @Test
  void acknowledgementEndsTheBackOffOfAll() {
    warmUp();
    driven.sendSegments(5);
    List<SentSegment> sent = driven.sent();
    driven.runTo(driven.nowUs + 20 * SECOND_US);
    driven.sent();
    driven.peerUna = sent.get(0).sn() + 1;
    driven.receiveBatch(driven.ack(sent.get(0).sn() - 1, 0)); // No sample of 20 s.
    driven.runTo(driven.nowUs + 2L * driven.kcp.probeTimeoutUs());
    List<Integer> sns = driven.sentSns(Segment.PUSH);
    for (int i = 1; i < 5; i++) {
      assertTrue(sns.contains(sent.get(i).sn()), "of " + sns);
    }
  }

  @Test
  void replayedDatagramsBringOneCopyInARoundTrip() {
    warmUp();
    long sinceUs = driven.nowUs;
    driven.sendSegments(1);
    SentSegment sent = driven.sent().get(0);
    driven.runTo(sinceUs + 10 * SECOND_US);
    driven.sent();
    long copies = 0;
    for (int i = 0; i < 10_000; i++) { // In a second.
      driven.runTo(driven.nowUs + 100);
      driven.receiveBatch(driven.ack(sent.sn() - 1, sent.ts()));
      copies += dataSent();
    }
    assertTrue(copies >= SECOND_US / RTT_US / 2, "copies: " + copies);
    assertTrue(copies <= SECOND_US / RTT_US + 2, "copies: " + copies);
  }

  /** Twenty transmissions of a segment end a session, unless the peer can cause them. */
  @Test
  void replayedDatagramsDoNotEndASession() {
    DrivenKcp patient = new DrivenKcp(KcpConfig.builder().userTimeoutMs(0));
    patient.sendSegments(1);
    SentSegment first = patient.sent().get(0);
    patient.runTo(RTT_US);
    patient.peerUna = 1;
    patient.receiveBatch(patient.ack(0, first.ts()));
    patient.sendSegments(1);
    for (int i = 0; i < 500; i++) { // In five seconds.
      patient.runTo(patient.nowUs + 10_000);
      patient.receiveBatch(patient.ack(0, first.ts()));
    }
    assertTrue(patient.count(KcpCounter.RETRANSMITTED) > 50);
    assertNull(patient.kcp.failure());
  }

  /** Else the next timeout could be as long as the outage. */
  @Test
  void answerThatFollowsADatagramEndsTheBackOff() {
    warmUp();
    long sinceUs = driven.nowUs;
    driven.sendSegments(1);
    SentSegment sent = driven.sent().get(0);
    driven.runTo(sinceUs + 20 * SECOND_US);
    driven.sent();
    SentSegment challenge = nextChallenge();
    driven.runTo(driven.nowUs + RTT_US);
    driven.sent();
    driven.input(driven.ack(sent.sn() - 1, sent.ts()));
    answer(challenge);
    driven.sent();
    driven.runTo(driven.nowUs + 2L * driven.kcp.probeTimeoutUs());
    assertTrue(dataSent() > 0);
  }

  @Test
  void replayedDatagramsDoNotProlongADeadSession() {
    warmUp();
    long sinceUs = driven.nowUs;
    driven.sendSegments(1);
    SentSegment sent = driven.sent().get(0);
    while (driven.kcp.failure() == null && driven.nowUs < sinceUs + 31 * SECOND_US) {
      driven.runTo(driven.nowUs + 10_000);
      driven.input(driven.ack(sent.sn() - 1, sent.ts()));
      driven.kcp.afterInput(driven.nowUs, driven);
    }
    assertTrue(driven.kcp.failure() != null);
    assertNear(sinceUs + 30 * SECOND_US, driven.nowUs, 20_000);
  }

  @Test
  void peerThatMayNotKnowTheSessionIsNotProbed() {
    driven.sendSegments(1);
    assertEquals(List.of(), challengesUntil(29 * SECOND_US));
  }

  @Test
  void outageOfAPathThatIsNotValidatedHasNoProbes() {
    driven.kcp.limitSending(() -> 1 << 30);
    driven.sendSegments(1);
    driven.peerUna = 1;
    driven.receiveBatch(driven.push(0, DrivenKcp.bytes(10)));
    driven.sendSegments(1);
    driven.runTo(5 * SECOND_US);
    assertEquals(0, driven.count(KcpCounter.PROBES_OUT));
  }

  @Test
  void lostSegmentBeforeOthersThatArriveIsNoOutage() {
    warmUp();
    driven.sendSegments(1); // Lost.
    driven.sent();
    for (int i = 0; i < 20; i++) {
      driven.sendSegments(1);
      SentSegment later = driven.sent().stream().filter(KcpOutageTest::isData).findFirst().get();
      driven.runTo(driven.nowUs + RTT_US / 4);
      driven.receiveBatch(driven.ack(later.sn(), later.ts()));
    }
    assertEquals(0, driven.count(KcpCounter.PROBES_OUT));
  }

  @Test
  void onlyTheOldestTimesOutBeforeTheFirstAcknowledgement() {
    driven.sendSegments(10);
    List<SentSegment> first = driven.sent();
    driven.runTo(SECOND_US - 1);
    List<Integer> again = driven.sentSns(Segment.PUSH).stream().distinct().toList();
    assertEquals(List.of(0), again);
    driven.nowUs = SECOND_US;
    acknowledge(first.get(0)); // Of its first transmission: a slow path.
    driven.runTo(SECOND_US + 900_000);
    assertEquals(List.of(), driven.sentSns(Segment.PUSH));
    assertNull(driven.kcp.failure());
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void acknowledgementThatWaitedInAStoppedProcessIsNoSample(boolean isFlushedFirst) {
    warmUp();
    int srttUs = driven.kcp.srttUs();
    driven.sendSegments(1);
    SentSegment sent = driven.sent().get(0);
    driven.kcp.nextDeadline(); // As the driver asks for it after each batch.
    driven.nowUs += 12 * SECOND_US;
    if (isFlushedFirst) {
      driven.kcp.flush(driven.nowUs, driven);
      driven.kcp.nextDeadline();
    }
    acknowledge(sent);
    assertEquals(srttUs, driven.kcp.srttUs());
    assertTrue(driven.kcp.probeTimeoutUs() < 2 * RTT_US);
  }

  /** As by the class loading of a JVM that has just started. */
  @Test
  void acknowledgementThatWaitedIsAFirstSample() {
    driven.sendSegments(1);
    SentSegment sent = driven.sent().get(0);
    driven.kcp.nextDeadline();
    driven.nowUs += SECOND_US;
    acknowledge(sent);
    assertEquals(SECOND_US, driven.kcp.srttUs());
  }

  /**
   * The process stops until {@code us} after a deadline. Then 20 copies of a datagram arrive, which
   * have waited in the buffer of the socket, and acknowledge nothing.
   */
  private void stop(DrivenKcp stopped, int us, ByteBuf datagram) {
    stopped.nowUs = stopped.kcp.nextDeadline() + us;
    for (int i = 0; i < 20; i++) {
      assertEquals(InputResult.ACCEPTED, stopped.input(datagram));
      stopped.kcp.flush(stopped.nowUs, stopped);
    }
    assertTrue(stopped.kcp.nextDeadline() > stopped.nowUs);
  }

  private static void runToFailure(DrivenKcp failing) {
    while (failing.kcp.failure() == null) {
      failing.runTo(failing.kcp.nextDeadline());
    }
  }

  @Test
  void stopCountsOnceHoweverManyDatagramsHaveWaited() {
    warmUp();
    long sinceUs = driven.nowUs;
    driven.sendSegments(1);
    SentSegment sent = driven.sent().get(0);
    stop(driven, 5 * SECOND_US, driven.ack(sent.sn() - 1, sent.ts()));
    driven.sent();
    assertTrue(challengesUntil(driven.nowUs + SECOND_US).size() > 1, "an outage is probed");
    runToFailure(driven);
    assertNear(sinceUs + 35 * SECOND_US, driven.nowUs, SECOND_US / 10);
  }

  @Test
  void stopDuringAWriteStallCountsOnceHoweverManyDatagramsHaveWaited() {
    DrivenKcp stalled = new DrivenKcp(KcpConfig.builder().zeroWindowTimeoutMs(30_000));
    stalled.peerWnd = 0;
    stalled.receiveBatch(stalled.wins());
    stalled.sendSegments(1);
    stop(stalled, 5 * SECOND_US, stalled.wins());
    runToFailure(stalled);
    assertEquals(EndReason.ZERO_WINDOW_TIMEOUT, stalled.kcp.failure());
    assertEquals(35 * SECOND_US, stalled.nowUs);
  }

  @Test
  void slowestProbesLeaveOnceInASecond() {
    warmUp();
    long sinceUs = driven.nowUs;
    driven.sendSegments(1);
    driven.runTo(sinceUs + SLOWEST_US + 2 * SECOND_US);
    driven.sent();
    assertEquals(5, challengesUntil(driven.nowUs + 5 * SECOND_US).size());
  }

  // The rate of the probes of all sessions of a thread

  private final Outage.ProbeSlots slots = new Outage.ProbeSlots();

  @Test
  void firstProbeLeavesAtOnce() {
    assertEquals(5_000_000, slots.reserve(5_000_000));
  }

  @Test
  void thousandProbesLeaveInEachSecond() {
    for (int i = 0; i < 10_000; i++) {
      assertEquals(1_000L * i, slots.reserve(0));
    }
    assertEquals(10_000_000, slots.reserve(9_999_999));
  }

  @Test
  void timeWithoutProbesAllowsNoBurst() {
    slots.reserve(0);
    assertEquals(1_000_000, slots.reserve(1_000_000));
    assertEquals(1_001_000, slots.reserve(1_000_000));
  }
}
