package io.kcp4j.internal.recovery;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kcp4j.KcpConfig;
import io.kcp4j.KcpCounter;
import io.kcp4j.KcpTracer.Origin;
import io.kcp4j.internal.arq.DrivenKcp;
import io.kcp4j.internal.wire.Segment;
import io.netty.buffer.ByteBuf;
import java.util.List;
import org.junit.jupiter.api.Test;

/** What leaves twice, and when: {@link Redundancy} alone, and in a session. */
class RedundancyTest {

  private static final int TS = DrivenKcp.TS_ORIGIN;
  private static final int RTT_US = 20_000;

  private final RttEstimator rtt = new RttEstimator();
  private final Redundancy redundancy = new Redundancy(rtt);
  private final DrivenKcp driven = new DrivenKcp(KcpConfig.builder().maxBurst(0));

  private void sampleRtt(int rttUs, long nowUs) {
    rtt.sample(rttUs, 0);
    rtt.sampleMinRtt(rttUs, nowUs);
  }

  private boolean isForAcks(long nowUs) {
    redundancy.flush(nowUs);
    return redundancy.isForAcks();
  }

  /** So many losses, and none for a long time after them. */
  private void loseLongAgo(int losses) {
    for (int i = 0; i < losses; i++) {
      redundancy.retransmissionNeeded();
    }
    redundancy.flush(0);
    redundancy.flush(10_000_000);
  }

  @Test
  void onlyRetransmissionsLeaveTwiceAtFirst() {
    assertTrue(redundancy.isForRetransmissions());
    assertFalse(isForAcks(0));
  }

  @Test
  void acksLeaveTwiceForTenSecondsAfterALossOfEitherSide() {
    redundancy.retransmissionNeeded();
    assertTrue(isForAcks(5_000_000));
    assertTrue(isForAcks(14_999_999));
    assertFalse(isForAcks(15_000_000));
    redundancy.segmentLost();
    assertTrue(isForAcks(16_000_000));
  }

  @Test
  void spuriousRetransmissionIsNoLoss() {
    redundancy.retransmissionSpurious();
    assertFalse(isForAcks(0));
  }

  @Test
  void withoutLossesRetransmissionsLeaveOnceWhileMostAreSpurious() {
    for (int i = 0; i < 100; i++) {
      redundancy.retransmissionSpurious();
    }
    loseLongAgo(7);
    assertFalse(redundancy.isForRetransmissions());
    loseLongAgo(1);
    assertTrue(redundancy.isForRetransmissions());
  }

  @Test
  void aFewSpuriousRetransmissionsAfterManyThatWereNeededDoNotMatter() {
    loseLongAgo(100);
    for (int i = 0; i < 8; i++) {
      redundancy.retransmissionSpurious();
    }
    assertTrue(redundancy.isForRetransmissions());
    redundancy.retransmissionSpurious();
    assertFalse(redundancy.isForRetransmissions());
  }

  @Test
  void onALossyPathRetransmissionsLeaveTwiceThoughMostAreSpurious() {
    for (int i = 0; i < 100; i++) {
      redundancy.retransmissionSpurious();
    }
    redundancy.segmentLost();
    redundancy.flush(0);
    assertTrue(redundancy.isForRetransmissions());
    redundancy.flush(10_000_000);
    assertFalse(redundancy.isForRetransmissions());
  }

  @Test
  void nothingLeavesTwiceWhileAQueueIsOnThePath() {
    redundancy.retransmissionNeeded();
    sampleRtt(RTT_US, 0);
    for (int i = 0; i < 100; i++) {
      sampleRtt(2 * RTT_US + 29_000, 0);
    }
    assertTrue(isForAcks(0));
    assertTrue(redundancy.isForRetransmissions());
    for (int i = 0; i < 100; i++) {
      sampleRtt(2 * RTT_US + 32_000, 0);
    }
    assertFalse(isForAcks(0));
    assertFalse(redundancy.isForRetransmissions());
  }

  @Test
  void nothingLeavesTwiceWhileRoundTripsVaryAsOnlyAQueueMakesThem() {
    redundancy.retransmissionNeeded();
    for (int i = 0; i < 100; i++) { // The shortest of them do not show an empty queue, either.
      sampleRtt(i % 2 == 0 ? 2 * RTT_US : 4 * RTT_US, 0);
    }
    assertFalse(isForAcks(0));
    assertFalse(redundancy.isForRetransmissions());
    for (int i = 0; i < 100; i++) {
      sampleRtt(2 * RTT_US + i % 2 * 5_000, 0);
    }
    assertTrue(isForAcks(0));
    assertTrue(redundancy.isForRetransmissions());
  }

  @Test
  void roundTripsThatVaryWithAnAckIntervalOf40MsShowNoQueue() {
    redundancy.retransmissionNeeded();
    for (int i = 0; i < 16; i++) { // The first sample counts as a variation of half of it.
      sampleRtt(RTT_US + i * 17 % 40 * 1_000, 0);
    }
    for (int i = 16; i < 1000; i++) {
      sampleRtt(RTT_US + i * 17 % 40 * 1_000, 0);
      assertTrue(isForAcks(0), "after sample " + i);
    }
  }

  /** A segment of the peer, sent {@code ts} ms after time 0 of the peer. */
  private void receive(int sn, int ts) {
    driven.receiveBatch(driven.segment(Segment.PUSH, 0, ts, sn, DrivenKcp.bytes(10)));
  }

  /** FEC makes a segment again that the peer has sent. */
  private void recover(int sn, int ts) {
    ByteBuf segment = driven.segment(Segment.PUSH, 0, ts, sn, DrivenKcp.bytes(10));
    driven.kcp.input(segment, Origin.RECOVERED, driven.nowUs);
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
  void newSegmentThatFecRecoversWasLost() {
    receive(0, 0);
    recover(0, 0);
    acksUntil(20_000);
    receive(1, 16);
    assertEquals(List.of(), driven.sentSns(Segment.ACK), "nothing new was recovered");
    recover(2, 32);
    acksUntil(40_000);
    receive(3, 48);
    assertEquals(List.of(3), driven.sentSns(Segment.ACK), "at once");
    assertEquals(List.of(3), acksUntil(50_000), "and again");
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
    driven.kcp.probe();
    driven.kcp.flush(driven.nowUs, driven);
    driven.nowUs += 10_000_000; // The path is not lossy any more.
    timeOut(1, true);
    timeOut(2, true);
    assertEquals(3, driven.count(KcpCounter.COPIES_OUT));
    assertEquals(2, driven.count(KcpCounter.SPURIOUSLY_RETRANSMITTED));
    timeOut(3, true);
    assertEquals(3, driven.count(KcpCounter.COPIES_OUT));
  }
}
