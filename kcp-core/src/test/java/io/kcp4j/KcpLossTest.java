package io.kcp4j;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** Loss detection in a session. The first timeout is 200 ms. */
class KcpLossTest {

  private static final int TS = DrivenKcp.TS_ORIGIN;

  private static List<Integer> none() {
    return List.of();
  }

  @Test
  void lostSegmentIsRetransmittedAfterOneRto() {
    DrivenKcp driven = new DrivenKcp(KcpConfig.DEFAULT);
    driven.sendSegments(1);
    assertEquals(List.of(0), driven.sentSns(Segment.PUSH));
    driven.runTo(199);
    assertEquals(none(), driven.sentCmds());
    driven.runTo(200);
    SentSegment again = driven.sent().get(0);
    assertEquals(0, again.sn());
    assertEquals(TS + 200, again.ts());
    assertEquals(DrivenKcp.bytes(1376), again.payload());
    assertEquals(1, driven.count(KcpCounter.TIMED_OUT));
    assertEquals(1, driven.count(KcpCounter.RETRANSMITTED));
  }

  @Test
  void timeoutGrowsByHalfWithNoDelay() {
    assertRetransmittedAt(true, 200, 500, 950, 1625);
  }

  @Test
  void timeoutDoublesWithoutNoDelay() {
    assertRetransmittedAt(false, 200, 600, 1400, 3000);
  }

  private static void assertRetransmittedAt(boolean noDelay, int... times) {
    DrivenKcp driven = new DrivenKcp(KcpConfig.builder().noDelay(noDelay));
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
    DrivenKcp driven = new DrivenKcp(KcpConfig.builder().deadLink(0).progressTimeoutMs(0));
    driven.sendSegments(3);
    driven.runTo(10_000);
    assertTrue(driven.kcp.nextDeadline() > 10_300);
    driven.sent();
    driven.peerUna = 1;
    driven.receiveBatch(driven.wins());
    assertEquals(10_200, driven.kcp.nextDeadline()); // no round trip has been measured: 200 ms
    driven.runTo(10_200);
    assertEquals(List.of(1), driven.sentSns(Segment.PUSH));
  }

  @Test
  void acknowledgedSegmentIsNotRetransmitted() {
    DrivenKcp driven = new DrivenKcp(KcpConfig.builder().earlyRetransmit(false));
    driven.sendSegments(3);
    driven.sent();
    driven.receiveBatch(driven.ack(1, TS));
    driven.runTo(200);
    assertEquals(List.of(0, 2), driven.sentSns(Segment.PUSH));
  }

  @Test
  void skipCountAtTheThresholdCausesAFastRetransmit() {
    DrivenKcp driven = new DrivenKcp(KcpConfig.builder().fastRetransmit(3).earlyRetransmit(false));
    driven.sendSegments(5);
    driven.sent();
    driven.receiveBatch(driven.ack(1, TS), driven.ack(2, TS));
    assertEquals(none(), driven.sentSns(Segment.PUSH));
    driven.receiveBatch(driven.ack(4, TS));
    assertEquals(List.of(0), driven.sentSns(Segment.PUSH));
    assertEquals(1, driven.count(KcpCounter.FAST_RETRANSMITTED));
    assertEquals(2, driven.kcp.stats().inFlight(), "the skip count of 3 is 1");
  }

  @Test
  void retransmissionResetsTheSkipCount() {
    DrivenKcp driven = new DrivenKcp(KcpConfig.builder().earlyRetransmit(false));
    driven.sendSegments(5);
    driven.receiveBatch(driven.ack(1, TS), driven.ack(2, TS));
    assertEquals(1, driven.count(KcpCounter.FAST_RETRANSMITTED));
    driven.receiveBatch(driven.ack(3, TS), driven.ack(4, TS));
    assertEquals(
        1, driven.count(KcpCounter.FAST_RETRANSMITTED), "sent before the retransmission of 0");
  }

  @Test
  void fastRetransmitCanBeOff() {
    DrivenKcp driven = new DrivenKcp(KcpConfig.builder().fastRetransmit(0));
    driven.sendSegments(5);
    driven.sent();
    driven.receiveBatch(driven.ack(1, TS), driven.ack(2, TS), driven.ack(3, TS), driven.ack(4, TS));
    driven.runTo(60);
    assertEquals(none(), driven.sentSns(Segment.PUSH));
  }

