package io.kcp4j.internal.arq;

import static io.kcp4j.internal.arq.DrivenKcp.counting;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kcp4j.CongestionControl;
import io.kcp4j.EndReason;
import io.kcp4j.KcpCounter;
import io.kcp4j.KcpStats;
import io.kcp4j.internal.arq.Kcp.InputResult;
import io.kcp4j.internal.wire.Segment;
import io.kcp4j.internal.wire.Time;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Loss detection in a session. The first timeout is 200 ms. */
class KcpLossTest {

  private static final int TS = DrivenKcp.TS_ORIGIN;

  private static List<Integer> none() {
    return List.of();
  }

  @Test
  void lostSegmentIsRetransmittedAfterOneRto() {
    DrivenKcp driven = new DrivenKcp(counting());
    driven.sendSegments(1);
    assertEquals(List.of(0), driven.sentSns(Segment.PUSH));
    driven.runTo(199_999);
    assertEquals(none(), driven.sentCmds());
    driven.runTo(200_000);
    SentSegment again = driven.sent().get(0);
    assertEquals(0, again.sn());
    assertEquals(TS + 200, again.ts());
    assertEquals(DrivenKcp.bytes(1176), again.payload());
    assertEquals(1, driven.count(KcpCounter.TIMED_OUT));
    assertEquals(1, driven.count(KcpCounter.RETRANSMITTED));
  }

  @Test
  void timeoutGrowsByHalfWithNoDelay() {
    assertRetransmittedAt(true, 200_000, 500_000, 950_000, 1_625_000);
  }

  @Test
  void timeoutDoublesWithoutNoDelay() {
    assertRetransmittedAt(false, 200_000, 600_000, 1_400_000, 3_000_000);
  }

  private static void assertRetransmittedAt(boolean noDelay, int... times) {
    DrivenKcp driven = new DrivenKcp(counting().noDelay(noDelay));
    driven.sendSegments(1);
    driven.sent();
    for (int time : times) {
      driven.runTo(time - 1);
      assertEquals(none(), driven.sentSns(Segment.PUSH), "before " + time);
      driven.runTo(time);
      assertEquals(List.of(0), driven.sentSns(Segment.PUSH), "at " + time);
    }
  }

  @Test
  void progressResetsTheBackOffOfTheOldestSegment() {
    DrivenKcp driven = new DrivenKcp(counting().userTimeoutMs(0));
    driven.sendSegments(3);
    driven.runTo(10_000_000);
    assertTrue(driven.kcp.nextDeadline() > 10_300_000);
    driven.sent();
    driven.peerUna = 1;
    driven.receiveBatch(driven.wins());
    // No round trip has been measured: the timeout is 200 ms.
    assertEquals(10_200_000, driven.kcp.nextDeadline());
    driven.runTo(10_200_000);
    assertEquals(List.of(1, 2), driven.sentSns(Segment.PUSH));
  }

  /** A peer that had no memory for a segment did not acknowledge it. */
  @Test
  void windowUpdateResetsTheBackOffOfTheOldestSegment() {
    DrivenKcp driven = new DrivenKcp(counting().userTimeoutMs(0));
    driven.sendSegments(3);
    driven.runTo(11_000_000);
    driven.sent();
    long backedOffUs = driven.kcp.nextDeadline();
    assertTrue(backedOffUs > 11_300_000);
    driven.peerWnd = 0;
    driven.receiveBatch(driven.wins());
    assertEquals(backedOffUs, driven.kcp.nextDeadline());
    driven.peerWnd = 128;
    driven.receiveBatch(driven.wins());
    driven.runTo(11_200_000);
    assertEquals(List.of(0), driven.sentSns(Segment.PUSH));
  }

  /** It had had memory for some, and then not for the first one that it lacks, again and again. */
  @Test
  void eachWindowUpdateAfterASecondHasTheFirstSegmentSentAgain() {
    DrivenKcp driven = new DrivenKcp(counting().userTimeoutMs(0));
    driven.sendSegments(1);
    driven.runTo(11_000_000);
    for (int i = 0; i < 5; i++) {
      driven.sent();
      driven.receiveBatch(driven.wins());
      driven.runTo(driven.nowUs + 1_100_000);
      assertEquals(List.of(0), driven.sentSns(Segment.PUSH));
    }
  }

