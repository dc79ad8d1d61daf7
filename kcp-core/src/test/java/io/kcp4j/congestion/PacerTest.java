package io.kcp4j.congestion;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

/** {@link Pacer} alone: which rate applies, and how large a burst is. */
class PacerTest {

  private static final int INTERVAL_US = 10_000;

  private final Pacer pacer = new Pacer();

  /** When the pacer opens after a second's worth of a rate of one byte per microsecond. */
  private long opensAfter(int limitBytesPerSecond, long controlBytesPerSecond) {
    pacer.configure(limitBytesPerSecond, INTERVAL_US / 1_000, 0);
    pacer.controlRate(controlBytesPerSecond);
    pacer.charge(1_000_000, 0);
    return pacer.opensAtUs();
  }

  @Test
  void withoutARateThePacerIsAlwaysOpen() {
    assertEquals(0, opensAfter(0, 0));
    assertTrue(pacer.isOpen(0));
  }

  @Test
  void limitAloneSetsTheRate() {
    assertEquals(1_000_000 - 2 * INTERVAL_US, opensAfter(1_000_000, 0));
    assertFalse(pacer.isOpen(979_999));
    assertTrue(pacer.isOpen(980_000));
  }

  @Test
  void rateOpensAtTheMicrosecond() {
    pacer.configure(1_000_000, INTERVAL_US / 1_000, 0);
    pacer.charge(2 * INTERVAL_US + 123, 500);
    assertEquals(623, pacer.opensAtUs());
    assertFalse(pacer.isOpen(622));
    assertTrue(pacer.isOpen(623));
  }

  @Test
  void controlAloneSetsTheRate() {
    assertEquals(500_000 - 2 * INTERVAL_US, opensAfter(0, 2_000_000));
  }

  @Test
  void smallerRateApplies() {
    assertEquals(1_000_000 - 2 * INTERVAL_US, opensAfter(1_000_000, 2_000_000));
  }

  @Test
  void smallerRateAppliesAlsoIfItIsTheControls() {
    assertEquals(1_000_000 - 2 * INTERVAL_US, opensAfter(2_000_000, 1_000_000));
  }

  @Test
  void rateAboveThirtyTwoBitsIsARate() {
    assertEquals(100 - 2 * INTERVAL_US, opensAfter(0, 10_000_000_000L));
    assertTrue(pacer.isOpen(0));
  }

  @Test
  void limitThatIsLiftedLeavesTheControlsRate() {
    opensAfter(1_000_000, 2_000_000);
    assertEquals(500_000 - 2 * INTERVAL_US, opensAfter(0, 2_000_000));
  }

  @Test
  void burstEndsAfterItsDatagramsAndBeginsInTheNextMillisecond() {
    pacer.configure(0, INTERVAL_US / 1_000, 3);
    assertTrue(pacer.isOpen(5_000));
    assertEquals(3, pacer.room());
    pacer.begin(3, 5_000);
    assertTrue(pacer.isBurstSpent(5_000));
    assertFalse(pacer.isOpen(5_000));
    assertEquals(6_000, pacer.opensAtUs());
    assertTrue(pacer.isOpen(6_000));
  }

  @Test
  void burstEndsWithTheMillisecondInWhichItBegan() {
    pacer.configure(0, INTERVAL_US / 1_000, 3);
    assertTrue(pacer.isOpen(5_900));
    pacer.begin(3, 5_900);
    assertEquals(6_000, pacer.opensAtUs());
    assertFalse(pacer.isOpen(5_999));
    assertTrue(pacer.isOpen(6_000));
    pacer.begin(2, 6_000);
    assertTrue(pacer.isOpen(6_999));
    assertEquals(1, pacer.room());
    pacer.begin(1, 6_999);
    assertEquals(7_000, pacer.opensAtUs());
    assertFalse(pacer.isOpen(6_999));
    assertTrue(pacer.isOpen(7_000));
    assertEquals(3, pacer.room());
  }

  @Test
  void acknowledgedSegmentsExtendTheBurst() {
    pacer.configure(0, INTERVAL_US / 1_000, 3);
    pacer.isOpen(5_000);
    pacer.begin(3, 5_000);
    pacer.acknowledged(2, 5_000);
    assertEquals(2, pacer.room());
    assertTrue(pacer.isOpen(5_000));
  }

  @Test
  void segmentsAcknowledgedInOneMillisecondExtendTheBurstOfTheNext() {
    pacer.configure(0, INTERVAL_US / 1_000, 3);
    pacer.isOpen(5_000);
    pacer.begin(3, 5_000);
    pacer.acknowledged(2, 5_100);
    pacer.acknowledged(4, 5_999);
    assertEquals(6, pacer.room());
    assertTrue(pacer.isOpen(6_000));
    assertEquals(3 + 6, pacer.room());
  }
}
