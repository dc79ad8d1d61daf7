package io.kcp4j.congestion;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

class BandwidthProbeTest {

  private static final double RATE = 1e6;

  private final BandwidthProbe probe = new BandwidthProbe();

  /** UP takes one round. */
  private void probe(double growth, boolean isQueueGrowing) {
    probe.endRound(1, RATE, RATE, false);
    probe.end(growth * RATE, isQueueGrowing);
  }

  private void probes(int number, double growth, boolean isQueueGrowing) {
    for (int i = 0; i < number; i++) {
      probe(growth, isQueueGrowing);
    }
  }

  @Test
  void nothingIsKnownBeforeTheFirstProbe() {
    assertFalse(probe.isShared());
    assertFalse(probe.hasFoundRoom());
  }

  @Test
  void queueWithoutGrowthIsThatOfASenderAlone() {
    probes(10, 1.04, true);
    assertFalse(probe.isShared());
    assertFalse(probe.hasFoundRoom());
  }

  /** One may have met a change of the path. */
  @Test
  void twoProbesThatGrewWithAQueueShowThatOthersShareThePath() {
    probe(1.06, true);
    assertFalse(probe.isShared());
    probe(1.06, true);
    assertTrue(probe.isShared());
    assertFalse(probe.hasFoundRoom());
  }

  @Test
  void sixProbesAreRemembered() {
    probe(1.06, true);
    probes(4, 1, true);
    probe(1.06, true);
    assertTrue(probe.isShared());
    probe(1, true);
    assertFalse(probe.isShared());
  }

  @Test
  void growthWithoutAQueueShowsThatThePathHasRoom() {
    probes(10, 1.19, false);
    assertFalse(probe.isShared());
    assertTrue(probe.hasFoundRoom());
    probe(1.17, false);
    assertFalse(probe.hasFoundRoom());
  }

  @Test
  void bestRoundOfUpCounts() {
    probe.endRound(1, RATE, RATE, false);
    probe.endRound(2, 1.2 * RATE, RATE, false);
    probe.end(RATE, false);
    assertTrue(probe.hasFoundRoom());
    probe(1, false);
    assertFalse(probe.hasFoundRoom());
  }

  /** The first round of UP ends with what REFILL has sent. */
  @Test
  void upGrowsAsLongAsEachRoundExceedsTheOneBefore() {
    probe.endRound(1, RATE, RATE, false);
    assertTrue(probe.isGrowing());
    probe.endRound(2, RATE, RATE, false);
    assertTrue(probe.isGrowing());
    probe.endRound(3, 1.05 * RATE, RATE, false);
    assertTrue(probe.isGrowing());
    probe.endRound(4, 1.10 * RATE, RATE, false);
    assertFalse(probe.isGrowing());
    probe.endRound(1, RATE, RATE, false);
    assertTrue(probe.isGrowing());
  }

  /** The window has limited REFILL, and UP has only caught up. */
  @Test
  void growthToTheKnownBandwidthIsNotTakenFromOthers() {
    for (int i = 0; i < 6; i++) {
      probe.endRound(1, 0.84 * RATE, RATE, false);
      probe.end(RATE, true);
    }
    assertFalse(probe.isShared());
    for (int i = 0; i < 6; i++) {
      probe.endRound(1, 0.86 * RATE, RATE, false);
      probe.end(RATE, true);
    }
    assertTrue(probe.isShared());
  }

  @Test
  void growthToTheKnownBandwidthIsNoRoom() {
    probe.endRound(1, 0.8 * RATE, RATE, false);
    probe.end(RATE, false);
    assertFalse(probe.hasFoundRoom());
    probe.endRound(1, 0, RATE, false);
    probe.end(RATE, false);
    assertFalse(probe.hasFoundRoom());
  }

  @Test
  void probesThatTheApplicationLimitsTellNothing() {
    probes(2, 1.06, true);
    for (int i = 0; i < 6; i++) {
      probe.endRound(1, RATE, RATE, true);
      probe.end(1.2 * RATE, false);
      assertFalse(probe.hasFoundRoom());
      probe.endRound(1, RATE, RATE, false);
      probe.endRound(2, RATE, RATE, true);
      probe.end(RATE, true);
    }
    assertTrue(probe.isShared());
  }
}
