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
    minRtt.sample(50_000, 0);
    minRtt.sample(40_000, 1);
    minRtt.sample(60_000, 2);
    assertEquals(40_000, minRtt.us());
  }

  @Test
  void itExpiresUnlessItIsSeenAgain() {
    minRtt.sample(40_000, 0);
    minRtt.sample(41_001, 4_000_000);
    assertFalse(minRtt.isExpired(5_000_000));
    assertTrue(minRtt.isExpired(5_000_001));
    minRtt.sample(41_000, 5_000_001);
    assertFalse(minRtt.isExpired(10_000_001));
    assertEquals(40_000, minRtt.us());
  }

  @Test
  void itMayBecomeLongerAfterARestart() {
    minRtt.sample(40_000, 0);
    minRtt.restart(90_000, 6_000_000);
    assertEquals(90_000, minRtt.us());
    assertFalse(minRtt.isExpired(11_000_000));
    minRtt.sample(70_000, 6_100_000);
    assertEquals(70_000, minRtt.us());
  }
}
