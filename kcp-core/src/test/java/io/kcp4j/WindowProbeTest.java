package io.kcp4j;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

/** {@link WindowProbe} alone. */
class WindowProbeTest {

  private final WindowProbe probe = new WindowProbe();

  @Test
  void restsUntilItIsNeeded() {
    assertFalse(probe.take(1_000_000_000));
    assertEquals(Kcp.NO_DEADLINE, probe.nextAtUs());
  }

  @Test
  void firstProbeIsDueAfterHalfASecondAndTheNextWaitsHalfAsLongAgain() {
    probe.update(true, 1_000_000);
    assertFalse(probe.take(1_499_999));
    assertTrue(probe.take(1_500_000));
    assertFalse(probe.take(1_500_000));
    assertEquals(2_250_000, probe.nextAtUs());
  }

  @Test
  void neverWaitsLongerThanTwoMinutes() {
    probe.update(true, 0);
    for (int i = 0; i < 50; i++) {
      assertTrue(probe.take(probe.nextAtUs()));
    }
    long last = probe.nextAtUs();
    probe.take(last);
    assertEquals(last + 120_000_000, probe.nextAtUs());
  }

  @Test
  void lateProbeIsSentOnce() {
    probe.update(true, 0);
    assertTrue(probe.take(60_000_000));
    assertEquals(60_750_000, probe.nextAtUs());
  }

  @Test
  void restartsAfterARest() {
    probe.update(true, 0);
    probe.take(500_000);
    probe.update(false, 600_000);
    assertEquals(Kcp.NO_DEADLINE, probe.nextAtUs());
    probe.update(true, 700_000);
    assertEquals(1_200_000, probe.nextAtUs());
  }
}
