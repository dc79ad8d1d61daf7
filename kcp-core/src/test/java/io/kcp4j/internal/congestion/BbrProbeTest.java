package io.kcp4j.internal.congestion;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.HashSet;
import java.util.Set;
import org.junit.jupiter.api.Test;

/** {@link BbrProbe}: the full bandwidth, the length of cycles, and what probes find. */
class BbrProbeTest {

  private static final double RATE = 1e6;

  private final BbrProbe probe = new BbrProbe();

  // STARTUP

  private void endStartupRounds(int rounds, double bytesPerSecond, boolean isQueueStanding) {
    for (int i = 0; i < rounds; i++) {
      probe.endRoundOfStartup(bytesPerSecond, isQueueStanding);
    }
  }

  @Test
  void threeRoundsWithoutGrowthReachTheFullBandwidth() {
    endStartupRounds(1, 1e6, false);
    endStartupRounds(2, 1.24e6, false);
    assertFalse(probe.isFullBandwidthReached());
    endStartupRounds(1, 1.24e6, false);
    assertTrue(probe.isFullBandwidthReached());
  }

  @Test
  void growthByAQuarterBeginsAgain() {
    endStartupRounds(3, 1e6, false);
    endStartupRounds(1, 1.25e6, false);
    endStartupRounds(2, 1.5e6, false);
    assertFalse(probe.isFullBandwidthReached());
    endStartupRounds(1, 1.5e6, false);
    assertTrue(probe.isFullBandwidthReached());
  }

  @Test
  void queueThatStandsForTwoRoundsReachesTheFullBandwidthDespiteGrowth() {
    endStartupRounds(1, 1e6, true);
    endStartupRounds(1, 2e6, false);
    endStartupRounds(1, 4e6, true);
    assertFalse(probe.isFullBandwidthReached());
    endStartupRounds(1, 8e6, true);
    assertTrue(probe.isFullBandwidthReached());
  }

  // The cycle

  private int cycleMs(int roundMs, long beginsAtUs) {
    probe.beginCycle(beginsAtUs);
    int ms = 0;
    while (!probe.isCycleOver(beginsAtUs + ms * 1_000L)) {
      ms++;
      if (ms % roundMs == 0) {
        probe.endRound();
      }
    }
    return ms;
  }

  @Test
  void cycleTakesHalfASecondOrHalfAsMuchAgain() {
    Set<Integer> lengths = new HashSet<>();
    for (int i = 0; i < 1_000; i++) {
      int ms = cycleMs(1, i * 777_777L);
      assertTrue(ms >= 500 && ms <= 750, "took " + ms);
      lengths.add(ms);
    }
    assertTrue(lengths.size() > 100, "lengths " + lengths.size());
  }

  @Test
  void cycleOfLongRoundsTakesSixteenRoundsOrHalfAsMuchAgain() {
    for (int i = 0; i < 100; i++) {
      int ms = cycleMs(100, i * 777_777L);
      assertTrue(ms >= 1_600 && ms <= 2_400, "took " + ms);
    }
  }

  @Test
  void cycleOnASharedPathTakesLonger() {
    probes(2, 1.06, true);
    for (int i = 0; i < 100; i++) {
      int ms = cycleMs(10, i * 777_777L);
      assertTrue(ms >= 1_600 && ms <= 2_400, "took " + ms);
    }
  }

  @Test
  void cycleTakesThreeSecondsAtMost() {
    probe.beginCycle(7);
    assertFalse(probe.isCycleOver(3_000_006));
    assertTrue(probe.isCycleOver(3_000_007));
  }

  // The probe

  /** UP takes one round. */
  private void probe(double growth, boolean hasQueue) {
    probe.endRoundOfUp(1, RATE, RATE, false);
    probe.endProbe(growth * RATE, hasQueue);
  }

  private void probes(int number, double growth, boolean hasQueue) {
    for (int i = 0; i < number; i++) {
      probe(growth, hasQueue);
    }
  }

