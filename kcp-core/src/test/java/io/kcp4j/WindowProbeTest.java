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
    assertFalse(probe.isDue(1_000_000));
    assertEquals(Kcp.NO_DEADLINE, probe.nextAtMs());
  }

  @Test
  void firstProbeIsDueAfterHalfASecondAndTheNextWaitsHalfAsLongAgain() {
    probe.update(true, 1000);
    assertFalse(probe.isDue(1499));
    assertTrue(probe.isDue(1500));
    assertFalse(probe.isDue(1500));
    assertEquals(2250, probe.nextAtMs());
  }

  @Test
  void neverWaitsLongerThanTwoMinutes() {
    probe.update(true, 0);
    for (int i = 0; i < 50; i++) {
      assertTrue(probe.isDue(probe.nextAtMs()));
    }
    long last = probe.nextAtMs();
    probe.isDue(last);
    assertEquals(last + 120_000, probe.nextAtMs());
  }

  @Test
  void lateProbeIsSentOnce() {
    probe.update(true, 0);
    assertTrue(probe.isDue(60_000));
    assertEquals(60_750, probe.nextAtMs());
  }

  @Test
  void beginsAnewAfterARest() {
    probe.update(true, 0);
    probe.isDue(500);
    probe.update(false, 600);
    assertEquals(Kcp.NO_DEADLINE, probe.nextAtMs());
    probe.update(true, 700);
    assertEquals(1200, probe.nextAtMs());
  }
}