  /** Somebody on the path repeats the answer to a probe of before the first segment. */
  @Test
  void repeatedWindowUpdateDoesNotHaveTheFirstSegmentSentAgainAndAgain() {
    DrivenKcp driven = new DrivenKcp(counting());
    driven.sendSegments(1);
    for (int ms = 10; ms < 29_000; ms += 10) {
      driven.receiveBatch(driven.wins());
      driven.runTo(ms * 1_000L);
    }
    int transmissions = driven.sentSns(Segment.PUSH).size();
    assertTrue(transmissions <= 35, transmissions + " transmissions");
  }

  @Test
  void acknowledgedSegmentIsNotRetransmitted() {
    DrivenKcp driven = new DrivenKcp(counting().fastRetransmit(0));
    driven.sendSegments(3);
    driven.sent();
    driven.receiveBatch(driven.ack(1, TS));
    driven.runTo(200_000);
    assertEquals(List.of(0, 2), driven.sentSns(Segment.PUSH));
  }

  @Test
  void skipCountAtTheThresholdCausesAFastRetransmit() {
    DrivenKcp driven = new DrivenKcp(counting().fastRetransmit(3));
    driven.sendSegments(5);
    driven.sent();
    driven.receiveBatch(driven.ack(1, TS), driven.ack(2, TS));
    assertEquals(none(), driven.sentSns(Segment.PUSH));
    driven.receiveBatch(driven.ack(4, TS));
    assertEquals(List.of(0, 3), driven.sentSns(Segment.PUSH));
    assertEquals(1, driven.count(KcpCounter.FAST_RETRANSMITTED));
    assertEquals(1, driven.count(KcpCounter.EARLY_RETRANSMITTED), "the skip count of 3 is 1");
  }

  @Test
  void retransmissionResetsTheSkipCount() {
    DrivenKcp driven = new DrivenKcp(counting());
    driven.sendSegments(5);
    driven.receiveBatch(driven.ack(1, TS), driven.ack(2, TS));
    assertEquals(1, driven.count(KcpCounter.FAST_RETRANSMITTED));
    driven.receiveBatch(driven.ack(3, TS), driven.ack(4, TS));
    assertEquals(
        1, driven.count(KcpCounter.FAST_RETRANSMITTED), "sent before the retransmission of 0");
  }

  @Test
  void fastRetransmitCanBeOff() {
    DrivenKcp driven = new DrivenKcp(counting().fastRetransmit(0));
    driven.sendSegments(5);
    driven.sent();
    driven.receiveBatch(driven.ack(1, TS), driven.ack(2, TS), driven.ack(3, TS), driven.ack(4, TS));
    driven.runTo(60_000);
    assertEquals(none(), driven.sentSns(Segment.PUSH));
  }

  @Test
  void oneSkipCausesAnEarlyRetransmitIfThereIsNothingNew() {
    DrivenKcp driven = new DrivenKcp(counting());
    driven.sendSegments(2);
    driven.sent();
    driven.receiveBatch(driven.ack(1, TS));
    assertEquals(none(), driven.sentSns(Segment.PUSH));
    driven.runTo(20_000);
    assertEquals(List.of(0), driven.sentSns(Segment.PUSH));
    assertEquals(1, driven.count(KcpCounter.EARLY_RETRANSMITTED));
  }

  @Test
  void ackOfAnEarlierTransmissionSkipsNothing() {
    DrivenKcp driven = new DrivenKcp(counting().fastRetransmit(1));
    driven.sendSegments(2);
    driven.runTo(200_000);
    driven.sent();
    driven.receiveBatch(driven.ack(1, TS));
    assertEquals(none(), driven.sentSns(Segment.PUSH));
    assertEquals(1, driven.kcp.stats().inFlight());
  }

