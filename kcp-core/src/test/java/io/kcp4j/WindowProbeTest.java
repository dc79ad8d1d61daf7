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
    assertFalse(probe.take(1_000_000));
    assertEquals(Kcp.NO_DEADLINE, probe.nextAtMs());
  }

  @Test
  void firstProbeIsDueAfterHalfASecondAndTheNextWaitsHalfAsLongAgain() {
    probe.update(true, 1000);
    assertFalse(probe.take(1499));
    assertTrue(probe.take(1500));
    assertFalse(probe.take(1500));
    assertEquals(2250, probe.nextAtMs());
  }

  @Test
  void neverWaitsLongerThanTwoMinutes() {
    probe.update(true, 0);
    for (int i = 0; i < 50; i++) {
      assertTrue(probe.take(probe.nextAtMs()));
    }
    long last = probe.nextAtMs();
    probe.take(last);
    assertEquals(last + 120_000, probe.nextAtMs());
  }

  @Test
  void lateProbeIsSentOnce() {
    probe.update(true, 0);
    assertTrue(probe.take(60_000));
    assertEquals(60_750, probe.nextAtMs());
  }

  @Test
  void restartsAfterARest() {
    probe.update(true, 0);
    probe.take(500);
    probe.update(false, 600);
    assertEquals(Kcp.NO_DEADLINE, probe.nextAtMs());
    probe.update(true, 700);
    assertEquals(1200, probe.nextAtMs());
  }
}
