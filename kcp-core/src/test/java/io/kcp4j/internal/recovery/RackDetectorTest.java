package io.kcp4j.internal.recovery;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kcp4j.KcpConfig;
import io.kcp4j.KcpCounter;
import io.kcp4j.KcpCounters;
import io.kcp4j.KcpTracer.LossCause;
import io.kcp4j.internal.arq.KcpContext;
import io.kcp4j.internal.memory.MemoryAccount;
import io.kcp4j.internal.send.SendBuffer;
import io.netty.buffer.Unpooled;
import io.netty.buffer.UnpooledByteBufAllocator;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** {@link RackDetector} on a {@link SendBuffer} whose sequence numbers are about to wrap. */
class RackDetectorTest {

  private static final int FIRST = -3;

  /** Timestamps wrap, too. */
  private static final int TS_ORIGIN = -100;

  private static final int RTT_US = 20_000;
  private static final int WINDOW_US = 2_000;
  private static final int INTERVAL_US = 10_000;
  private static final int PAYLOAD_BYTES = 1376;
  private static final int THIN_SEGMENTS = RackDetector.THIN_BYTES / (24 + PAYLOAD_BYTES);

  private final RttEstimator rtt = new RttEstimator();
  private final KcpCounters counters = new KcpCounters();
  private final RackDetector losses = new RackDetector(rtt, new Redundancy(rtt), counters);
  private final SendBuffer buffer =
      new SendBuffer(
          new MemoryAccount(KcpContext.of(new UnpooledByteBufAllocator(true, true))),
          losses,
          new KcpContext.PerThread().sendRings,
          FIRST);

  @BeforeEach
  void configure() {
    KcpConfig config = KcpConfig.builder().intervalMs(10).build();
    losses.configure(config);
    rtt.configure(config);
  }

  @AfterEach
  void close() {
    buffer.close();
  }

  private static int ts(long nowUs) {
    return TS_ORIGIN + (int) (nowUs / 1_000);
  }

  private void sendNew(long nowUs) {
    sendNew(1, nowUs);
  }

  private void sendNew(int segments, long nowUs) {
    for (int i = 0; i < segments; i++) {
      buffer.append(Unpooled.buffer().writeZero(PAYLOAD_BYTES), PAYLOAD_BYTES, 0, PAYLOAD_BYTES);
    }
    buffer.sent(segments, ts(nowUs), nowUs);
  }

  private int index(int segment) {
    return buffer.index(FIRST + segment);
  }

  /** An ACK of the transmission at {@code sentAtUs} arrives, in a datagram of its own. */
  private void ack(int segment, long sentAtUs, long nowUs) {
    int rttUs = losses.rttUs(index(segment), ts(sentAtUs), ts(nowUs), nowUs);
    buffer.acknowledge(FIRST + segment, ts(sentAtUs), rttUs, nowUs);
    losses.endAcks(nowUs);
    rtt.sample(rttUs, 0);
    buffer.acknowledgeBelow(buffer.una(), nowUs);
    losses.endInput(nowUs);
  }

  private void una(int segment, long nowUs) {
    losses.unaAdvances(buffer.index(buffer.una()), nowUs);
    buffer.acknowledgeBelow(FIRST + segment, nowUs);
    losses.endInput(nowUs);
  }

  /** What one flush retransmits: segments, each with the initial letters of the cause. */
  private String flush(long nowUs) {
    StringBuilder sent = new StringBuilder();
    if (losses.isSearchDue(true, nowUs)) {
      for (int i;
          (i = losses.nextLost(true, buffer.index(buffer.una()), nowUs)) != LossDetector.NONE; ) {
        boolean isTime = losses.cause() == LossCause.TIME_THRESHOLD;
        sent.append(buffer.sn(i) - FIRST).append(isTime ? "t" : "p");
        losses.retransmitted(i, ts(nowUs), nowUs);
      }
    }
    return sent.toString();
  }

  private long spurious() {
    return counters.get(KcpCounter.SPURIOUSLY_RETRANSMITTED);
  }

  /** Sends segment 0, which arrives, so that the round-trip time is known. */
  private void measureRtt() {
    sendNew(0);
    ack(0, 0, RTT_US);
  }

  @Test
  void segmentIsLostAtOnceIfOneSentLaterByTheWindowHasArrived() {
    measureRtt();
    sendNew(30_000);
    sendNew(30_000 + WINDOW_US);
    assertFalse(losses.isLossDetected(30_000 + WINDOW_US + RTT_US));
    ack(2, 30_000 + WINDOW_US, 30_000 + WINDOW_US + RTT_US);
    assertTrue(losses.isLossDetected(30_000 + WINDOW_US + RTT_US));
    assertEquals("1t", flush(30_000 + WINDOW_US + RTT_US));
  }