  /** Others of a lossy link may be acknowledged meanwhile. */
  @ParameterizedTest
  @ValueSource(ints = {300, 5_000})
  void linkIsDeadWhenOneSegmentIsSentTwentyTimesAndForTheUserTimeout(int timeoutMs) {
    DrivenKcp driven = new DrivenKcp(counting().userTimeoutMs(timeoutMs));
    driven.sendSegments(1);
    for (int ms = 0; driven.kcp.failure() == null; ms += 100) {
      assertTrue(ms < timeoutMs + 100 || driven.count(KcpCounter.RETRANSMITTED) < 19, ms + " ms");
      driven.sendSegments(1);
      driven.receiveBatch(driven.ack(ms / 100 + 1, TS + ms));
      driven.runTo((ms + 100) * 1_000L);
    }
    assertEquals(EndReason.DEAD_LINK, driven.kcp.failure());
    assertTrue(driven.count(KcpCounter.RETRANSMITTED) >= 19);
    assertTrue(driven.nowUs >= timeoutMs * 1_000L);
    assertEquals(InputResult.SESSION_ENDED, driven.input(driven.wins()));
    assertEquals(Time.NO_DEADLINE, driven.kcp.nextDeadline());
  }

  @Test
  void linkIsDeadAfterTooLongWithoutProgress() {
    DrivenKcp driven = new DrivenKcp(counting().userTimeoutMs(1000));
    driven.runTo(5_000_000);
    driven.sendSegments(2);
    driven.runTo(5_100_000);
    driven.receiveBatch(driven.ack(1, TS + 5000));
    driven.runTo(6_099_999);
    assertNull(driven.kcp.failure());
    driven.runTo(6_100_000);
    assertEquals(EndReason.USER_TIMEOUT, driven.kcp.failure());
  }

  @Test
  void driverStallDoesNotCountAsMissingProgress() {
    DrivenKcp driven = new DrivenKcp(counting().userTimeoutMs(1000));
    driven.sendSegments(1);
    driven.nowUs = 50_000_000; // a pause of the whole process, from the first timeout at 200 ms on
    driven.runTo(50_799_999);
    assertNull(driven.kcp.failure());
    driven.runTo(50_800_000);
    assertEquals(EndReason.USER_TIMEOUT, driven.kcp.failure());
  }

  @Test
  void resolutionOfTimersDoesNotExtendTheProgressTimeout() {
    DrivenKcp driven = new DrivenKcp(counting().userTimeoutMs(1000));
    driven.sendSegments(1);
    for (int timeout = 0; timeout < 2; timeout++) {
      driven.nowUs = driven.kcp.nextDeadline() + 999;
      driven.kcp.flush(driven.nowUs, driven);
    }
    assertEquals(2, driven.count(KcpCounter.TIMED_OUT));
    driven.runTo(999_999);
    assertNull(driven.kcp.failure());
    driven.runTo(1_000_000);
    assertEquals(EndReason.USER_TIMEOUT, driven.kcp.failure());
  }

  @Test
  void missingProgressWithNothingInFlightIsNoFailure() {
    DrivenKcp driven = new DrivenKcp(counting().userTimeoutMs(1000));
    driven.sendSegments(1);
    driven.peerUna = 1;
    driven.receiveBatch(driven.wins());
    assertEquals(Time.NO_DEADLINE, driven.kcp.nextDeadline());
    driven.runTo(1_000_000_000);
    driven.sendSegments(1);
    driven.runTo(1_000_999_999);
    assertNull(driven.kcp.failure());
  }

  @Test
  void bothChecksCanBeOff() {
    DrivenKcp driven = new DrivenKcp(counting().userTimeoutMs(0));
    driven.sendSegments(1);
    driven.runTo(10_000_000_000L);
    assertNull(driven.kcp.failure());
    assertTrue(driven.count(KcpCounter.TIMED_OUT) > 100);
  }

  @Test
  void acknowledgementsReadAfterAPauseAreNoTimeouts() {
    DrivenKcp driven = new DrivenKcp(counting());
    driven.sendSegments(10);
    driven.sent();
    driven.nowUs = 20_000_000;
    driven.peerUna = 10;
    driven.receiveBatch(driven.ack(9, TS));
    driven.runTo(20_000_000);
    assertEquals(none(), driven.sentCmds());
    assertEquals(0, driven.count(KcpCounter.TIMED_OUT));
    assertNull(driven.kcp.failure());
  }

