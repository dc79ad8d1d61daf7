package io.kcp4j.internal.recovery;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kcp4j.internal.buffer.SendRing;
import io.kcp4j.internal.wire.Segment;
import org.junit.jupiter.api.Test;

/** {@link DeliveryRate} alone, on paths of known rates. */
class DeliveryRateTest {

  private static final int BYTES = 1_000;

  private static final int RTT_US = 40_000;

  private final DeliveryRate rate = new DeliveryRate(BYTES);
  private SendRing ring = ring(1 << 15);
  private long sentBytes;

  private static SendRing ring(int segments) {
    SendRing ring = new SendRing(segments);
    ring.makeDeliveries();
    return ring;
  }

  private int index(int sn) {
    return sn & ring.capacity - 1;
  }

  private void transmit(int sn, int bytes, long nowUs) {
    ring.clearFlags(index(sn));
    ring.length[index(sn)] = (char) (bytes - Segment.HEADER_BYTES);
    ring.sentAtUs[index(sn)] = nowUs;
    rate.sent(ring, index(sn), index(sn) + 1, nowUs);
  }

  /** Sends one segment for each of the numbers from {@code from} on. */
  private void send(int from, int segments, long nowUs) {
    for (int sn = from; sn != from + segments; sn++) {
      transmit(sn, BYTES, nowUs);
    }
  }

  /** The segment counts as lost and is sent again. */
  private void retransmit(int sn, long nowUs) {
    ring.sentAtUs[index(sn)] = nowUs;
    rate.retransmitted(ring, index(sn), nowUs);
  }

  /** One datagram that acknowledges so many segments. */
  private void acknowledge(int from, int segments, long nowUs) {
    for (int sn = from; sn != from + segments; sn++) {
      rate.acknowledged(ring, index(sn), false, nowUs);
    }
    rate.endDatagram(sentBytes);
  }

  @Test
  void segmentsSentAtARateAreDeliveredAtThatRate() {
    int gapUs = 1_000;
    int acknowledged = 0;
    for (int sn = 0; sn < 200; sn++) {
      long nowUs = (long) sn * gapUs;
      if (nowUs >= RTT_US) {
        acknowledge(acknowledged++, 1, nowUs);
      }
      send(sn, 1, nowUs);
    }
    assertEquals(1e6, rate.bytesPerSecond(), 1);
    assertEquals(RTT_US / gapUs * BYTES, rate.inFlightBytes());
    assertEquals(rate.inFlightBytes(), rate.sentInFlightBytes(), BYTES);
  }

  @Test
  void burstIsDeliveredAtTheRateOfItsAcknowledgements() {
    send(0, 100, 0);
    for (int sn = 0; sn < 100; sn++) {
      acknowledge(sn, 1, RTT_US + sn * 100L);
    }
    assertEquals(100 * BYTES / 0.0499, rate.bytesPerSecond(), 1);
  }

  @Test
  void acknowledgementsThatArriveTogetherDoNotRaiseTheRate() {
    int gapUs = 1_000;
    int lump = 40;
    for (int sn = 0; sn < 400; sn++) {
      long nowUs = (long) sn * gapUs;
      if (sn % lump == 0 && sn > lump) {
        acknowledge(sn - 2 * lump, lump, nowUs);
        assertTrue(rate.bytesPerSecond() <= 1e6, "rate " + rate.bytesPerSecond());
      }
      send(sn, 1, nowUs);
    }
    assertEquals(1e6, rate.bytesPerSecond(), 1);
  }

  @Test
  void intervalTellsSamplesThatAreTooShort() {
    send(0, 2, 0);
    acknowledge(0, 1, 100);
    assertEquals(100, rate.intervalUs());
    assertTrue(rate.isRoundStart());
    acknowledge(1, 1, RTT_US / 2);
    assertEquals(RTT_US / 2, rate.intervalUs());
    assertEquals(2 * BYTES / 0.02, rate.bytesPerSecond(), 1);
  }

