package io.kcp4j.congestion;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

class FullBandwidthTest {

  private final FullBandwidth full = new FullBandwidth();

  private void endRounds(int rounds, double bytesPerSecond, boolean isQueueStanding) {
    for (int i = 0; i < rounds; i++) {
      full.endRound(bytesPerSecond, isQueueStanding);
    }
  }

  @Test
  void threeRoundsWithoutGrowthReachIt() {
    endRounds(1, 1e6, false);
    endRounds(2, 1.24e6, false);
    assertFalse(full.isReached());
    endRounds(1, 1.24e6, false);
    assertTrue(full.isReached());
  }

  @Test
  void growthByAQuarterBeginsAgain() {
    endRounds(3, 1e6, false);
    endRounds(1, 1.25e6, false);
    endRounds(2, 1.5e6, false);
    assertFalse(full.isReached());
    endRounds(1, 1.5e6, false);
    assertTrue(full.isReached());
  }

  @Test
  void queueThatStandsForTwoRoundsReachesItDespiteGrowth() {
    endRounds(1, 1e6, true);
    endRounds(1, 2e6, false);
    endRounds(1, 4e6, true);
    assertFalse(full.isReached());
    endRounds(1, 8e6, true);
    assertTrue(full.isReached());
  }
}