  @Test
  void segmentsWhoseAcksAllArrivedAreDoneThoughUnaLagsBehind() {
    DrivenKcp driven = new DrivenKcp(counting().sendWindow(2).sendQueue(9));
    driven.sendSegments(4);
    assertEquals(List.of(0, 1), driven.sentSns(Segment.PUSH));
    driven.receiveBatch(driven.ack(1, TS));
    assertEquals(none(), driven.sentSns(Segment.PUSH));
    driven.receiveBatch(driven.ack(0, TS));
    assertEquals(List.of(2, 3), driven.sentSns(Segment.PUSH));
    driven.receiveBatch(driven.ack(2, TS), driven.ack(3, TS));
    assertTrue(driven.kcp.isDrained());
    driven.assertNothingHeld();
  }

  @Test
  void invalidTimestampAcknowledgesAndGivesNoRoundTrip() {
    DrivenKcp driven = new DrivenKcp(counting());
    driven.sendSegments(3);
    driven.runTo(50_000);
    int rto = driven.kcp.stats().rtoUs();
    driven.receiveBatch(
        driven.ack(0, TS - 1), driven.ack(1, TS + 1), driven.ack(2, TS - 0x20000000));
    assertEquals(3, driven.count(KcpCounter.INVALID_TIMESTAMP));
    assertEquals(rto, driven.kcp.stats().rtoUs());
    assertEquals(0, driven.kcp.stats().inFlight());
  }

  @Test
  void timestampIsValidatedBeforeTheUnaOfTheSameDatagram() {
    DrivenKcp driven = new DrivenKcp(counting());
    driven.sendSegments(2);
    driven.runTo(50_000);
    driven.peerUna = 2;
    driven.receiveBatch(driven.ack(1, TS));
    assertEquals(50_000, driven.kcp.stats().srttUs());
    assertEquals(0, driven.count(KcpCounter.INVALID_TIMESTAMP));
  }

  @Test
  void everyTransmissionOfASegmentGivesARoundTrip() {
    DrivenKcp driven = new DrivenKcp(counting());
    driven.sendSegments(1);
    driven.runTo(210_000);
    driven.receiveBatch(driven.ack(0, TS));
    assertEquals(210_000, driven.kcp.stats().srttUs());
    driven.sendSegments(1);
    driven.runTo(3_000_000);
    long last =
        driven.sent().stream()
            .filter(segment -> segment.sn() == 1)
            .mapToInt(SentSegment::ts)
            .max()
            .orElseThrow();
    driven.receiveBatch(driven.ack(1, (int) last));
    assertTrue(driven.kcp.stats().srttUs() < 800_000);
    assertEquals(0, driven.count(KcpCounter.INVALID_TIMESTAMP));
  }

  @Test
  void roundTripBelowAMillisecondIsExact() {
    DrivenKcp driven = new DrivenKcp(counting().intervalMs(1));
    driven.nowUs = 5_900;
    driven.sendSegments(1);
    driven.nowUs = 6_200;
    driven.receiveBatch(driven.ack(0, TS + 5));
    assertEstimate(driven, 300, 150, 30_000);

    driven.sendSegments(1);
    driven.nowUs = 8_200;
    driven.receiveBatch(driven.ack(1, TS + 6));
    // 300 + 1700/8; 150 + (1700 - 150)/4
    assertEstimate(driven, 512, 537, 30_000);
  }

  @Test
  void roundTripWithinOneMillisecondIsMeasured() {
    DrivenKcp driven = new DrivenKcp(counting());
    driven.nowUs = 5_100;
    driven.sendSegments(1);
    driven.nowUs = 5_400;
    driven.receiveBatch(driven.ack(0, TS + 5));
    assertEstimate(driven, 300, 150, 30_000);
  }

  private static void assertEstimate(DrivenKcp driven, int srttUs, int rttVarUs, int rtoUs) {
    KcpStats stats = driven.kcp.stats();
    assertEquals(srttUs, stats.srttUs(), "srtt");
    assertEquals(rttVarUs, stats.rttVarUs(), "rttVar");
    assertEquals(rtoUs, stats.rtoUs(), "rto");
  }