  @Test
  void retransmissionGivesASampleOfItsOwn() {
    send(0, 10, 0);
    acknowledge(1, 9, RTT_US);
    retransmit(0, RTT_US);
    assertEquals(BYTES, rate.lostBytes());
    assertEquals(BYTES, rate.inFlightBytes());
    acknowledge(0, 1, 2 * RTT_US);
    assertEquals(BYTES / 0.04, rate.bytesPerSecond(), 1);
    assertEquals(BYTES, rate.lostBytes());
    assertEquals(10 * BYTES, rate.deliveredBytes());
    assertEquals(0, rate.inFlightBytes());
  }

  @Test
  void acknowledgementOfAnEarlierTransmissionGivesNoSampleAndTakesTheLossBack() {
    send(0, 2, 0);
    retransmit(0, 50_000);
    rate.acknowledged(ring, 0, true, 51_000);
    rate.endDatagram(0);
    assertEquals(0, rate.bytesPerSecond());
    assertEquals(0, rate.intervalUs());
    assertEquals(0, rate.lostBytes());
    assertEquals(BYTES, rate.deliveredBytes());
  }

  @Test
  void roundEndsWhenSomethingIsAcknowledgedThatWasSentInIt() {
    send(0, 4, 0);
    acknowledge(0, 1, RTT_US);
    assertTrue(rate.isRoundStart());
    send(4, 1, RTT_US + 10);
    acknowledge(1, 3, RTT_US + 20);
    assertFalse(rate.isRoundStart());
    acknowledge(4, 1, 2 * RTT_US + 10);
    assertTrue(rate.isRoundStart());
  }

  @Test
  void whatIsSentUntilTheLimitedFlightIsDeliveredIsApplicationLimited() {
    send(-1, 1, -RTT_US);
    acknowledge(-1, 1, 0);
    send(0, 2, 0);
    rate.applicationLimited();
    send(2, 1, 1_000);
    acknowledge(0, 2, RTT_US);
    assertFalse(rate.isApplicationLimited(), "sent before");
    send(3, 1, RTT_US);
    acknowledge(2, 1, RTT_US + 1_000);
    assertTrue(rate.isApplicationLimited());
    send(4, 1, RTT_US + 1_000);
    acknowledge(3, 1, 2 * RTT_US);
    assertTrue(rate.isApplicationLimited());
    acknowledge(4, 1, 2 * RTT_US + 1_000);
    assertFalse(rate.isApplicationLimited(), "sent when more than the flight was delivered");
  }

  @Test
  void requestsOfWhichEachWaitsForTheLastAreApplicationLimited() {
    for (int sn = 0; sn < 10; sn++) {
      send(sn, 1, (long) sn * RTT_US);
      rate.applicationLimited();
      acknowledge(sn, 1, (sn + 1L) * RTT_US);
      assertTrue(rate.isApplicationLimited());
    }
  }

  @Test
  void ratioIsWhatLeavesForEachByteOfASegment() {
    assertEquals(1, rate.wireRatio());
    sentBytes = 700; // before rates were measured
    for (int round = 0; round < 20; round++) {
      long nowUs = (long) round * RTT_US;
      send(10 * round, 10, nowUs);
      sentBytes += 13 * BYTES;
      acknowledge(10 * round, 10, nowUs + RTT_US);
    }
    assertEquals(1.3, rate.wireRatio(), 1e-6);
  }

  /** Headers, copies and parity of the small ones say nothing about those of the large ones. */
  @Test
  void ratioOfThinRoundsIsForgottenAfterALargeOne() {
    long nowUs = 0;
    for (int sn = 0; sn < 20; sn++) {
      transmit(sn, 34, nowUs);
      sentBytes += 4 * 34;
      nowUs += RTT_US;
      acknowledge(sn, 1, nowUs);
    }
    assertEquals(4, rate.wireRatio(), 1e-6);
    send(20, 100, nowUs);
    sentBytes += 105 * BYTES;
    nowUs += RTT_US;
    acknowledge(20, 100, nowUs);
    assertEquals(1.05, rate.wireRatio(), 1e-6);
  }

