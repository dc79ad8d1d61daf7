package io.kcp4j.congestion;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

/** {@link Pacer} alone: which rate applies, and how large a burst is. */
class PacerTest {

  private static final int INTERVAL_MS = 10;

  private final Pacer pacer = new Pacer();

  /** When the pacer opens after a second's worth of a rate of 1000 bytes per millisecond. */
  private long opensAfter(int limitBytesPerSecond, long controlBytesPerSecond) {
    pacer.configure(limitBytesPerSecond, INTERVAL_MS, 0);
    pacer.controlRate(controlBytesPerSecond);
    pacer.charge(1_000_000, 0);
    return pacer.opensAtMs();
  }

  @Test
  void withoutARateThePacerIsAlwaysOpen() {
    assertEquals(0, opensAfter(0, 0));
    assertTrue(pacer.isOpen(0));
  }

  @Test
  void limitAloneSetsTheRate() {
    assertEquals(1000 - 2 * INTERVAL_MS, opensAfter(1_000_000, 0));
    assertFalse(pacer.isOpen(979));
    assertTrue(pacer.isOpen(980));
  }

  @Test
  void controlAloneSetsTheRate() {
    assertEquals(500 - 2 * INTERVAL_MS, opensAfter(0, 2_000_000));
  }

  @Test
  void smallerRateApplies() {
    assertEquals(1000 - 2 * INTERVAL_MS, opensAfter(1_000_000, 2_000_000));
  }

  @Test
  void smallerRateAppliesAlsoIfItIsTheControls() {
    assertEquals(1000 - 2 * INTERVAL_MS, opensAfter(2_000_000, 1_000_000));
  }

  @Test
  void rateAboveThirtyTwoBitsIsARate() {
    assertEquals(0, opensAfter(0, 10_000_000_000L) / 1000);
    assertTrue(pacer.isOpen(80 + 1));
  }

  @Test
  void limitThatIsLiftedLeavesTheControlsRate() {
    opensAfter(1_000_000, 2_000_000);
    assertEquals(500 - 2 * INTERVAL_MS, opensAfter(0, 2_000_000));
  }

  @Test
  void burstEndsAfterItsDatagramsAndBeginsInTheNextMillisecond() {
    pacer.configure(0, INTERVAL_MS, 3);
    assertTrue(pacer.isOpen(5));
    assertEquals(3, pacer.room());
    pacer.begin(3, 5);
    assertTrue(pacer.isBurstSpent(5));
    assertFalse(pacer.isOpen(5));
    assertEquals(6, pacer.opensAtMs());
    assertTrue(pacer.isOpen(6));
  }

  @Test
  void acknowledgedSegmentsExtendTheBurst() {
    pacer.configure(0, INTERVAL_MS, 3);
    pacer.isOpen(5);
    pacer.begin(3, 5);
    pacer.acknowledged(2, 5);
    assertEquals(2, pacer.room());
    assertTrue(pacer.isOpen(5));
  }
}
