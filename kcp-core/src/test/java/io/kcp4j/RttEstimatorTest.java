package io.kcp4j;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.junit.jupiter.api.Test;

/** {@link RttEstimator} against values computed by hand. */
class RttEstimatorTest {

  private static final KcpConfig CONFIG = KcpConfig.builder().intervalMs(10).build();

  private final RttEstimator rtt = new RttEstimator();

  RttEstimatorTest() {
    rtt.configure(CONFIG);
  }

  private void assertState(int srttMs, int rttVarMs, int rtoMs) {
    assertEquals(srttMs, rtt.srttMs(), "srtt");
    assertEquals(rttVarMs, rtt.rttVarMs(), "rttVar");
    assertEquals(rtoMs, rtt.rtoMs(), "rto");
  }

  @Test
  void beforeTheFirstSampleTheTimeoutIs200() {
    assertState(0, 0, 200);
  }

  @Test
  void firstSampleSetsBoth() {
    rtt.sample(100);
    assertState(100, 50, 300);
  }

  @Test
  void samplesAreSmoothed() {
    rtt.sample(100);
    rtt.sample(180); // 100 + 80/8; 50 + (80 - 50)/4
    assertState(110, 57, 338);
    rtt.sample(110); // 110 + 0; 57 + (0 - 57)/4, rounded down
    assertState(110, 42, 278);
  }

  @Test
  void sampleFarBelowWidensTheVariationOnlyALittle() {
    rtt.sample(100);
    rtt.sample(20); // 100 - 80/8 = 90; 20 < 90 - 50: 50 + (80 - 50)/32
    assertState(90, 50, 290);
  }

  @Test
  void sampleAtTheLowerBoundOfTheVariationCountsInFull() {
    rtt.sample(100);
    rtt.sample(44); // 100 - 56/8 = 93; 44 is not below 93 - 50: 50 + (56 - 50)/4
    assertState(93, 51, 297);
  }

  @Test
  void intervalIsPartOfTheTimeoutWhereTheVariationIsSmaller() {
    KcpConfig slow = KcpConfig.builder().intervalMs(500).build();
    rtt.configure(slow);
    rtt.sample(100);
    assertState(100, 50, 600);
  }

  @Test
  void sampleOfZeroIsASample() {
    rtt.sample(0);
    assertState(0, 0, 30);
    rtt.sample(80);
    assertState(10, 20, 90);
  }

  @Test
  void lowerLimitFollowsNoDelayUnlessItIsSet() {
    KcpConfig.Builder config = CONFIG.toBuilder();
    rtt.configure(config.noDelay(true).build());
    rtt.sample(1);
    assertEquals(30, rtt.rtoMs());
    rtt.configure(config.noDelay(false).build());
    assertEquals(100, rtt.rtoMs());
    rtt.configure(config.minRtoMs(5).build());
    assertEquals(11, rtt.rtoMs());
    rtt.configure(config.minRtoMs(400).build());
    assertEquals(400, rtt.rtoMs());
  }

  @Test
  void timeoutNeverExceedsAMinute() {
    rtt.sample(20_000);
    assertEquals(60_000, rtt.rtoMs());
    rtt.sample(20_000);
    assertState(20_000, 7_500, 50_000);
  }

  @Test
  void backOffGrowsByHalfOrDoublesUpToAMinute() {
    assertEquals(300, rtt.backOff(200, true));
    assertEquals(400, rtt.backOff(200, false));
    assertEquals(60_000, rtt.backOff(40_000, true));
    assertEquals(59_998, rtt.backOff(29_999, false));
    assertEquals(60_000, rtt.backOff(30_001, false));
  }
}