  @Test
  void segmentsThatHaveTimedOutLeaveInTheOrderOfTheirLastTransmission() {
    measureRtt();
    sendNew(3, 30_000);
    losses.expire(index(1), 40_000);
    assertEquals("1p", flush(40_000));
    assertEquals("2p3p1p", flush(10_000_000));
  }

  @Test
  void segmentSentLessBeforeIsLostWhenTheNextAcknowledgementHasHadItsTime() {
    measureRtt();
    sendNew(30_000);
    sendNew(30_000 + WINDOW_US - 1);
    ack(2, 30_000 + WINDOW_US - 1, 30_000 + WINDOW_US - 1 + RTT_US);
    long lostAtUs = 30_000 + RTT_US + INTERVAL_US + 1_000;
    assertEquals("", flush(lostAtUs - 1));
    assertEquals(lostAtUs, losses.deadlineUs());
    assertEquals("1t", flush(lostAtUs));
  }

  @Test
  void everySegmentSentBeforeIsLostAndNoneSentAfter() {
    measureRtt();
    sendNew(3, 30_000);
    sendNew(40_000);
    sendNew(40_000);
    ack(4, 40_000, 40_000 + RTT_US);
    assertEquals("1t2t3t", flush(40_000 + RTT_US));
    assertEquals("", flush(40_000 + RTT_US + 5 * WINDOW_US), "5 was sent in the same flush as 4");
  }

  @Test
  void lostRetransmissionIsLostByALaterSegment() {
    measureRtt();
    sendNew(30_000);
    sendNew(40_000);
    ack(2, 40_000, 60_000);
    assertEquals("1t", flush(60_000));
    sendNew(63_000);
    ack(3, 63_000, 83_000);
    assertEquals("1t", flush(83_000));
    assertEquals(3, losses.transmissions(index(1)));
    assertEquals(0, spurious());
  }

  @Test
  void ackOfAnEarlierTransmissionIsSpuriousAndWidensTheWindow() {
    measureRtt();
    sendNew(30_000);
    sendNew(40_000);
    ack(2, 40_000, 60_000);
    assertEquals("1t", flush(60_000));
    ack(1, 30_000, 62_000); // 12 ms late
    assertEquals(1, spurious());
    assertEquals(RTT_US / 2, losses.windowUs(), "at most srtt / 2");
  }

  @Test
  void windowIsAMillisecondMoreThanTheSegmentWasLate() {
    measureRtt();
    sendNew(30_000);
    sendNew(34_000);
    ack(2, 34_000, 54_000);
    assertEquals("1t", flush(54_000));
    ack(1, 30_000, 55_000); // 5 ms late
    assertEquals(6_000, losses.windowUs());
  }

  @Test
  void unaSoonerThanARoundTripAfterARetransmissionIsSpurious() {
    measureRtt();
    sendNew(30_000);
    sendNew(34_000);
    ack(2, 34_000, 54_000);
    assertEquals("1t", flush(54_000));
    una(3, 54_000 + RTT_US - 1);
    assertEquals(1, spurious());
  }

  @Test
  void unaARoundTripAfterARetransmissionIsARecovery() {
    measureRtt();
    sendNew(30_000);
    sendNew(34_000);
    ack(2, 34_000, 54_000);
    assertEquals("1t", flush(54_000));
    una(3, 54_000 + RTT_US);
    assertEquals(0, spurious());
  }

  @Test
  void windowIsNarrowAgainAfterSixteenRecoveries() {
    measureRtt();
    sendNew(30_000);
    sendNew(34_000);
    ack(2, 34_000, 54_000);
    flush(54_000);
    ack(1, 30_000, 55_000);
    long nowUs = 100_000;
    for (int i = 0; i < 16; i++) {
      nowUs += 100_000;
      int lost = 3 + 2 * i;
      sendNew(nowUs);
      sendNew(nowUs + 10_000);
      ack(lost + 1, nowUs + 10_000, nowUs + 10_000 + RTT_US);
      assertEquals(lost + "t", flush(nowUs + 10_000 + RTT_US));
      assertEquals(6_000, losses.windowUs());
      ack(lost, nowUs + 10_000 + RTT_US, nowUs + 10_000 + 2 * RTT_US);
    }
    assertEquals(WINDOW_US, losses.windowUs());
  }

