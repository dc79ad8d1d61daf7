package io.kcp4j.congestion;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.junit.jupiter.api.Test;

class MaxBandwidthTest {

  private final MaxBandwidth bandwidth = new MaxBandwidth();

  @Test
  void highestRateOfTwoCyclesCounts() {
    bandwidth.sample(100);
    bandwidth.sample(90);
    bandwidth.beginCycle();
    bandwidth.sample(80);
    assertEquals(100, bandwidth.bytesPerSecond());
    bandwidth.beginCycle();
    assertEquals(80, bandwidth.bytesPerSecond());
    bandwidth.sample(85);
    assertEquals(85, bandwidth.bytesPerSecond());
  }

  @Test
  void boundHoldsUntilItIsLifted() {
    bandwidth.sample(100);
    bandwidth.bound(60);
    bandwidth.bound(70);
    bandwidth.sample(110);
    assertEquals(60, bandwidth.bytesPerSecond());
    assertEquals(110, bandwidth.max());
    bandwidth.unbound();
    assertEquals(110, bandwidth.bytesPerSecond());
  }
}
