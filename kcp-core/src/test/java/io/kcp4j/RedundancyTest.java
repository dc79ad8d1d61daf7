package io.kcp4j;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import org.junit.jupiter.api.Test;

/** What leaves twice, and when: {@link Redundancy} alone, and in a session. */
class RedundancyTest {

  private static final int TS = DrivenKcp.TS_ORIGIN;
  private static final int RTT_US = 20_000;

  private final RttEstimator rtt = new RttEstimator();
  private final MinRtt minRtt = new MinRtt();
  private final Redundancy redundancy = new Redundancy(rtt, minRtt);
  private final DrivenKcp driven = new DrivenKcp(KcpConfig.builder().maxBurst(0));

  private void sampleRtt(int rttUs, long nowUs) {
    rtt.sample(rttUs);
    minRtt.sample(rttUs, nowUs);
  }

  @Test
  void onlyRetransmissionsLeaveTwiceAtFirst() {
    assertTrue(redundancy.isForRetransmissions());
    assertFalse(redundancy.isForAcks(0));
  }

  @Test
  void acksLeaveTwiceForTenSecondsAfterALossOfEitherSide() {
    redundancy.retransmissionNeeded();
    assertTrue(redundancy.isForAcks(5_000_000));
    assertTrue(redundancy.isForAcks(14_999_999));
    assertFalse(redundancy.isForAcks(15_000_000));
    redundancy.retransmissionReceived();
    assertTrue(redundancy.isForAcks(16_000_000));
  }

  @Test
  void spuriousRetransmissionIsNoLoss() {
    redundancy.retransmissionSpurious();
    assertFalse(redundancy.isForAcks(0));
  }

  @Test
  void retransmissionsLeaveOnceWhileMostAreSpurious() {
    for (int i = 0; i < 100; i++) {
      redundancy.retransmissionSpurious();
    }
    for (int i = 0; i < 8; i++) {
      assertFalse(redundancy.isForRetransmissions());
      redundancy.retransmissionNeeded();
    }
    assertTrue(redundancy.isForRetransmissions());
  }

  @Test
  void aFewSpuriousRetransmissionsAmongManyThatWereNeededDoNotMatter() {
    for (int i = 0; i < 100; i++) {
      redundancy.retransmissionNeeded();
    }
    for (int i = 0; i < 8; i++) {
      redundancy.retransmissionSpurious();
    }
    assertTrue(redundancy.isForRetransmissions());
    redundancy.retransmissionSpurious();
    assertFalse(redundancy.isForRetransmissions());
  }

  @Test
  void nothingLeavesTwiceWhileAQueueIsOnThePath() {
    redundancy.retransmissionNeeded();
    sampleRtt(RTT_US, 0);
    for (int i = 0; i < 100; i++) {
      sampleRtt(2 * RTT_US + 29_000, 0);
    }
    assertTrue(redundancy.isForAcks(0));
    assertTrue(redundancy.isForRetransmissions());
    for (int i = 0; i < 100; i++) {
      sampleRtt(2 * RTT_US + 32_000, 0);
    }
    assertFalse(redundancy.isForAcks(0));
    assertFalse(redundancy.isForRetransmissions());
  }

  /** A segment of the peer, sent {@code ts} ms after time 0 of the peer. */
  private void receive(int sn, int ts) {
    driven.receiveBatch(driven.segment(Segment.PUSH, 0, ts, sn, DrivenKcp.bytes(10)));
  }

  private List<Integer> acksUntil(long untilUs) {
    driven.runTo(untilUs);
    return driven.sentSns(Segment.ACK);
  }

  @Test
  void afterALossOfThePeerAcksLeaveAtOnceAndTwice() {
    receive(0, 0);
    assertEquals(List.of(0), acksUntil(10_000), "once");
    receive(2, 32);
    receive(1, 50); // retransmitted: sent after segment 2
    assertEquals(List.of(2, 1, 1), acksUntil(20_000));
    receive(3, 64);
    assertEquals(List.of(3), driven.sentSns(Segment.ACK), "at once");
    assertEquals(List.of(3), acksUntil(30_000), "and again");
  }

  @Test
  void reorderedSegmentIsNoLoss() {
    receive(0, 0);
    receive(2, 32);
    receive(1, 16);
    acksUntil(20_000);
    receive(3, 48);
    assertEquals(List.of(), driven.sentSns(Segment.ACK));
    assertEquals(List.of(3), acksUntil(30_000), "once");
  }

  @Test
  void duplicateIsNoLoss() {
    receive(0, 0);
    receive(0, 30);
    acksUntil(20_000);
    receive(1, 48);
    assertEquals(List.of(), driven.sentSns(Segment.ACK));
    assertEquals(List.of(1), acksUntil(30_000), "once");
  }

  /** Sends a segment, which times out, and acknowledges the transmission of {@code ackedTs}. */
  private void timeOut(int sn, boolean isSpurious) {
    int ts = TS + (int) (driven.nowUs / 1_000);
    driven.sendSegments(1);
    driven.sent();
    driven.runTo(driven.kcp.nextDeadline());
    assertEquals(1, driven.sentSns(Segment.PUSH).stream().distinct().count(), "timed out");
    int ackedTs = isSpurious ? ts : TS + (int) (driven.nowUs / 1_000);
    driven.runTo(driven.nowUs + 1_000);
    driven.peerUna = sn + 1;
    driven.receiveBatch(driven.ack(sn, ackedTs));
    driven.sent();
  }

  @Test
  void spuriousRetransmissionsEndTheCopies() {
    timeOut(0, false);
    assertEquals(1, driven.count(KcpCounter.COPIES_OUT));
    timeOut(1, true);
    timeOut(2, true);
    assertEquals(3, driven.count(KcpCounter.COPIES_OUT));
    assertEquals(2, driven.count(KcpCounter.SPURIOUSLY_RETRANSMITTED));
    timeOut(3, true);
    assertEquals(3, driven.count(KcpCounter.COPIES_OUT));
  }
}
