package io.kcp4j.lab;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.junit.jupiter.api.Test;

class LatenciesTest {

  private final Latencies latencies = new Latencies();

  @Test
  void anEmptyHistogramHasNoLatency() {
    assertEquals(0, latencies.quantileUs(0.5));
    assertEquals(0, latencies.maxUs());
    assertEquals(0, latencies.count());
  }

  @Test
  void quantilesAreRoundedDownToABin() {
    for (int us = 1; us <= 1_000; us++) {
      latencies.add(10 * us + 9);
    }
    assertEquals(5_000, latencies.quantileUs(0.5));
    assertEquals(9_900, latencies.quantileUs(0.99));
    assertEquals(9_990, latencies.quantileUs(0.999));
    assertEquals(10_000, latencies.quantileUs(1));
    assertEquals(10_009, latencies.maxUs());
  }

  @Test
  void oneOfAThousandIsNotInTheQuantileButInTheMaximum() {
    for (int i = 0; i < 999; i++) {
      latencies.add(20_000);
    }
    latencies.add(10_000_000);
    assertEquals(20_000, latencies.quantileUs(0.999));
    assertEquals(10_000_000, latencies.quantileUs(0.9991));
    assertEquals(10_000_000, latencies.maxUs());
  }
}
