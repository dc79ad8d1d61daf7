package io.kcp4j.load;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.junit.jupiter.api.Test;

class RoundTripHistogramTest {

  private final RoundTripHistogram histogram = new RoundTripHistogram();

  @Test
  void aBinCoversTenMicroseconds() {
    histogram.add(0);
    histogram.add(9_999);
    histogram.add(10_000);
    assertEquals(
        "{\"messages\":3,\"max_us\":10.0,\"bins_10us\":[[0,2],[1,1]]}", histogram.toJson());
  }

  @Test
  void longRoundTripsAreCountedExactly() {
    histogram.add(2_000_000_000);
    assertEquals(
        "{\"messages\":1,\"max_us\":2000000.0,\"bins_10us\":[[200000,1]]}", histogram.toJson());
  }

  @Test
  void aMarkBeginsAnew() {
    histogram.add(20_000);
    histogram.toJson();
    assertEquals("{\"messages\":0,\"max_us\":0.0,\"bins_10us\":[]}", histogram.toJson());
  }
}
