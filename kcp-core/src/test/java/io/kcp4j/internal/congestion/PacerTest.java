package io.kcp4j.internal.congestion;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

/** {@link Pacer} alone: which rate applies, and how large a burst is. */
class PacerTest {

  private static final int INTERVAL_US = 10_000;

  private static final int MTU_BYTES = 1400;

  /** What may leave at once at the rate of a congestion control that is not fast. */
  private static final int BURST_BYTES = 10 * MTU_BYTES;

  private final Pacer pacer = new Pacer();

  /** When the pacer opens after a second's worth of a rate of one byte per microsecond. */
  private long opensAfter(int limitBytesPerSecond, long controlBytesPerSecond) {
    pacer.configure(limitBytesPerSecond, INTERVAL_US / 1_000, 0, MTU_BYTES);
    pacer.controlRate(controlBytesPerSecond);
    pacer.charge(1_000_000, 0);
    return pacer.opensAtUs();
  }

  @Test
  void withoutARateThePacerIsAlwaysOpen() {
    assertEquals(0, opensAfter(0, 0));
    assertTrue(pacer.isOpen(0));
  }

  @Test
  void limitAloneSetsTheRate() {
    assertEquals(1_000_000 - 2 * INTERVAL_US, opensAfter(1_000_000, 0));
    assertFalse(pacer.isOpen(979_999));
    assertTrue(pacer.isOpen(980_000));
  }

  @Test
  void rateOpensAtTheMicrosecond() {
    pacer.configure(1_000_000, INTERVAL_US / 1_000, 0, MTU_BYTES);
    pacer.charge(2 * INTERVAL_US + 123, 500);
    assertEquals(623, pacer.opensAtUs());
    assertFalse(pacer.isOpen(622));
    assertTrue(pacer.isOpen(623));
  }

  /** When the pacer opens after a second's worth of a million bytes, of which ten may be ahead. */
  private static long opensAtControlRate(long bytesPerSecond) {
    return (1_000_000L - BURST_BYTES) * 1_000_000 / bytesPerSecond + 1;
  }

  @Test
  void controlAloneSetsTheRate() {
    assertEquals(opensAtControlRate(2_000_000), opensAfter(0, 2_000_000));
  }

  @Test
  void smallerRateApplies() {
    assertEquals(1_000_000 - 2 * INTERVAL_US, opensAfter(1_000_000, 2_000_000));
  }

  @Test
  void smallerRateAppliesAlsoIfItIsTheControls() {
    assertEquals(opensAtControlRate(1_000_000), opensAfter(2_000_000, 1_000_000));
  }

  @Test
  void limitThatIsLiftedLeavesTheControlsRate() {
    opensAfter(1_000_000, 2_000_000);
    pacer.configure(0, INTERVAL_US / 1_000, 0, MTU_BYTES);
    assertEquals(opensAtControlRate(2_000_000), pacer.opensAtUs());
  }

  @Test
  void tenDatagramsMayLeaveTogetherAtTheRateOfTheControl() {
    pacer.configure(0, INTERVAL_US / 1_000, 0, MTU_BYTES);
    pacer.controlRate(1_000_000);
    assertTrue(pacer.isOpen(5_000));
    assertEquals(10, pacer.room());
    pacer.charge(BURST_BYTES - 1, 5_000);
    assertTrue(pacer.isOpen(5_000));
    assertEquals(1, pacer.room());
    pacer.charge(1, 5_000);
    assertFalse(pacer.isOpen(5_000));
    assertTrue(pacer.isDeferring(5_000));
    assertEquals(5_001, pacer.opensAtUs());
    assertTrue(pacer.isOpen(5_001));
  }

  @Test
  void millisecondOfAFastControlMayLeaveTogether() {
    pacer.configure(0, INTERVAL_US / 1_000, 0, MTU_BYTES);
    pacer.controlRate(140_000_000);
    assertTrue(pacer.isOpen(0));
    assertEquals(100, pacer.room());
    assertEquals(Integer.MAX_VALUE, pacer.roomForFlush(140_000, 0));
    assertEquals(0, pacer.roomForFlush(140_001, 0));
  }

  @Test
  void idlenessGivesNoCredit() {
    pacer.configure(0, INTERVAL_US / 1_000, 0, MTU_BYTES);
    pacer.controlRate(1_000_000);
    pacer.charge(BURST_BYTES, 0);
    assertTrue(pacer.isOpen(100_000_000));
    assertEquals(10, pacer.room());
  }

  @Test
  void whatIsAheadDrainsAtTheNewRate() {
    pacer.configure(0, INTERVAL_US / 1_000, 0, MTU_BYTES);
    pacer.controlRate(1_000);
    pacer.charge(BURST_BYTES + 1_000, 0);
    assertEquals(1_000_001, pacer.opensAtUs());
    pacer.controlRate(1_000_000);
    assertEquals(1_001, pacer.opensAtUs());
  }

  @Test
  void rateOfTheControlDoesNotOverflow() {
    pacer.configure(0, INTERVAL_US / 1_000, 0, MTU_BYTES);
    pacer.controlRate(Long.MAX_VALUE);
    pacer.charge(Integer.MAX_VALUE, 0);
    assertTrue(pacer.isOpen(Long.MAX_VALUE / 2_000));
    assertTrue(pacer.room() > 0);
  }

  @Test
  void onlyWhatIsSentAtTheRateOfAControlIsCounted() {
    pacer.configure(1_000_000, INTERVAL_US / 1_000, 0, MTU_BYTES);
    pacer.charge(100, 0);
    assertEquals(0, pacer.chargedBytes());
    pacer.controlRate(1_000);
    pacer.charge(100, 0);
    pacer.controlRate(2_000);
    pacer.charge(20, 0);
    assertEquals(120, pacer.chargedBytes());
  }

