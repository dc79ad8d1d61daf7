package io.kcp4j.examples;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.junit.jupiter.api.Test;

class LatencySamplesTest {

  private final LatencySamples samples = new LatencySamples();

  @Test
  void percentilesWithoutSamplesAreZero() {
    assertEquals(0, samples.percentileMs(50));
  }

  @Test
  void percentileIsTheSampleOfThatRank() {
    for (int ms = 1000; ms >= 1; ms--) {
      samples.add(ms * 1_000_000L);
    }
    assertEquals(1000, samples.size());
    assertEquals(1, samples.percentileMs(0));
    assertEquals(500, samples.percentileMs(50));
    assertEquals(990, samples.percentileMs(99));
    assertEquals(1000, samples.percentileMs(100));
  }

  @Test
  void sharesAreThoseOfLongerSamples() {
    assertEquals(0, samples.percentAbove(0));
    for (int ms = 1; ms <= 8; ms++) {
      samples.add(ms * 1_000_000L);
    }
    assertEquals(100, samples.percentAbove(0.9));
    assertEquals(25, samples.percentAbove(6));
    assertEquals(0, samples.percentAbove(8));
  }

  @Test
  void samplesMayBeAddedAfterAPercentileWasComputed() {
    samples.add(2_000_000);
    assertEquals(2, samples.percentileMs(100));
    samples.add(1_000_000);
    assertEquals("min/p50/p90/p99/max 1.00/1.00/2.00/2.00/2.00 ms", samples.toString());
  }
}