  @Test
  void lostAckDoesNotWidenTheWindow() {
    measureRtt();
    sendNew(30_000);
    sendNew(31_000); // Its ACK and that of the next are lost.
    sendNew(32_000);
    una(4, 90_000);
    assertEquals(0, spurious());
    assertEquals(WINDOW_US, losses.windowUs());
  }

  @Test
  void spuriousTimeoutIsCountedAndDoesNotWidenTheWindow() {
    measureRtt();
    sendNew(30_000);
    long timesOutAtUs = losses.deadlineUs();
    assertEquals("1p", flush(timesOutAtUs));
    ack(1, 30_000, timesOutAtUs + 1_000);
    assertEquals(1, spurious());
    assertEquals(WINDOW_US, losses.windowUs());
  }

  @Test
  void probeTimeoutIsTheRoundTripAndItsVariation() {
    measureRtt();
    assertEquals(RTT_US + 4 * (RTT_US / 2), losses.timeoutUs());
  }

  /**
   * Sends two segments {@code spacingUs} apart, which the peer acknowledges together, and returns
   * the next time.
   */
  private long exchange(long nowUs, int spacingUs) {
    int segment = buffer.next() - FIRST;
    sendNew(nowUs);
    sendNew(nowUs + spacingUs);
    ack(segment + 1, nowUs + spacingUs, nowUs + spacingUs + RTT_US);
    una(segment + 2, nowUs + spacingUs + RTT_US);
    return nowUs + 100_000;
  }

  private long exchange(int times, long nowUs, int spacingUs) {
    long nextUs = nowUs;
    for (int i = 0; i < times; i++) {
      nextUs = exchange(nextUs, spacingUs);
    }
    return nextUs;
  }

  @Test
  void leastProbeTimeoutIsSixMilliseconds() {
    sendNew(0);
    ack(0, 0, 100);
    losses.configure(KcpConfig.builder().intervalMs(1).build());
    assertEquals(6_000, losses.timeoutUs());
  }

  @Test
  void probeTimeoutAllowsForTheTimeThatAcknowledgementsTake() {
    measureRtt();
    long nowUs = exchange(15, 100_000, 1_000);
    assertEquals(RTT_US + INTERVAL_US + 1_000, losses.timeoutUs(), "as long as it is not known");
    nowUs = exchange(1, nowUs, 1_000);
    assertEquals(RTT_US + 2_000, losses.timeoutUs());
    nowUs = exchange(20, nowUs, 8_000);
    assertEquals(RTT_US + 8_000 + 1_000, losses.timeoutUs());
    exchange(62, nowUs, 1_000); // Three seconds are remembered.
    assertEquals(RTT_US + 2_000, losses.timeoutUs());
  }

  @Test
  void timeThatAcknowledgementsTakeIsNotKnownAfterAPause() {
    measureRtt();
    long nowUs = exchange(16, 100_000, 1_000);
    assertEquals(RTT_US + 2_000, losses.timeoutUs());
    exchange(1, nowUs + 2 * ProbeTimeout.PERIOD_US, 1_000);
    assertEquals(RTT_US + INTERVAL_US + 1_000, losses.timeoutUs());
  }

  @Test
  void acknowledgementsTakeNoLongerThanThePeerSays() {
    losses.peerMaxAckDelay(5_000);
    measureRtt();
    long nowUs = exchange(10, 100_000, 1_000);
    assertEquals(RTT_US + 5_000 + 1_000, losses.timeoutUs(), "not the own interval");
    exchange(60, nowUs, 8_000);
    assertEquals(RTT_US + 5_000 + 1_000, losses.timeoutUs());
  }

  @Test
  void peerThatAcknowledgesAtGapsShowsALossWhenTheWindowIsOver() {
    losses.peerMaxAckDelay(INTERVAL_US);
    measureRtt();
    sendNew(30_000);
    sendNew(30_500);
    ack(2, 30_500, 30_500 + RTT_US);
    long overdueAtUs = 30_000 + WINDOW_US + RTT_US;
    assertEquals("", flush(overdueAtUs - 1));
    assertEquals("1t", flush(overdueAtUs));
  }

  @Test
  void twoLostAcknowledgementsDoNotMakeTheProbeTimeoutLonger() {
    measureRtt();
    long nowUs = exchange(100, 100_000, 8_000);
    nowUs = exchange(2, nowUs, 16_000);
    assertEquals(RTT_US + 8_000 + 1_000, losses.timeoutUs());
    nowUs = exchange(3, nowUs, 8_000); // The next one is the first of another period.
    nowUs = exchange(nowUs, 16_000);
    assertEquals(RTT_US + 16_000 + 1_000, losses.timeoutUs(), "the third within two periods");
    exchange(60, nowUs, 8_000);
    assertEquals(RTT_US + 8_000 + 1_000, losses.timeoutUs());
  }

