package io.kcp4j.congestion;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.junit.jupiter.api.Test;

class AckAggregationTest {

  /** A byte a microsecond. */
  private static final double RATE = 1e6;

  private static final double NO_LIMIT = 1e9;

  private final AckAggregation aggregation = new AckAggregation();

  @Test
  void steadyAcknowledgementsAggregateNoMoreThanOne() {
    for (int ms = 1; ms < 1_000; ms++) {
      aggregation.acknowledged(1_000, RATE, NO_LIMIT, ms * 1_000L);
    }
    assertEquals(1_000, aggregation.bytes(), 1);
  }

  @Test
  void lumpsAggregateWhatArrivesMeanwhile() {
    for (int ms = 40; ms < 1_000; ms += 40) {
      aggregation.acknowledged(40_000, RATE, NO_LIMIT, ms * 1_000L);
    }
    assertEquals(40_000, aggregation.bytes(), 1);
  }

  @Test
  void noMoreThanTheLimitCounts() {
    aggregation.acknowledged(40_000, RATE, 30_000, 1_000_000);
    assertEquals(30_000, aggregation.bytes());
  }

  @Test
  void largestOfFiveToTenRoundsCounts() {
    aggregation.acknowledged(40_000, RATE, NO_LIMIT, 1_000_000);
    for (int round = 0; round < 9; round++) {
      aggregation.beginRound();
      assertEquals(40_000, aggregation.bytes());
    }
    aggregation.beginRound();
    assertEquals(0, aggregation.bytes());
  }
}