  /** A session whose only segment was sent at 300 us and again at 200300 us. */
  private static DrivenKcp retransmitted() {
    DrivenKcp driven = new DrivenKcp(counting().userTimeoutMs(0));
    driven.nowUs = 300;
    driven.sendSegments(1);
    driven.runTo(200_300);
    assertEquals(List.of(TS, TS + 200), driven.sent().stream().map(SentSegment::ts).toList());
    return driven;
  }

  @Test
  void roundTripOfAnEarlierTransmissionIsInWholeMilliseconds() {
    DrivenKcp driven = retransmitted();
    driven.nowUs = 203_900;
    driven.receiveBatch(driven.ack(0, TS));
    assertEquals(203_000, driven.kcp.stats().srttUs());
    assertEquals(0, driven.count(KcpCounter.INVALID_TIMESTAMP));
  }

  @Test
  void roundTripOfARetransmissionIsExact() {
    DrivenKcp driven = retransmitted();
    driven.nowUs = 203_900;
    driven.receiveBatch(driven.ack(0, TS + 200));
    assertEquals(3_600, driven.kcp.stats().srttUs());
  }

  @Test
  void roundTripCountsAsTheLargestTimeoutAtMost() {
    assertRoundTrip(59_999_999, 59_999_999);
    assertRoundTrip(60_000_000, 60_000_001);
    assertRoundTrip(60_000_000, 100_000_000_000L);
  }

  private static void assertRoundTrip(int expectedUs, long us) {
    DrivenKcp driven = new DrivenKcp(counting());
    driven.sendSegments(1);
    driven.nowUs = us;
    driven.receiveBatch(driven.ack(0, TS));
    assertEstimate(driven, expectedUs, expectedUs / 2, 60_000_000);
  }

  /** 5000 s are more microseconds than an int holds. */
  @Test
  void roundTripOfAnEarlierTransmissionCountsAsTheLargestTimeoutAtMost() {
    DrivenKcp driven = retransmitted();
    driven.runTo(5_000_000_000L);
    driven.receiveBatch(driven.ack(0, TS));
    assertEstimate(driven, 60_000_000, 30_000_000, 60_000_000);
  }

  /** A session with 4096 segments to send, which the windows do not hold back. */
  private static DrivenKcp wide(int burst) {
    DrivenKcp driven =
        new DrivenKcp(
                counting()
                    .congestionControl(mss -> CongestionControl.NONE.create(mss))
                    .sendWindow(4096)
                    .sendQueue(4096)
                    .maxBurst(burst))
            .acknowledged();
    driven.peerWnd = 4096;
    driven.receiveBatch(driven.wins());
    driven.sendSegments(4096);
    return driven;
  }

  /** As an application that writes, and a peer that sends, would have it flushed. */
  private static void flushOften(DrivenKcp driven, long untilUs) {
    while (driven.nowUs < untilUs) {
      driven.runTo(driven.nowUs + 1_000);
      for (int i = 0; i < 10; i++) {
        driven.kcp.flush(driven.nowUs, driven);
      }
    }
  }

  @Test
  void retransmissionsThatWaitForTheBurstAreNotSearchedForInEachFlush() {
    DrivenKcp driven = wide(0);
    assertEquals(4096, driven.sentSns(Segment.PUSH).size());
    driven.kcp.reconfigure(driven.kcp.config().toBuilder().maxBurst(64).build());
    flushOften(driven, 200_000 + 63_000);
    assertEquals(IntStream.range(0, 4096).boxed().toList(), driven.sentSns(Segment.PUSH));
    long visits = driven.kcp.sender.losses.order.visits();
    assertTrue(visits <= 2 * 4096, "" + visits);
  }

  @Test
  void segmentsThatTimeOutAsFastAsBurstsLeaveAreNotAllSearchedInEachFlush() {
    DrivenKcp driven = wide(64);
    flushOften(driven, 63_000);
    assertEquals(4096, driven.sentSns(Segment.PUSH).size());
    flushOften(driven, 200_000 + 63_000);
    assertEquals(IntStream.range(0, 4096).boxed().toList(), driven.sentSns(Segment.PUSH));
    long visits = driven.kcp.sender.losses.order.visits();
    assertTrue(visits <= 2 * 4096, "" + visits);
  }
}