  @Test
  void segmentSentBeforeRatesWereMeasuredIsIgnoredUntilItIsSentAgain() {
    ring.length[5] = BYTES - Segment.HEADER_BYTES;
    ring.length[6] = BYTES - Segment.HEADER_BYTES;
    acknowledge(5, 1, RTT_US);
    assertEquals(0, rate.deliveredBytes());
    assertEquals(0, rate.inFlightBytes());
    retransmit(6, 50_000);
    assertEquals(0, rate.lostBytes());
    assertEquals(BYTES, rate.inFlightBytes());
  }

  @Test
  void segmentsOfAnEarlierMeasurementAreIgnored() {
    send(0, 2, 0);
    ring.dropDeliveries();
    DeliveryRate next = new DeliveryRate(BYTES);
    next.acknowledged(ring, 0, false, RTT_US);
    next.endDatagram(0);
    assertEquals(0, next.deliveredBytes());
    assertEquals(0, next.inFlightBytes());
  }

  @Test
  void windowCountsFullSegmentsAndIsNeverBelowOne() {
    assertEquals(1, rate.window(0));
    assertEquals(32, rate.window(32 * BYTES + BYTES - 1));
    assertEquals(Integer.MAX_VALUE, rate.window(Long.MAX_VALUE));
    transmit(0, BYTES / 10, 0);
    assertEquals(32, rate.window(32 * BYTES));
    assertEquals(33, rate.window(32 * BYTES + BYTES / 10));
    send(1, 99, 0);
    assertEquals(100, rate.window(32 * BYTES));
    rate.segmentBytes(BYTES / 2);
    assertEquals(102, rate.window(99 * BYTES + BYTES / 10 + BYTES));
  }

  @Test
  void largerRingKeepsWhatWasSent() {
    send(0, 4, 0);
    acknowledge(0, 1, RTT_US);
    send(4, 1, RTT_US);
    SendRing larger = ring(1 << 16);
    for (int sn = 1; sn < 5; sn++) {
      ring.copyTo(larger, sn);
    }
    ring = larger;
    acknowledge(1, 4, 2 * RTT_US);
    assertEquals(4 * BYTES / 0.04, rate.bytesPerSecond(), 1);
    assertEquals(0, rate.inFlightBytes());
  }

  /** The ring has 32 bits for each of them. */
  @Test
  void timesAndTotalsMayBeLarge() {
    int bytes = 60_000;
    for (int round = 0; round < 2; round++) { // Two gigabytes are more than 31 bits.
      for (int sn = 0; sn < 32_000; sn++) {
        transmit(sn, bytes, 0);
      }
      acknowledge(0, 32_000, RTT_US);
    }
    assertTrue(rate.deliveredBytes() > Integer.MAX_VALUE);
    long firstUs = (1L << 32) - 3 * RTT_US;
    for (int sn = 0; sn < 8; sn++) {
      long nowUs = firstUs + (long) sn * RTT_US;
      long before = rate.deliveredBytes();
      transmit(sn, bytes, nowUs);
      acknowledge(sn, 1, nowUs + RTT_US);
      assertEquals(bytes / 0.04, rate.bytesPerSecond(), 1);
      assertEquals(bytes, rate.deliveredBytes() - before);
    }
  }

  @Test
  void outageOfAnHourLeavesARate() {
    send(0, 2, 0);
    acknowledge(0, 1, RTT_US);
    long hourUs = 3_600_000_000L;
    retransmit(1, hourUs);
    acknowledge(1, 1, hourUs + RTT_US);
    assertTrue(rate.bytesPerSecond() > 0);
    assertTrue(rate.bytesPerSecond() < 1);
  }
}
