package io.kcp4j.congestion;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

class StandingQueueTest {

  private static final int RTT_US = 40_000;

  private static final int SECOND_US = 1_000_000;

  private final StandingQueue queue = new StandingQueue();

  private void round(long nowUs, int... rttsUs) {
    for (int rttUs : rttsUs) {
      queue.sample(rttUs, nowUs);
    }
    queue.endRound();
  }

  @Test
  void queueIsByHowMuchTheShortestOfARoundExceedsTheShortest() {
    round(0, RTT_US, RTT_US + 1, RTT_US + 2);
    assertEquals(0, queue.us());
    round(0, RTT_US + 30_000, RTT_US + 7_000, RTT_US + 50_000);
    assertEquals(7_000, queue.us());
    assertEquals(RTT_US, queue.shortestRttUs());
  }

  @Test
  void roundTripFromBeforeALongPauseIsForgotten() {
    round(0, RTT_US, RTT_US, RTT_US);
    round(0, 2 * RTT_US, 2 * RTT_US, 2 * RTT_US);
    assertTrue(queue.isStanding());
    round(3_600L * SECOND_US, 3 * RTT_US);
    assertFalse(queue.isKnown());
    round(3_600L * SECOND_US, 2 * RTT_US, 2 * RTT_US);
    assertEquals(0, queue.us());
    assertEquals(2 * RTT_US, queue.shortestRttUs());
  }

  @Test
  void queueOfAQuarterOfTheRoundTripDoesNotStand() {
    round(0, RTT_US, RTT_US, RTT_US);
    round(0, 50_000, 50_000, 50_000);
    assertFalse(queue.isStanding());
    round(0, 50_001, 60_000, 60_000);
    assertTrue(queue.isStanding());
  }

  @Test
  void queueOfAnEighthOfTheRoundTripGrows() {
    round(0, RTT_US, RTT_US, RTT_US);
    round(0, 45_000, 45_000, 45_000);
    assertFalse(queue.isGrowing());
    assertTrue(queue.isShort());
    round(0, 45_001, 60_000, 60_000);
    assertTrue(queue.isGrowing());
    assertFalse(queue.isShort());
    assertFalse(queue.isStanding());
  }

  @Test
  void queueOfMoreThanHalfOfTheRoundTripIsLong() {
    round(0, RTT_US, RTT_US, RTT_US);
    round(0, 60_000, 60_000, 60_000);
    assertFalse(queue.isLong());
    round(0, 60_001, 90_000, 90_000);
    assertTrue(queue.isLong());
  }

  @Test
  void queueOfOneThirtySecondOfTheRoundTripCountsAsEmpty() {
    round(0, RTT_US, RTT_US, RTT_US);
    assertTrue(queue.isEmpty(41_250));
    assertFalse(queue.isEmpty(41_251));
  }

  @Test
  void queueOfFiveMillisecondsDoesNotStandHoweverShortThePath() {
    round(0, 100, 100, 100);
    round(0, 5_100, 5_100, 5_100);
    assertFalse(queue.isStanding());
    round(0, 5_101, 5_101, 5_101);
    assertTrue(queue.isStanding());
  }

  /** The shortest round trip may contain a queue: that of a sender that was there before. */
  @Test
  void queueOfMoreThanTenMillisecondsStandsHoweverLongThePath() {
    round(0, 200_000, 200_000, 200_000);
    round(0, 210_000, 210_000, 210_000);
    assertFalse(queue.isStanding());
    assertTrue(queue.hasDrained());
    round(0, 210_001, 210_001, 210_001);
    assertTrue(queue.isStanding());
    assertFalse(queue.hasDrained());
  }

  @Test
  void roundOfFewRoundTripTimesIsAddedToTheNext() {
    round(0, RTT_US, RTT_US, RTT_US);
    round(0, 90_000, 90_000);
    assertFalse(queue.isKnown());
    assertFalse(queue.isStanding());
    assertFalse(queue.hasDrained());
    assertFalse(queue.isShort());
    assertEquals(0, queue.us());
    round(0, 80_000);
    assertTrue(queue.isStanding());
    assertEquals(RTT_US, queue.us());
  }

  @Test
  void shortestRoundTripIsForgottenAfterHalfAMinuteToAMinute() {
    round(0, RTT_US, RTT_US, RTT_US);
    round(31 * SECOND_US, 80_000, 80_000, 80_000);
    round(60 * SECOND_US, 80_000, 80_000, 80_000);
    assertEquals(40_000, queue.us());
    round(62 * SECOND_US, 80_000, 80_000, 80_000);
    assertEquals(0, queue.us());
  }
}
