package io.kcp4j.internal.recovery;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.kcp4j.KcpConfig;
import org.junit.jupiter.api.Test;

/** {@link RttEstimator} against values computed by hand, in microseconds. */
class RttEstimatorTest {

  private static final KcpConfig CONFIG = KcpConfig.builder().intervalMs(10).build();

  private final RttEstimator rtt = new RttEstimator();

  RttEstimatorTest() {
    rtt.configure(CONFIG);
  }

  private void assertState(int srttUs, int rttVarUs, int rtoUs) {
    assertEquals(srttUs, rtt.srttUs(), "srtt");
    assertEquals(rttVarUs, rtt.rttVarUs(), "rttVar");
    assertEquals(rtoUs, rtt.rtoUs(), "rto");
  }

  @Test
  void beforeTheFirstSampleTheTimeoutIs200Milliseconds() {
    assertState(0, 0, 200_000);
  }

  @Test
  void firstSampleSetsBoth() {
    rtt.sample(100_000, 0);
    assertState(100_000, 50_000, 300_000);
  }

  @Test
  void samplesAreSmoothed() {
    rtt.sample(100_000, 0);
    rtt.sample(180_000, 0); // 100000 + 80000/8; 50000 + (80000 - 50000)/4
    assertState(110_000, 57_500, 340_000);
    rtt.sample(110_000, 0); // 110000 + 0; 57500 + (0 - 57500)/4
    assertState(110_000, 43_125, 282_500);
    rtt.sample(109_997, 0); // 110000 - 3/8; 43125 + (3 - 43125)/4, both rounded down
    assertState(109_999, 32_344, 239_375);
  }

  @Test
  void sampleFarBelowWidensTheVariationOnlyALittle() {
    rtt.sample(100_000, 0);
    rtt.sample(20_000, 0); // 100000 - 80000/8 = 90000; 20000 < 90000 - 50000: 50000 + 30000/32
    assertState(90_000, 50_937, 293_748);
  }

  @Test
  void sampleAtTheLowerBoundOfTheVariationCountsInFull() {
    rtt.sample(100_000, 0);
    rtt.sample(42_857, 0); // 100000 - 57143/8 = 92857; 42857 = 92857 - 50000: 50000 + 7143/4
    assertState(92_857, 51_785, 299_997);
  }

  @Test
  void intervalIsPartOfTheTimeoutWhereTheVariationIsSmaller() {
    KcpConfig slow = KcpConfig.builder().intervalMs(500).build();
    rtt.configure(slow);
    rtt.sample(100_000, 0);
    assertState(100_000, 50_000, 600_000);
  }

  @Test
  void sampleOfZeroIsASample() {
    rtt.sample(0, 0);
    assertState(0, 0, 30_000);
    rtt.sample(80_000, 0);
    assertState(10_000, 20_000, 90_000);
  }

  @Test
  void lowerLimitFollowsNoDelay() {
    KcpConfig.Builder config = CONFIG.toBuilder();
    rtt.configure(config.noDelay(true).build());
    rtt.sample(1_000, 0);
    assertEquals(30_000, rtt.rtoUs());
    rtt.configure(config.noDelay(false).build());
    assertEquals(100_000, rtt.rtoUs());
  }

  @Test
  void timeoutNeverExceedsAMinute() {
    rtt.sample(20_000_000, 0);
    assertEquals(60_000_000, rtt.rtoUs());
    rtt.sample(20_000_000, 0);
    assertState(20_000_000, 7_500_000, 50_000_000);
  }

  @Test
  void backOffGrowsByHalfOrDoublesUpToAMinute() {
    assertEquals(300_000, rtt.backOff(200_000, true));
    assertEquals(300_002, rtt.backOff(200_001, true), "the half is rounded up");
    assertEquals(400_000, rtt.backOff(200_000, false));
    assertEquals(60_000_000, rtt.backOff(40_000_000, true));
    assertEquals(59_999_998, rtt.backOff(29_999_999, false));
    assertEquals(60_000_000, rtt.backOff(30_000_001, false));
  }
}
