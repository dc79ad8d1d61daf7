package io.kcp4j.internal.congestion;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

/** {@link PathQueue}: how long the queue is, and whether a competing flow keeps it. */
class PathQueueTest {

  private static final int RTT_US = 40_000;

  private static final int SECOND_US = 1_000_000;

  /** A queue stands if it is longer than this. */
  private static final int THRESHOLD_US = 10_000;

  private static final int STANDING_US = THRESHOLD_US + 1;

  private static final int LONG_US = 2 * THRESHOLD_US + 1;

  private final PathQueue queue = new PathQueue();
  private long nowUs;

  // Length

  private void round(long nowUs, int... rttsUs) {
    for (int rttUs : rttsUs) {
      queue.sample(rttUs, nowUs);
    }
    queue.endRound(false, nowUs);
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
  void queueOfAnEighthOfTheRoundTripIsHalfOfAStandingOne() {
    round(0, RTT_US, RTT_US, RTT_US);
    round(0, 45_000, 45_000, 45_000);
    assertFalse(queue.isAboveHalf());
    assertTrue(queue.isShort());
    round(0, 45_001, 60_000, 60_000);
    assertTrue(queue.isAboveHalf());
    assertFalse(queue.isShort());
    assertFalse(queue.isStanding());
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

  // Competitor

  /** A round that shows the shortest round trip. */
  private void beginWithoutAQueue() {
    round(nowUs, RTT_US, RTT_US, RTT_US);
  }

  /** A round of CRUISE. */
  private void endRound(int queueUs, boolean isLossy) {
    for (int i = 0; i < 3; i++) {
      queue.sample(RTT_US + queueUs, nowUs);
    }
    queue.endRound(isLossy, nowUs);
    if (queue.isStanding()) {
      queue.onDrainFailed();
    }
  }

  private void endRounds(int rounds, int queueUs) {
    for (int i = 0; i < rounds; i++) {
      endRound(queueUs, false);
    }
  }

  private void assertIsCompetitorsAfter(int rounds, int queueUs) {
    endRounds(rounds - 1, queueUs);
    assertFalse(queue.hasCompetitor());
    endRounds(1, queueUs);
    assertTrue(queue.hasCompetitor());
  }

  @Test
  void queueThatStandsEightTimesInARowIsAnothers() {
    beginWithoutAQueue();
    assertIsCompetitorsAfter(8, LONG_US);
  }

  @Test
  void roundWithoutAStandingQueueShowsThatItIsOurs() {
    beginWithoutAQueue();
    endRounds(7, STANDING_US);
    endRounds(1, THRESHOLD_US);
    endRounds(7, STANDING_US);
    assertFalse(queue.hasCompetitor());
  }

  @Test
  void roundThatTellsNothingShowsNothing() {
    beginWithoutAQueue();
    endRounds(7, STANDING_US);
    queue.endRound(false, nowUs);
    endRounds(1, STANDING_US);
    assertTrue(queue.hasCompetitor());
  }

  @Test
  void longQueueCountsTwiceAfterALoss() {
    beginWithoutAQueue();
    endRound(LONG_US, true);
    assertIsCompetitorsAfter(3, LONG_US);
  }

  @Test
  void standingQueueCountsOnceAfterALoss() {
    beginWithoutAQueue();
    endRound(LONG_US, true);
    assertIsCompetitorsAfter(6, STANDING_US);
  }

  @Test
  void queueOfTwiceAStandingOneCountsOnceAfterALoss() {
    beginWithoutAQueue();
    endRound(LONG_US, true);
    assertIsCompetitorsAfter(6, 2 * THRESHOLD_US);
  }

  @Test
  void lossWithoutAStandingQueueMeansNothing() {
    beginWithoutAQueue();
    endRound(THRESHOLD_US, true);
    assertIsCompetitorsAfter(8, LONG_US);
  }

  @Test
  void lossIsRememberedForTwentySeconds() {
    beginWithoutAQueue();
    endRound(STANDING_US, true);
    nowUs += 20 * SECOND_US;
    assertIsCompetitorsAfter(7, LONG_US);
  }

  /** Beside another sender it may hover around the threshold. */
  @Test
  void onlyAShortQueueShowsThatItIsOursAfterALoss() {
    beginWithoutAQueue();
    endRound(STANDING_US, true);
    endRounds(6, STANDING_US);
    endRounds(1, THRESHOLD_US / 2);
    endRounds(7, STANDING_US);
    assertFalse(queue.hasCompetitor());
    endRounds(1, THRESHOLD_US / 2 + 1);
    endRounds(1, STANDING_US);
    assertTrue(queue.hasCompetitor());
  }

  @Test
  void queueOfAnotherMayBeShortForAWhile() {
    beginWithoutAQueue();
    endRounds(8, STANDING_US);
    endRounds(20, 0);
    queue.endCycle();
    endRounds(20, 0);
    endRounds(1, STANDING_US);
    queue.endCycle();
    assertTrue(queue.hasCompetitor());
  }

  @Test
  void cycleWithoutAQueueShowsThatTheOtherHasGone() {
    beginWithoutAQueue();
    endRounds(8, STANDING_US);
    queue.endCycle();
    endRounds(1, 0);
    assertTrue(queue.hasCompetitor());
    queue.endCycle();
    assertFalse(queue.hasCompetitor());
    endRounds(7, STANDING_US);
    assertFalse(queue.hasCompetitor());
  }

  @Test
  void queueThatIsGoneAfterProbeRttIsOurs() {
    beginWithoutAQueue();
    endRounds(8, STANDING_US);
    queue.endProbeRtt(RTT_US + THRESHOLD_US / 8 + 1);
    assertTrue(queue.hasCompetitor());
    queue.endProbeRtt(RTT_US + THRESHOLD_US / 8);
    assertFalse(queue.hasCompetitor());
    endRounds(7, STANDING_US);
    assertFalse(queue.hasCompetitor());
  }

  @Test
  void fourAreEnoughForEightCyclesAfterThatAndALoss() {
    beginWithoutAQueue();
    endRound(STANDING_US, true);
    endRounds(7, STANDING_US);
    queue.endProbeRtt(RTT_US + THRESHOLD_US / 8);
    endCyclesWithoutAQueue(7);
    assertIsCompetitorsAfter(4, STANDING_US);

    queue.endProbeRtt(RTT_US + THRESHOLD_US / 8);
    endCyclesWithoutAQueue(8);
    assertIsCompetitorsAfter(8, STANDING_US);
  }

  private void endCyclesWithoutAQueue(int cycles) {
    for (int i = 0; i < cycles; i++) {
      endRounds(1, 0);
      queue.endCycle();
    }
  }

  @Test
  void eightAreNeededIfProbeRttHasEndedNoPresence() {
    beginWithoutAQueue();
    endRound(STANDING_US, true);
    queue.endProbeRtt(RTT_US + THRESHOLD_US / 8);
    assertIsCompetitorsAfter(8, STANDING_US);
  }
}