  @Test
  void acknowledgementsOfManySegmentsDoNotTellHowLongThoseOfFewTake() {
    measureRtt();
    for (long nowUs = 30_000; nowUs < 3_000_000; nowUs += 30_000) {
      sendNew(THIN_SEGMENTS + 2, nowUs);
      ack(buffer.next() - FIRST - 1, nowUs, nowUs + RTT_US);
      una(buffer.next() - FIRST, nowUs + RTT_US);
    }
    assertEquals(RTT_US + INTERVAL_US + 1_000, losses.timeoutUs());
  }

  @Test
  void spuriousTimeoutTellsHowLongTheAcknowledgementTook() {
    measureRtt();
    long nowUs = exchange(192, 100_000, 1_000);
    for (int i = 0; i < 3; i++) {
      int segment = buffer.next() - FIRST;
      sendNew(nowUs);
      assertEquals(segment + "p", flush(nowUs + losses.timeoutUs()));
      ack(segment, nowUs, nowUs + 40_000);
      nowUs += 100_000;
    }
    assertTrue(losses.timeoutUs() >= 40_000);
  }

  /** Of two segments, the first arrives so much later than the second. */
  private void reorder(long nowUs, int lateUs) {
    int segment = buffer.next() - FIRST;
    sendNew(nowUs);
    sendNew(nowUs + 1_000);
    ack(segment + 1, nowUs + 1_000, nowUs + 1_000 + RTT_US);
    ack(segment, nowUs, nowUs + RTT_US + lateUs);
  }

  @Test
  void reorderedSegmentWidensTheWindowToAMillisecondMoreThanItWasLate() {
    measureRtt();
    reorder(30_000, 1_000);
    assertEquals(WINDOW_US, losses.windowUs());
    reorder(100_000, 1_500);
    assertEquals(2_500, losses.windowUs());
  }

  @Test
  void reorderingWidensTheWindowToAQuarterOfTheLeastRoundTripAtMost() {
    measureRtt();
    reorder(30_000, 15_000);
    assertEquals(RTT_US / 4, losses.windowUs());
  }

  @Test
  void segmentsThatUnaCoversAfterALaterOneHasArrivedWereReorderedIfThatHappensOften() {
    measureRtt();
    for (long nowUs = 100_000; nowUs < 400_000; nowUs += 100_000) {
      assertEquals(WINDOW_US, losses.windowUs(), "an ACK may have been lost");
      int segment = buffer.next() - FIRST;
      sendNew(nowUs);
      sendNew(nowUs + 1_000);
      ack(segment + 1, nowUs + 1_000, nowUs + 1_000 + RTT_US);
      una(segment + 2, nowUs + 1_500 + RTT_US);
    }
    assertEquals(2_500, losses.windowUs());
  }

  @Test
  void spuriousRetransmissionsThatOnlyUnaShowsWidenTheWindowIfTheyAreMoreThanTheOthers() {
    measureRtt();
    long nowUs = 100_000;
    for (int i = 0; i < 5; i++, nowUs += 200_000) {
      int segment = loseByAcks(nowUs);
      ack(segment, nowUs + 4_000 + RTT_US, nowUs + 4_000 + 2 * RTT_US);
      segment = loseByAcks(nowUs + 100_000);
      una(segment + 2, nowUs + 104_000 + RTT_US + 1_000);
      assertEquals(WINDOW_US, losses.windowUs());
    }
    for (int i = 0; i < 2; i++, nowUs += 100_000) {
      int segment = loseByAcks(nowUs);
      una(segment + 2, nowUs + 4_000 + RTT_US + 1_000);
    }
    assertEquals(6_000, losses.windowUs());
    assertEquals(7, spurious());
  }

  /** Sends two segments 4 ms apart, and retransmits the first when the second has arrived. */
  private int loseByAcks(long nowUs) {
    int segment = buffer.next() - FIRST;
    sendNew(nowUs);
    sendNew(nowUs + 4_000);
    ack(segment + 1, nowUs + 4_000, nowUs + 4_000 + RTT_US);
    assertEquals(segment + "t", flush(nowUs + 4_000 + RTT_US));
    return segment;
  }

  @Test
  void timeoutsOfManySegmentsCountFromTheLastAcknowledgement() {
    measureRtt();
    sendNew(THIN_SEGMENTS + 2, 30_000);
    long timeoutUs = losses.timeoutUs();
    ack(1, 30_000, 80_000);
    assertFalse(losses.isThin());
    assertEquals("", flush(30_000 + timeoutUs));
    assertEquals(80_000 + timeoutUs, losses.deadlineUs());
  }