  @Test
  void nothingIsKnownBeforeTheFirstProbe() {
    assertFalse(probe.isPathShared());
    assertFalse(probe.hasFoundRoom());
  }

  @Test
  void queueWithoutGrowthIsThatOfASenderAlone() {
    probes(10, 1.04, true);
    assertFalse(probe.isPathShared());
    assertFalse(probe.hasFoundRoom());
  }

  /** One may have met a change of the path. */
  @Test
  void twoProbesThatGrewWithAQueueShowThatOthersShareThePath() {
    probe(1.06, true);
    assertFalse(probe.isPathShared());
    probe(1.06, true);
    assertTrue(probe.isPathShared());
    assertFalse(probe.hasFoundRoom());
  }

  @Test
  void sixProbesAreRemembered() {
    probe(1.06, true);
    probes(4, 1, true);
    probe(1.06, true);
    assertTrue(probe.isPathShared());
    probe(1, true);
    assertFalse(probe.isPathShared());
  }

  @Test
  void growthWithoutAQueueShowsThatThePathHasRoom() {
    probes(10, 1.19, false);
    assertFalse(probe.isPathShared());
    assertTrue(probe.hasFoundRoom());
    probe(1.17, false);
    assertFalse(probe.hasFoundRoom());
  }

  @Test
  void bestRoundOfUpCounts() {
    probe.endRoundOfUp(1, RATE, RATE, false);
    probe.endRoundOfUp(2, 1.2 * RATE, RATE, false);
    probe.endProbe(RATE, false);
    assertTrue(probe.hasFoundRoom());
    probe(1, false);
    assertFalse(probe.hasFoundRoom());
  }

  /** The first round of UP ends with what REFILL has sent. */
  @Test
  void upGrowsAsLongAsEachRoundExceedsTheOneBefore() {
    probe.endRoundOfUp(1, RATE, RATE, false);
    assertTrue(probe.isGrowing());
    probe.endRoundOfUp(2, RATE, RATE, false);
    assertTrue(probe.isGrowing());
    probe.endRoundOfUp(3, 1.05 * RATE, RATE, false);
    assertTrue(probe.isGrowing());
    probe.endRoundOfUp(4, 1.10 * RATE, RATE, false);
    assertFalse(probe.isGrowing());
    probe.endRoundOfUp(1, RATE, RATE, false);
    assertTrue(probe.isGrowing());
  }

  /** The window has limited REFILL, and UP has only caught up. */
  @Test
  void growthToTheKnownBandwidthIsNotTakenFromOthers() {
    for (int i = 0; i < 6; i++) {
      probe.endRoundOfUp(1, 0.84 * RATE, RATE, false);
      probe.endProbe(RATE, true);
    }
    assertFalse(probe.isPathShared());
    for (int i = 0; i < 6; i++) {
      probe.endRoundOfUp(1, 0.86 * RATE, RATE, false);
      probe.endProbe(RATE, true);
    }
    assertTrue(probe.isPathShared());
  }

  @Test
  void growthToTheKnownBandwidthIsNoRoom() {
    probe.endRoundOfUp(1, 0.8 * RATE, RATE, false);
    probe.endProbe(RATE, false);
    assertFalse(probe.hasFoundRoom());
    probe.endRoundOfUp(1, 0, RATE, false);
    probe.endProbe(RATE, false);
    assertFalse(probe.hasFoundRoom());
  }

  @Test
  void probesThatTheApplicationLimitsTellNothing() {
    probes(2, 1.06, true);
    for (int i = 0; i < 6; i++) {
      probe.endRoundOfUp(1, RATE, RATE, true);
      probe.endProbe(1.2 * RATE, false);
      assertFalse(probe.hasFoundRoom());
      probe.endRoundOfUp(1, RATE, RATE, false);
      probe.endRoundOfUp(2, RATE, RATE, true);
      probe.endProbe(RATE, true);
    }
    assertTrue(probe.isPathShared());
  }
}
