package io.kcp4j.congestion;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

class MaxBandwidthTest {

  private final MaxBandwidth bandwidth = new MaxBandwidth();

  @Test
  void highestRateOfTwoCyclesCounts() {
    bandwidth.sample(100, false);
    bandwidth.sample(90, false);
    bandwidth.beginCycle();
    bandwidth.sample(80, false);
    assertEquals(100, bandwidth.bytesPerSecond());
    bandwidth.beginCycle();
    assertEquals(80, bandwidth.bytesPerSecond());
    bandwidth.sample(85, false);
    assertEquals(85, bandwidth.bytesPerSecond());
  }

  @Test
  void rateOfALimitedApplicationIsALowerBound() {
    bandwidth.sample(100, true);
    assertEquals(100, bandwidth.bytesPerSecond());
    assertFalse(bandwidth.isMeasured());
    bandwidth.sample(0, false); // no sample
    assertFalse(bandwidth.isMeasured());
    bandwidth.beginCycle();
    bandwidth.sample(90, true);
    bandwidth.beginCycle();
    assertEquals(0, bandwidth.bytesPerSecond());
    bandwidth.sample(80, false);
    assertTrue(bandwidth.isMeasured());
    bandwidth.limitedByPeer();
    assertFalse(bandwidth.isMeasured());
    assertEquals(80, bandwidth.bytesPerSecond());
  }

  @Test
  void boundHoldsUntilItIsLifted() {
    bandwidth.sample(100, false);
    bandwidth.bound(60);
    bandwidth.bound(70);
    bandwidth.sample(110, false);
    assertEquals(60, bandwidth.bytesPerSecond());
    assertEquals(110, bandwidth.max());
    bandwidth.unbound();
    assertEquals(110, bandwidth.bytesPerSecond());
  }
}
