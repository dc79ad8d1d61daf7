package io.kcp4j.congestion;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

class ForeignQueueTest {

  private static final int RTT_US = 40_000;

  private static final int SECOND_US = 1_000_000;

  /** A queue stands if it is longer than this. */
  private static final int THRESHOLD_US = 10_000;

  private static final int STANDING_US = THRESHOLD_US + 1;

  private static final int LONG_US = 2 * THRESHOLD_US + 1;

  private final ForeignQueue foreign = new ForeignQueue();
  private final StandingQueue queue = new StandingQueue();
  private long nowUs;

  ForeignQueueTest() {
    sample(0);
  }

  private void sample(int queueUs) {
    for (int i = 0; i < 3; i++) {
      queue.sample(RTT_US + queueUs, nowUs);
    }
    queue.endRound();
  }

  /** A round of CRUISE. */
  private void endRound(int queueUs, boolean isLossy) {
    sample(queueUs);
    foreign.endRound(queue, isLossy, nowUs);
    if (queue.isStanding()) {
      foreign.onDrainFailed(queue);
    }
  }

  private void endRounds(int rounds, int queueUs) {
    for (int i = 0; i < rounds; i++) {
      endRound(queueUs, false);
    }
  }

  private void assertIsAnothersAfter(int rounds, int queueUs) {
    endRounds(rounds - 1, queueUs);
    assertFalse(foreign.isPresent());
    endRounds(1, queueUs);
    assertTrue(foreign.isPresent());
  }

  @Test
  void queueThatStandsEightTimesInARowIsAnothers() {
    assertIsAnothersAfter(8, LONG_US);
  }

  @Test
  void roundWithoutAStandingQueueShowsThatItIsOurs() {
    endRounds(7, STANDING_US);
    endRounds(1, THRESHOLD_US);
    endRounds(7, STANDING_US);
    assertFalse(foreign.isPresent());
  }

  @Test
  void roundThatTellsNothingShowsNothing() {
    endRounds(7, STANDING_US);
    queue.endRound();
    foreign.endRound(queue, false, nowUs);
    endRounds(1, STANDING_US);
    assertTrue(foreign.isPresent());
  }

  @Test
  void longQueueCountsTwiceAfterALoss() {
    endRound(LONG_US, true);
    assertIsAnothersAfter(3, LONG_US);
  }

  @Test
  void standingQueueCountsOnceAfterALoss() {
    endRound(LONG_US, true);
    assertIsAnothersAfter(6, STANDING_US);
  }

  @Test
  void lossWithoutAStandingQueueMeansNothing() {
    endRound(THRESHOLD_US, true);
    assertIsAnothersAfter(8, LONG_US);
  }

  @Test
  void lossIsRememberedForTwentySeconds() {
    endRound(STANDING_US, true);
    nowUs += 20 * SECOND_US;
    assertIsAnothersAfter(7, LONG_US);
  }

  /** Beside another sender it may hover around the threshold. */
  @Test
  void onlyAShortQueueShowsThatItIsOursAfterALoss() {
    endRound(STANDING_US, true);
    endRounds(6, STANDING_US);
    endRounds(1, THRESHOLD_US / 2);
    endRounds(7, STANDING_US);
    assertFalse(foreign.isPresent());
    endRounds(1, THRESHOLD_US / 2 + 1);
    endRounds(1, STANDING_US);
    assertTrue(foreign.isPresent());
  }

  @Test
  void queueOfAnotherMayBeShortForAWhile() {
    endRounds(8, STANDING_US);
    endRounds(20, 0);
    foreign.endCycle();
    endRounds(20, 0);
    endRounds(1, STANDING_US);
    foreign.endCycle();
    assertTrue(foreign.isPresent());
  }

  @Test
  void cycleWithoutAQueueShowsThatTheOtherHasGone() {
    endRounds(8, STANDING_US);
    foreign.endCycle();
    endRounds(1, 0);
    assertTrue(foreign.isPresent());
    foreign.endCycle();
    assertFalse(foreign.isPresent());
    endRounds(7, STANDING_US);
    assertFalse(foreign.isPresent());
  }

  @Test
  void queueThatIsGoneAfterProbeRttIsOurs() {
    endRounds(8, STANDING_US);
    foreign.endProbeRtt(false);
    assertTrue(foreign.isPresent());
    foreign.endProbeRtt(true);
    assertFalse(foreign.isPresent());
    endRounds(7, STANDING_US);
    assertFalse(foreign.isPresent());
  }

  @Test
  void fourAreEnoughForEightCyclesAfterThatAndALoss() {
    endRound(STANDING_US, true);
    endRounds(7, STANDING_US);
    foreign.endProbeRtt(true);
    endCyclesWithoutAQueue(7);
    assertIsAnothersAfter(4, STANDING_US);

    foreign.endProbeRtt(true);
    endCyclesWithoutAQueue(8);
    assertIsAnothersAfter(8, STANDING_US);
  }

  private void endCyclesWithoutAQueue(int cycles) {
    for (int i = 0; i < cycles; i++) {
      endRounds(1, 0);
      foreign.endCycle();
    }
  }

  @Test
  void eightAreNeededIfProbeRttHasEndedNoPresence() {
    endRound(STANDING_US, true);
    foreign.endProbeRtt(true);
    assertIsAnothersAfter(8, STANDING_US);
  }
}
