package io.kcp4j.congestion;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

class BandwidthProbeTest {

  private static final double RATE = 1e6;

  private final BandwidthProbe probe = new BandwidthProbe();

  /** REFILL was delivered all that it sent, and UP took one round. */
  private void probe(double growth, boolean isQueueGrowing) {
    probe.endRefill(RATE, RATE);
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
    probes(10, 1.11, false);
    assertFalse(probe.isShared());
    assertTrue(probe.hasFoundRoom());
    probe(1.09, false);
    assertFalse(probe.hasFoundRoom());
  }

  @Test
  void bestRoundOfUpCounts() {
    probe.endRefill(RATE, RATE);
    probe.endRound(1.2 * RATE);
    probe.end(RATE, false);
    assertTrue(probe.hasFoundRoom());

    probe.endRefill(1.2 * RATE, 1.2 * RATE);
    probe.end(1.2 * RATE, false);
    assertFalse(probe.hasFoundRoom());
  }

  /** The window has limited REFILL, and UP less. */
  @Test
  void growthToTheKnownBandwidthIsNotTakenFromOthers() {
    for (int i = 0; i < 6; i++) {
      probe.endRefill(0.84 * RATE, RATE);
      probe.end(RATE, true);
    }
    assertFalse(probe.isShared());
  }
}