  @Test
  void oneSkipCausesAnEarlyRetransmitIfThereIsNothingNew() {
    DrivenKcp driven = new DrivenKcp(KcpConfig.DEFAULT);
    driven.sendSegments(2);
    driven.sent();
    driven.receiveBatch(driven.ack(1, TS));
    assertEquals(none(), driven.sentSns(Segment.PUSH));
    driven.runTo(20);
    assertEquals(List.of(0), driven.sentSns(Segment.PUSH));
    assertEquals(1, driven.count(KcpCounter.EARLY_RETRANSMITTED));
  }

  @Test
  void earlyRetransmitCanBeOff() {
    DrivenKcp driven = new DrivenKcp(KcpConfig.builder().earlyRetransmit(false));
    driven.sendSegments(2);
    driven.sent();
    driven.receiveBatch(driven.ack(1, TS));
    driven.runTo(50);
    assertEquals(none(), driven.sentSns(Segment.PUSH));
  }

  @Test
  void ackOfAnEarlierTransmissionSkipsNothing() {
    DrivenKcp driven = new DrivenKcp(KcpConfig.builder().fastRetransmit(1));
    driven.sendSegments(2);
    driven.runTo(200);
    driven.sent();
    driven.receiveBatch(driven.ack(1, TS));
    assertEquals(none(), driven.sentSns(Segment.PUSH));
    assertEquals(1, driven.kcp.stats().inFlight());
  }

  @Test
  void linkIsDeadWhenOneSegmentWasSentTooOften() {
    DrivenKcp driven = new DrivenKcp(KcpConfig.builder().deadLink(3));
    driven.sendSegments(1);
    driven.runTo(499);
    assertNull(driven.kcp.failure());
    driven.runTo(500);
    assertEquals(KcpFailure.DEAD_LINK, driven.kcp.failure());
    assertEquals(InputResult.SESSION_ENDED, driven.input(driven.wins()));
    assertEquals(Kcp.NO_DEADLINE, driven.kcp.nextDeadline());
  }

  @Test
  void linkIsDeadAfterTooLongWithoutProgress() {
    DrivenKcp driven = new DrivenKcp(KcpConfig.builder().deadLink(0).progressTimeoutMs(1000));
    driven.runTo(5000);
    driven.sendSegments(2);
    driven.runTo(5100);
    driven.receiveBatch(driven.ack(1, TS + 5000));
    driven.runTo(6099);
    assertNull(driven.kcp.failure());
    driven.runTo(6100);
    assertEquals(KcpFailure.NO_PROGRESS, driven.kcp.failure());
  }

  @Test
  void driverStallDoesNotCountAsMissingProgress() {
    DrivenKcp driven = new DrivenKcp(KcpConfig.builder().deadLink(0).progressTimeoutMs(1000));
    driven.sendSegments(1);
    driven.nowMs = 50_000; // a pause of the whole process, from the first timeout at 200 on
    driven.runTo(50_799);
    assertNull(driven.kcp.failure());
    driven.runTo(50_800);
    assertEquals(KcpFailure.NO_PROGRESS, driven.kcp.failure());
  }

  @Test
  void missingProgressWithNothingInFlightIsNoFailure() {
    DrivenKcp driven = new DrivenKcp(KcpConfig.builder().deadLink(0).progressTimeoutMs(1000));
    driven.sendSegments(1);
    driven.peerUna = 1;
    driven.receiveBatch(driven.wins());
    assertEquals(Kcp.NO_DEADLINE, driven.kcp.nextDeadline());
    driven.runTo(1_000_000);
    driven.sendSegments(1);
    driven.runTo(1_000_999);
    assertNull(driven.kcp.failure());
  }

  @Test
  void bothChecksCanBeOff() {
    DrivenKcp driven = new DrivenKcp(KcpConfig.builder().deadLink(0).progressTimeoutMs(0));
    driven.sendSegments(1);
    driven.runTo(10_000_000);
    assertNull(driven.kcp.failure());
    assertTrue(driven.count(KcpCounter.TIMED_OUT) > 100);
  }

