package io.kcp4j.internal.arq;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kcp4j.CongestionControl;
import io.kcp4j.KcpConfig;
import io.kcp4j.KcpCounter;
import io.kcp4j.internal.wire.Segment;
import java.util.List;
import org.junit.jupiter.api.Test;

/** What a session with loss detection by time retransmits and acknowledges, and when. */
class KcpRackTest {

  private static final int TS = DrivenKcp.TS_ORIGIN;
  private static final int RTT_US = 20_000;

  private final DrivenKcp driven =
      new DrivenKcp(KcpConfig.builder().maxBurst(0).congestionControl(CongestionControl.NONE));

  /** Sends {@code segments}, and two more 5 ms later, of which the last is acknowledged. */
  private void lose(int segments) {
    driven.sendSegments(segments);
    driven.nowUs = 5_000;
    driven.sendSegments(2);
    driven.sent();
    driven.nowUs = 5_000 + RTT_US;
  }

  @Test
  void segmentIsRetransmittedAtOnceWhenALaterOneHasArrived() {
    lose(1);
    driven.receiveBatch(driven.ack(2, TS + 5));
    assertEquals(1, driven.count(KcpCounter.TIME_THRESHOLD_RETRANSMITTED));
    assertEquals(1, driven.count(KcpCounter.RETRANSMITTED));
  }

  @Test
  void segmentSentWithTheOneThatHasArrivedWaitsForTheNextAcknowledgement() {
    lose(0);
    driven.receiveBatch(driven.ack(1, TS + 5));
    assertEquals(List.of(), driven.sentSns(Segment.PUSH));
    assertEquals(5_000 + RTT_US + 20_000 + 1_000, driven.kcp.nextDeadline(), "the interval");
    driven.runTo(driven.kcp.nextDeadline());
    assertEquals(1, driven.count(KcpCounter.TIME_THRESHOLD_RETRANSMITTED));
  }

  @Test
  void retransmissionsOfThinTrafficLeaveTwiceInDatagramsOfTheirOwn() {
    lose(1);
    long before = driven.count(KcpCounter.DATAGRAMS_OUT);
    driven.receiveBatch(driven.ack(2, TS + 5));
    assertEquals(List.of(0, 0), driven.sentSns(Segment.PUSH));
    assertEquals(2, driven.count(KcpCounter.DATAGRAMS_OUT) - before);
    assertEquals(1, driven.count(KcpCounter.RETRANSMITTED));
    assertEquals(1, driven.count(KcpCounter.COPIES_OUT));
  }

  @Test
  void copiesFollowTheOrderOfTheRetransmissions() {
    driven.acknowledged();
    driven.sendSegments(3);
    driven.sent();
    driven.runTo(driven.kcp.nextDeadline());
    assertEquals(List.of(0, 1, 2, 0, 1, 2), driven.sentSns(Segment.PUSH));
  }

  @Test
  void segmentsThatAcksShowToBeLostLeaveTwiceWhile64KibibytesAreInFlight() {
    driven.receiveBatch(driven.wins());
    lose(40);
    driven.receiveBatch(driven.ack(41, TS + 5));
    assertEquals(80, driven.sentSns(Segment.PUSH).size());
    assertEquals(40, driven.count(KcpCounter.COPIES_OUT));
  }

  @Test
  void retransmissionsOfMoreInFlightLeaveOnce() {
    driven.receiveBatch(driven.wins());
    lose(60);
    driven.receiveBatch(driven.ack(61, TS + 5));
    assertEquals(60, driven.sentSns(Segment.PUSH).size());
    assertEquals(0, driven.count(KcpCounter.COPIES_OUT));
  }

  @Test
  void segmentsThatTimeOutLeaveOnceWhileMoreThanThinTrafficIsInFlight() {
    driven.acknowledged();
    driven.sendSegments(20);
    driven.sent();
    driven.runTo(driven.kcp.nextDeadline());
    assertEquals(20, driven.sentSns(Segment.PUSH).size());
    assertEquals(0, driven.count(KcpCounter.COPIES_OUT));
  }

  @Test
  void copyIsNoTransmission() {
    DrivenKcp dying = new DrivenKcp(KcpConfig.builder());
    dying.sendSegments(1);
    dying.runTo(200_000);
    assertEquals(1, dying.count(KcpCounter.COPIES_OUT));
    assertTrue(dying.kcp.failure() == null, "two transmissions and a copy");
  }

  @Test
  void acknowledgementOfThinTrafficWaitsTwoMilliseconds() {
    driven.nowUs = 500;
    driven.receiveBatch(driven.push(0, DrivenKcp.bytes(10)));
    assertEquals(List.of(), driven.sentSns(Segment.ACK));
    assertEquals(2_000, driven.kcp.nextDeadline());
    driven.runTo(2_000);
    assertEquals(List.of(0), driven.sentSns(Segment.ACK));
  }

  @Test
  void acknowledgementOfThinTrafficNeverWaitsLongerThanTheInterval() {
    DrivenKcp fast = new DrivenKcp(KcpConfig.builder().intervalMs(1));
    fast.receiveBatch(fast.push(0, DrivenKcp.bytes(10)));
    assertEquals(1_000, fast.kcp.nextDeadline());
  }

  @Test
  void acknowledgementOfManySegmentsWaitsForTheInterval() {
    for (int sn = 0; sn < 17; sn++) {
      driven.input(driven.push(sn, DrivenKcp.bytes(10)));
    }
    driven.kcp.afterInput(0, driven);
    assertEquals(20_000, driven.kcp.nextDeadline());
    driven.runTo(20_000);
    driven.sent();
    driven.receiveBatch(driven.push(17, DrivenKcp.bytes(10)));
    assertEquals(40_000, driven.kcp.nextDeadline(), "the traffic is not known to be thin yet");
    driven.runTo(40_000);
    driven.receiveBatch(driven.push(18, DrivenKcp.bytes(10)));
    assertEquals(42_000, driven.kcp.nextDeadline());
  }

  @Test
  void segmentBeyondAGapIsAcknowledgedAtOnceAndSoIsTheOneThatClosesIt() {
    driven.receiveBatch(driven.push(1, DrivenKcp.bytes(10)));
    assertEquals(List.of(1), driven.sentSns(Segment.ACK));
    driven.receiveBatch(driven.push(0, DrivenKcp.bytes(10)));
    assertEquals(List.of(0), driven.sentSns(Segment.ACK));
  }

  @Test
  void duplicateIsNotAcknowledgedAtOnce() {
    driven.receiveBatch(driven.push(1, DrivenKcp.bytes(10)));
    driven.sent();
    driven.receiveBatch(driven.push(1, DrivenKcp.bytes(10)));
    assertEquals(List.of(), driven.sentSns(Segment.ACK));
  }

  @Test
  void withDetectionByCountAcknowledgementsWaitForTheIntervalAtGapsToo() {
    DrivenKcp counting = new DrivenKcp(DrivenKcp.counting());
    counting.receiveBatch(counting.push(1, DrivenKcp.bytes(10)));
    assertEquals(List.of(), counting.sentSns(Segment.ACK));
    assertEquals(20_000, counting.kcp.nextDeadline());
  }
}
