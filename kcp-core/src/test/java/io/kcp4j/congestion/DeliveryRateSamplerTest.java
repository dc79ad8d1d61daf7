package io.kcp4j.congestion;

import static io.kcp4j.congestion.DeliveredTransmission.EARLIER;
import static io.kcp4j.congestion.DeliveredTransmission.LAST;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;

/** {@link DeliveryRateSampler} alone, on paths of known rates. */
class DeliveryRateSamplerTest {

  private static final int BYTES = 1_000;

  private static final int RTT_US = 40_000;

  private final DeliveryRateSampler sampler = new DeliveryRateSampler();

  /** Sends one segment for each of the numbers from {@code from} on. */
  private void send(int from, int segments, long nowUs) {
    for (int sn = from; sn != from + segments; sn++) {
      sampler.sent(sn, BYTES, nowUs);
    }
  }

  /** One datagram that acknowledges so many segments. */
  private void acknowledge(int from, int segments, long nowUs) {
    for (int sn = from; sn != from + segments; sn++) {
      sampler.acknowledged(sn, LAST, nowUs);
    }
    sampler.endAck(RTT_US / 2, 0);
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
    assertEquals(1e6, sampler.bytesPerSecond(), 1);
    assertEquals(RTT_US / gapUs * BYTES, sampler.inFlightBytes());
    assertEquals(sampler.inFlightBytes(), sampler.sentInFlightBytes(), BYTES);
  }

  @Test
  void burstIsDeliveredAtTheRateOfItsAcknowledgements() {
    send(0, 100, 0);
    for (int sn = 0; sn < 100; sn++) {
      acknowledge(sn, 1, RTT_US + sn * 100L);
    }
    assertEquals(100 * BYTES / 0.0499, sampler.bytesPerSecond(), 1);
  }

  @Test
  void acknowledgementsThatArriveTogetherDoNotRaiseTheRate() {
    int gapUs = 1_000;
    int lump = 40;
    for (int sn = 0; sn < 400; sn++) {
      long nowUs = (long) sn * gapUs;
      if (sn % lump == 0 && sn > lump) {
        acknowledge(sn - 2 * lump, lump, nowUs);
        assertTrue(sampler.bytesPerSecond() <= 1e6, "rate " + sampler.bytesPerSecond());
      }
      send(sn, 1, nowUs);
    }
    assertEquals(1e6, sampler.bytesPerSecond(), 1);
  }

  @Test
  void sampleOfLessThanTheLeastIntervalHasNoRate() {
    send(0, 2, 0);
    acknowledge(0, 1, RTT_US / 2 - 1);
    assertEquals(0, sampler.bytesPerSecond());
    assertTrue(sampler.isRoundStart());
    acknowledge(1, 1, RTT_US / 2);
    assertEquals(2 * BYTES / 0.02, sampler.bytesPerSecond(), 1);
  }

  @Test
  void retransmissionGivesASampleOfItsOwn() {
    send(0, 10, 0);
    acknowledge(1, 9, RTT_US);
    sampler.lost(0);
    assertEquals(BYTES, sampler.lost());
    send(0, 1, RTT_US);
    acknowledge(0, 1, 2 * RTT_US);
    assertEquals(BYTES / 0.04, sampler.bytesPerSecond(), 1);
    assertEquals(BYTES, sampler.lost());
    assertEquals(10 * BYTES, sampler.delivered());
    assertEquals(0, sampler.inFlightBytes());
  }

  @Test
  void acknowledgementOfAnEarlierTransmissionGivesNoSampleAndTakesTheLossBack() {
    send(0, 2, 0);
    sampler.lost(0);
    send(0, 1, 50_000);
    sampler.acknowledged(0, EARLIER, 51_000);
    sampler.endAck(RTT_US / 2, 0);
    assertEquals(0, sampler.bytesPerSecond());
    assertEquals(0, sampler.lost());
    assertEquals(BYTES, sampler.delivered());
  }

  @Test
  void roundEndsWhenSomethingIsAcknowledgedThatWasSentInIt() {
    send(0, 4, 0);
    acknowledge(0, 1, RTT_US);
    assertTrue(sampler.isRoundStart());
    send(4, 1, RTT_US + 10);
    acknowledge(1, 3, RTT_US + 20);
    assertFalse(sampler.isRoundStart());
    acknowledge(4, 1, 2 * RTT_US + 10);
    assertTrue(sampler.isRoundStart());
  }

  @Test
  void whatIsSentUntilTheLimitedFlightIsDeliveredIsApplicationLimited() {
    send(-1, 1, -RTT_US);
    acknowledge(-1, 1, 0);
    send(0, 2, 0);
    sampler.applicationLimited();
    send(2, 1, 1_000);
    acknowledge(0, 2, RTT_US);
    assertFalse(sampler.isApplicationLimited(), "sent before");
    send(3, 1, RTT_US);
    acknowledge(2, 1, RTT_US + 1_000);
    assertTrue(sampler.isApplicationLimited());
    send(4, 1, RTT_US + 1_000);
    acknowledge(3, 1, 2 * RTT_US);
    assertTrue(sampler.isApplicationLimited());
    acknowledge(4, 1, 2 * RTT_US + 1_000);
    assertFalse(sampler.isApplicationLimited(), "sent when more than the flight was delivered");
  }

  @Test
  void requestsOfWhichEachWaitsForTheLastAreApplicationLimited() {
    for (int sn = 0; sn < 10; sn++) {
      send(sn, 1, (long) sn * RTT_US);
      sampler.applicationLimited();
      acknowledge(sn, 1, (sn + 1L) * RTT_US);
      assertTrue(sampler.isApplicationLimited());
    }
  }

