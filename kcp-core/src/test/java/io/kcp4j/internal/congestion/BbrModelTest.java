package io.kcp4j.internal.congestion;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

/** {@link BbrModel}: bandwidth, shortest round trip and aggregation. */
class BbrModelTest {

  /** A byte a microsecond. */
  private static final double RATE = 1e6;

  private static final double NO_LIMIT = 1e9;

  private final BbrModel model = new BbrModel();

  @Test
  void highestRateOfTwoCyclesCounts() {
    model.sampleRate(100, false);
    model.sampleRate(90, false);
    model.beginCycle();
    model.sampleRate(80, false);
    assertEquals(100, model.bandwidth());
    model.beginCycle();
    assertEquals(80, model.bandwidth());
    model.sampleRate(85, false);
    assertEquals(85, model.bandwidth());
  }

  @Test
  void rateOfALimitedApplicationIsALowerBound() {
    model.sampleRate(100, true);
    assertEquals(100, model.bandwidth());
    assertFalse(model.isBandwidthMeasured());
    model.sampleRate(0, false); // no sample
    assertFalse(model.isBandwidthMeasured());
    model.beginCycle();
    model.sampleRate(90, true);
    model.beginCycle();
    assertEquals(0, model.bandwidth());
    model.sampleRate(80, false);
    assertTrue(model.isBandwidthMeasured());
    model.limitedByPeer();
    assertFalse(model.isBandwidthMeasured());
    assertEquals(80, model.bandwidth());
  }

  @Test
  void boundHoldsUntilItIsLifted() {
    model.sampleRate(100, false);
    model.boundBandwidth(60);
    model.boundBandwidth(70);
    model.sampleRate(110, false);
    assertEquals(60, model.bandwidth());
    assertEquals(110, model.maxBandwidth());
    model.unboundBandwidth();
    assertEquals(110, model.bandwidth());
  }

  @Test
  void shortestRoundTripCounts() {
    assertEquals(0, model.minRttUs());
    model.sampleRtt(50_000, 0, true);
    model.sampleRtt(40_000, 1, true);
    model.sampleRtt(60_000, 2, true);
    assertEquals(40_000, model.minRttUs());
  }

  @Test
  void shortestRoundTripExpiresUnlessItIsSeenAgain() {
    model.sampleRtt(40_000, 0, true);
    model.sampleRtt(41_001, 4_000_000, true);
    assertFalse(model.isMinRttExpired(5_000_000));
    assertTrue(model.isMinRttExpired(5_000_001));
    model.sampleRtt(41_000, 5_000_001, true);
    assertFalse(model.isMinRttExpired(10_000_001));
    assertEquals(40_000, model.minRttUs());
  }

  @Test
  void shortestRoundTripMayBecomeLongerAfterARestart() {
    model.sampleRtt(40_000, 0, true);
    model.restartMinRtt(90_000, 6_000_000);
    assertEquals(90_000, model.minRttUs());
    assertFalse(model.isMinRttExpired(11_000_000));
    model.sampleRtt(70_000, 6_100_000, true);
    assertEquals(70_000, model.minRttUs());
  }

  @Test
  void onlyAShorterRoundTripConfirmsWhatMayContainOurQueue() {
    model.sampleRtt(40_000, 0, false);
    model.sampleRtt(39_001, 4_000_000, false);
    assertEquals(39_001, model.minRttUs());
    assertTrue(model.isMinRttExpired(5_000_001));
    model.sampleRtt(38_001, 5_000_001, false);
    assertFalse(model.isMinRttExpired(10_000_001));
    assertTrue(model.isMinRttExpired(10_000_002));
  }

  @Test
  void steadyAcknowledgementsAggregateNoMoreThanOne() {
    model.sampleRate(RATE, false);
    for (int ms = 1; ms < 1_000; ms++) {
      model.acknowledged(1_000, NO_LIMIT, ms * 1_000L);
    }
    assertEquals(1_000, model.extraAckedBytes(), 1);
  }

  @Test
  void lumpsAggregateWhatArrivesMeanwhile() {
    model.sampleRate(RATE, false);
    for (int ms = 40; ms < 1_000; ms += 40) {
      model.acknowledged(40_000, NO_LIMIT, ms * 1_000L);
    }
    assertEquals(40_000, model.extraAckedBytes(), 1);
  }

  @Test
  void noMoreThanTheLimitOfAggregationCounts() {
    model.sampleRate(RATE, false);
    model.acknowledged(40_000, 30_000, 1_000_000);
    assertEquals(30_000, model.extraAckedBytes());
  }

  @Test
  void largestAggregationOfFiveToTenRoundsCounts() {
    model.sampleRate(RATE, false);
    model.acknowledged(40_000, NO_LIMIT, 1_000_000);
    for (int round = 0; round < 9; round++) {
      model.beginRound();
      assertEquals(40_000, model.extraAckedBytes());
    }
    model.beginRound();
    assertEquals(0, model.extraAckedBytes());
  }
}