  @Test
  void whatDoesNotWaitCountsAgainstTheLimitOnly() {
    pacer.configure(0, INTERVAL_US / 1_000, 0, MTU_BYTES);
    pacer.controlRate(1_000);
    pacer.chargeUnpaced(1_000_000, 0);
    assertTrue(pacer.isOpen(0));
    assertEquals(0, pacer.chargedBytes());
    pacer.controlRate(0);
    pacer.configure(1_000_000, INTERVAL_US / 1_000, 0, MTU_BYTES);
    pacer.chargeUnpaced(1_000, 0);
    pacer.charge(100_000, 0);
    assertEquals(101_000 - 2 * INTERVAL_US, pacer.opensAtUs());
  }

  /** The paced bytes that may leave in ten seconds beside so many others in each millisecond. */
  private static int pacedBytesBeside(int unpacedBytes) {
    Pacer pacer = new Pacer();
    pacer.configure(1_000_000, INTERVAL_US / 1_000, 0, MTU_BYTES);
    int paced = 0;
    for (int nowUs = 0; nowUs < 10_000_000; nowUs += 1_000) {
      pacer.chargeUnpaced(unpacedBytes, nowUs);
      while (pacer.isOpen(nowUs)) {
        pacer.charge(100, nowUs);
        paced += 100;
      }
    }
    return paced;
  }

  @Test
  void limitHoldsForAllThatIsSentWhileSevenEighthsDoNotWait() {
    assertEquals(10_000_000 - 5_000_000, pacedBytesBeside(500), 50_000);
    assertEquals(10_000_000 - 8_750_000, pacedBytesBeside(875), 50_000);
  }

  @Test
  void whatDoesNotWaitLeavesAnEighthOfTheLimitToTheRest() {
    assertEquals(1_250_000, pacedBytesBeside(2_000), 50_000);
    assertEquals(1_250_000, pacedBytesBeside(1_000_000), 50_000);
  }

  @Test
  void debtOfWhatDoesNotWaitIsPaidWithinTwoSeconds() {
    pacer.configure(1_000_000, INTERVAL_US / 1_000, 0, MTU_BYTES);
    pacer.chargeUnpaced(Integer.MAX_VALUE, 0);
    pacer.chargeUnpaced(Integer.MAX_VALUE, 0);
    for (int nowUs = 0; nowUs < 2_000_000; nowUs += 1_000) {
      while (pacer.isOpen(nowUs)) {
        pacer.charge(100, nowUs);
      }
    }
    long openUs = pacer.opensAtUs();
    assertTrue(openUs <= 2_000_000, "opens at " + openUs);
    pacer.charge(100_000, openUs);
    assertEquals(openUs + 100_000, pacer.opensAtUs());
  }

  @Test
  void debtOfWhatDoesNotWaitIsPaidWhileNothingIsSent() {
    pacer.configure(1_000_000, INTERVAL_US / 1_000, 0, MTU_BYTES);
    pacer.chargeUnpaced(500_000, 0);
    assertEquals(0, pacer.roomForFlush(INTERVAL_US, 400_000));
    assertEquals(Integer.MAX_VALUE, pacer.roomForFlush(INTERVAL_US, 500_000));
  }

  @Test
  void burstEndsAfterItsDatagramsAndBeginsInTheNextMillisecond() {
    pacer.configure(0, INTERVAL_US / 1_000, 3, MTU_BYTES);
    assertTrue(pacer.isOpen(5_000));
    assertEquals(3, pacer.room());
    pacer.begin(3, 5_000);
    assertTrue(pacer.isBurstSpent(5_000));
    assertFalse(pacer.isOpen(5_000));
    assertEquals(6_000, pacer.opensAtUs());
    assertTrue(pacer.isOpen(6_000));
  }

  @Test
  void burstEndsWithTheMillisecondInWhichItBegan() {
    pacer.configure(0, INTERVAL_US / 1_000, 3, MTU_BYTES);
    assertTrue(pacer.isOpen(5_900));
    pacer.begin(3, 5_900);
    assertEquals(6_000, pacer.opensAtUs());
    assertFalse(pacer.isOpen(5_999));
    assertTrue(pacer.isOpen(6_000));
    pacer.begin(2, 6_000);
    assertTrue(pacer.isOpen(6_999));
    assertEquals(1, pacer.room());
    pacer.begin(1, 6_999);
    assertEquals(7_000, pacer.opensAtUs());
    assertFalse(pacer.isOpen(6_999));
    assertTrue(pacer.isOpen(7_000));
    assertEquals(3, pacer.room());
  }

  @Test
  void acknowledgedSegmentsExtendTheBurst() {
    pacer.configure(0, INTERVAL_US / 1_000, 3, MTU_BYTES);
    pacer.isOpen(5_000);
    pacer.begin(3, 5_000);
    pacer.acknowledged(2, 5_000);
    assertEquals(2, pacer.room());
    assertTrue(pacer.isOpen(5_000));
  }

  @Test
  void segmentsAcknowledgedInOneMillisecondExtendTheBurstOfTheNext() {
    pacer.configure(0, INTERVAL_US / 1_000, 3, MTU_BYTES);
    pacer.isOpen(5_000);
    pacer.begin(3, 5_000);
    pacer.acknowledged(2, 5_100);
    pacer.acknowledged(4, 5_999);
    assertEquals(6, pacer.room());
    assertTrue(pacer.isOpen(6_000));
    assertEquals(3 + 6, pacer.room());
  }
}