  @Test
  void ratioIsWhatLeavesForEachByteOfASegment() {
    assertEquals(1, sampler.wireRatio());
    long sentBytes = 700; // before the sampler was made
    for (int round = 0; round < 20; round++) {
      long nowUs = (long) round * RTT_US;
      send(10 * round, 10, nowUs);
      sentBytes += 13 * BYTES;
      for (int sn = 10 * round; sn < 10 * round + 10; sn++) {
        sampler.acknowledged(sn, LAST, nowUs + RTT_US);
      }
      sampler.endAck(0, sentBytes);
    }
    assertEquals(1.3, sampler.wireRatio(), 1e-6);
  }

  /** Headers, copies and parity of the small ones say nothing about those of the large ones. */
  @Test
  void ratioOfThinRoundsIsForgottenAfterALargeOne() {
    long sentBytes = 0;
    long nowUs = 0;
    for (int sn = 0; sn < 20; sn++) {
      sampler.sent(sn, 34, nowUs);
      sentBytes += 4 * 34;
      nowUs += RTT_US;
      sampler.acknowledged(sn, LAST, nowUs);
      sampler.endAck(0, sentBytes);
    }
    assertEquals(4, sampler.wireRatio(), 1e-6);
    send(20, 100, nowUs);
    sentBytes += 105 * BYTES;
    nowUs += RTT_US;
    for (int sn = 20; sn < 120; sn++) {
      sampler.acknowledged(sn, LAST, nowUs);
    }
    sampler.endAck(0, sentBytes);
    assertEquals(1.05, sampler.wireRatio(), 1e-6);
  }

  @Test
  void segmentSentBeforeTheSamplerWasMadeIsIgnored() {
    sampler.acknowledged(5, LAST, RTT_US);
    sampler.lost(6);
    sampler.endAck(0, 0);
    assertEquals(0, sampler.delivered());
    assertEquals(0, sampler.lost());
    sampler.sent(6, BYTES, 50_000);
    assertEquals(BYTES, sampler.inFlightBytes());
  }

  @Test
  void windowsOfAnySizeAndTheWrapOfNumbersKeepEveryEntry() {
    SplittableRandom random = new SplittableRandom(1);
    int next = Integer.MAX_VALUE - 20_000;
    int una = next;
    boolean[] isAcknowledged = new boolean[1 << 18];
    int inFlight = 0;
    for (int step = 0; step < 100_000; step++) {
      if (next - una < 10_000 && random.nextInt(100) < (step < 50_000 ? 60 : 40)) {
        isAcknowledged[next & isAcknowledged.length - 1] = false;
        sampler.sent(next++, BYTES, step);
        inFlight++;
      } else if (next != una) {
        int sn = random.nextInt(10) == 0 ? una : una + random.nextInt(next - una);
        if (!isAcknowledged[sn & isAcknowledged.length - 1]) {
          isAcknowledged[sn & isAcknowledged.length - 1] = true;
          sampler.acknowledged(sn, LAST, step);
          sampler.endAck(0, 0);
          inFlight--;
        }
        while (una != next && isAcknowledged[una & isAcknowledged.length - 1]) {
          una++;
        }
      }
      assertEquals(inFlight * BYTES, sampler.inFlightBytes());
    }
    assertTrue(next < 0, "no wrap");
  }

  /** Entries have 32 bits for each of them. */
  @Test
  void timesAndTotalsMayBeLarge() {
    int bytes = 1_000_000_000;
    long firstUs = (1L << 32) - 3 * RTT_US;
    for (int sn = 0; sn < 8; sn++) {
      long nowUs = firstUs + (long) sn * RTT_US;
      sampler.sent(sn, bytes, nowUs);
      acknowledge(sn, 1, nowUs + RTT_US);
      assertEquals(bytes / 0.04, sampler.bytesPerSecond(), 1);
      assertEquals((sn + 1L) * bytes, sampler.delivered());
    }
  }

  @Test
  void outageOfAnHourLeavesARate() {
    send(0, 2, 0);
    acknowledge(0, 1, RTT_US);
    long hourUs = 3_600_000_000L;
    sampler.sent(1, BYTES, hourUs);
    acknowledge(1, 1, hourUs + RTT_US);
    assertTrue(sampler.bytesPerSecond() > 0);
    assertTrue(sampler.bytesPerSecond() < 1);
  }

  @Test
  void memoryIsGivenBackThoughTheLastAcknowledgementTellsThatItsRetransmissionWasSpurious() {
    Transmissions spare = new Transmissions();
    int[] large = claim(spare, 300);
    spare.shrink();
    send(0, 300, 0);
    acknowledge(0, 299, RTT_US);
    sampler.acknowledged(299, EARLIER, RTT_US);
    sampler.endAck(RTT_US / 2, 0);
    assertEquals(0, sampler.inFlightBytes());
    assertSame(large, claim(spare, 300));
  }

  private static int[] claim(Transmissions transmissions, int segments) {
    for (int sn = 0; sn < segments; sn++) {
      int at = transmissions.claim(sn);
      transmissions.values()[at + Transmissions.BYTES] = BYTES;
    }
    for (int sn = 0; sn < segments; sn++) {
      transmissions.values()[transmissions.find(sn) + Transmissions.BYTES] = 0;
    }
    return transmissions.values();
  }
}
