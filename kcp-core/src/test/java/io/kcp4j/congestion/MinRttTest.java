package io.kcp4j.congestion;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

class MinRttTest {

  private final MinRtt minRtt = new MinRtt();

  @Test
  void shortestRoundTripCounts() {
    assertEquals(0, minRtt.us());
    minRtt.sample(50_000, 0, true);
    minRtt.sample(40_000, 1, true);
    minRtt.sample(60_000, 2, true);
    assertEquals(40_000, minRtt.us());
  }

  @Test
  void itExpiresUnlessItIsSeenAgain() {
    minRtt.sample(40_000, 0, true);
    minRtt.sample(41_001, 4_000_000, true);
    assertFalse(minRtt.isExpired(5_000_000));
    assertTrue(minRtt.isExpired(5_000_001));
    minRtt.sample(41_000, 5_000_001, true);
    assertFalse(minRtt.isExpired(10_000_001));
    assertEquals(40_000, minRtt.us());
  }

  @Test
  void itMayBecomeLongerAfterARestart() {
    minRtt.sample(40_000, 0, true);
    minRtt.restart(90_000, 6_000_000);
    assertEquals(90_000, minRtt.us());
    assertFalse(minRtt.isExpired(11_000_000));
    minRtt.sample(70_000, 6_100_000, true);
    assertEquals(70_000, minRtt.us());
  }

  @Test
  void onlyAShorterOneConfirmsWhatMayContainOurQueue() {
    minRtt.sample(40_000, 0, false);
    minRtt.sample(39_001, 4_000_000, false);
    assertEquals(39_001, minRtt.us());
    assertTrue(minRtt.isExpired(5_000_001));
    minRtt.sample(38_001, 5_000_001, false);
    assertFalse(minRtt.isExpired(10_000_001));
    assertTrue(minRtt.isExpired(10_000_002));
  }
}