  @Test
  void timeoutsOfFewSegmentsCountFromTheirTransmission() {
    measureRtt();
    sendNew(THIN_SEGMENTS, 30_000);
    long timeoutUs = losses.timeoutUs();
    ack(16, 30_000, 30_000 + timeoutUs - 1);
    assertTrue(losses.isThin());
    assertEquals("", flush(30_000 + timeoutUs - 1));
    assertTrue(flush(30_000 + timeoutUs).startsWith("1p2p3p"));
  }

  @Test
  void segmentsThatManyWereInFlightWithAreNotTimedOutWhenFewAreLeft() {
    measureRtt();
    sendNew(THIN_SEGMENTS + 2, 30_000);
    long timeoutUs = losses.timeoutUs();
    ack(1, 30_000, 300_000);
    assertFalse(losses.isThin());
    ack(2, 30_000, 310_000);
    assertTrue(losses.isThin());
    assertEquals("", flush(310_000 + timeoutUs - 1));
    assertTrue(flush(310_000 + timeoutUs).startsWith("3p4p5p"));
  }

  @Test
  void progressWhileManySegmentsAreInFlightDelaysATimeoutWithoutItsBackOff() {
    measureRtt();
    sendNew(30_000);
    long nowUs = 30_000;
    for (int i = 0; i < 8; i++) {
      nowUs = losses.deadlineUs();
      assertEquals("1p", flush(nowUs));
    }
    long backedOffUs = losses.deadlineUs() - nowUs;
    nowUs += backedOffUs - 1_000;
    sendNew(THIN_SEGMENTS + 2, nowUs);
    ack(3, nowUs, nowUs + 500); // progress
    assertEquals(nowUs + 500 + losses.timeoutUs(), losses.timesOutAtUs(index(1)));
  }

  @Test
  void lossThatAnAckShowsIsDueAtOnceAndNotBefore() {
    measureRtt();
    sendNew(30_000);
    sendNew(40_000);
    ack(2, 40_000, 40_000 + RTT_US);
    assertEquals(40_000 + RTT_US, losses.deadlineUs());
  }

  @Test
  void spuriousTimeoutsDoNotMakeLostAcksLookLikeReordering() {
    measureRtt();
    for (int segment = 1; segment <= 3; segment++) {
      long sentAtUs = 1_000_000L * segment;
      sendNew(sentAtUs);
      long nowUs = sentAtUs + losses.timeoutUs();
      assertEquals(segment + "p", flush(nowUs));
      una(segment + 1, nowUs + 100);
    }
    assertEquals(3, spurious());
    sendNew(5_000_000);
    sendNew(5_001_000);
    ack(5, 5_001_000, 5_001_000 + RTT_US);
    una(5, 5_008_000 + RTT_US);
    assertEquals(WINDOW_US, losses.windowUs(), "one lost ACK");
  }

  @Test
  void windowIsAtMostHalfARoundTrip() {
    rtt.sample(400_000, 0);
    losses.widenWindow(151_000);
    assertEquals(151_000, losses.windowUs());
    for (int i = 0; i < 100; i++) {
      rtt.sample(RTT_US, 0);
    }
    assertEquals(rtt.srttUs() / 2, losses.windowUs());
    assertFalse(losses.isAllowed(rtt.srttUs() / 2));
  }

  @Test
  void timeoutHasTheMarginThatSpuriousTimeoutsCallFor() {
    measureRtt();
    for (int segment = 1; segment <= 5; segment++) {
      long sentAtUs = 1_000_000L * segment;
      sendNew(sentAtUs);
      long nowUs = sentAtUs + losses.timeoutUs();
      assertEquals(segment + "p", flush(nowUs));
      ack(segment, sentAtUs, nowUs + 100);
    }
    assertEquals(5, spurious());
    for (int i = 0; i < 100; i++) {
      rtt.sample(RTT_US, 0);
    }
    assertEquals(0, rtt.rttVarUs() / 1_000);
    assertTrue(losses.timeoutUs() >= RTT_US + 30_000, losses.timeoutUs() + " us");
  }

  @Test
  void timeoutBacksOff() {
    measureRtt();
    sendNew(30_000);
    long timeoutUs = losses.timeoutUs();
    assertEquals("1p", flush(30_000 + timeoutUs));
    assertEquals(30_000 + timeoutUs + timeoutUs * 3 / 2, losses.deadlineUs());
  }
}