  @Test
  void acknowledgementsReadAfterAPauseAreNoTimeouts() {
    DrivenKcp driven = new DrivenKcp(KcpConfig.DEFAULT);
    driven.sendSegments(10);
    driven.sent();
    driven.nowMs = 20_000;
    driven.peerUna = 10;
    driven.receiveBatch(driven.ack(9, TS));
    driven.runTo(20_000);
    assertEquals(none(), driven.sentCmds());
    assertEquals(0, driven.count(KcpCounter.TIMED_OUT));
    assertNull(driven.kcp.failure());
  }

  @Test
  void segmentsWhoseAcksAllArrivedAreDoneThoughUnaLagsBehind() {
    DrivenKcp driven = new DrivenKcp(KcpConfig.builder().sendWindow(2).sendQueue(9));
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
    DrivenKcp driven = new DrivenKcp(KcpConfig.DEFAULT);
    driven.sendSegments(3);
    driven.runTo(50);
    int rto = driven.kcp.stats().rtoMs();
    driven.receiveBatch(
        driven.ack(0, TS - 1), driven.ack(1, TS + 1), driven.ack(2, TS - 0x20000000));
    assertEquals(3, driven.count(KcpCounter.INVALID_TIMESTAMP));
    assertEquals(rto, driven.kcp.stats().rtoMs());
    assertEquals(0, driven.kcp.stats().inFlight());
  }

  @Test
  void timestampIsValidatedBeforeTheUnaOfTheSameDatagram() {
    DrivenKcp driven = new DrivenKcp(KcpConfig.DEFAULT);
    driven.sendSegments(2);
    driven.runTo(50);
    driven.peerUna = 2;
    driven.receiveBatch(driven.ack(1, TS));
    assertEquals(50, driven.kcp.stats().srttMs());
    assertEquals(0, driven.count(KcpCounter.INVALID_TIMESTAMP));
  }

  @Test
  void everyTransmissionOfASegmentGivesARoundTrip() {
    DrivenKcp driven = new DrivenKcp(KcpConfig.DEFAULT);
    driven.sendSegments(1);
    driven.runTo(210);
    driven.receiveBatch(driven.ack(0, TS));
    assertEquals(210, driven.kcp.stats().srttMs());
    driven.sendSegments(1);
    driven.runTo(3000);
    long last = driven.sent().stream().mapToInt(SentSegment::ts).max().orElseThrow();
    driven.receiveBatch(driven.ack(1, (int) last));
    assertTrue(driven.kcp.stats().srttMs() < 800);
    assertEquals(0, driven.count(KcpCounter.INVALID_TIMESTAMP));
  }

  private static DrivenKcp wide(int burst) {
    DrivenKcp driven = new DrivenKcp(KcpConfig.builder().sendWindow(4096).maxBurst(burst));
    driven.peerWnd = 4096;
    driven.receiveBatch(driven.wins());
    driven.sendSegments(4096);
    return driven;
  }

  /** As an application that writes, and a peer that sends, would have it flushed. */
  private static void flushOften(DrivenKcp driven, long untilMs) {
    while (driven.nowMs < untilMs) {
      driven.runTo(driven.nowMs + 1);
      for (int i = 0; i < 10; i++) {
        driven.kcp.flush(driven.nowMs, driven);
      }
    }
  }

  @Test
  void retransmissionsThatWaitForTheBurstAreNotSearchedForInEachFlush() {
    DrivenKcp driven = wide(0);
    assertEquals(4096, driven.sentSns(Segment.PUSH).size());
    driven.kcp.reconfigure(driven.kcp.config().toBuilder().maxBurst(64).build());
    flushOften(driven, 200 + 63);
    assertEquals(IntStream.range(0, 4096).boxed().toList(), driven.sentSns(Segment.PUSH));
    long visits = driven.kcp.losses.order.visits();
    assertTrue(visits <= 2 * 4096, "" + visits);
  }

  @Test
  void segmentsThatTimeOutAsFastAsBurstsLeaveAreNotAllSearchedInEachFlush() {
    DrivenKcp driven = wide(64);
    flushOften(driven, 63);
    assertEquals(4096, driven.sentSns(Segment.PUSH).size());
    flushOften(driven, 200 + 63);
    assertEquals(IntStream.range(0, 4096).boxed().toList(), driven.sentSns(Segment.PUSH));
    long visits = driven.kcp.losses.order.visits();
    assertTrue(visits <= 2 * 4096, "" + visits);
  }
}
