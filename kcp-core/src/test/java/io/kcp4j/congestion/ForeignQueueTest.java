package io.kcp4j.congestion;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

class ForeignQueueTest {

  private final ForeignQueue foreign = new ForeignQueue();

  /** Rounds of CRUISE. */
  private void endRounds(int rounds, boolean isQueueStanding) {
    for (int i = 0; i < rounds; i++) {
      foreign.endRound(!isQueueStanding);
      if (isQueueStanding) {
        foreign.onDrainFailed();
      }
    }
  }

  private void assertIsAnothersAfter(int standingRounds) {
    endRounds(standingRounds - 1, true);
    assertFalse(foreign.isPresent());
    endRounds(1, true);
    assertTrue(foreign.isPresent());
  }

  @Test
  void queueThatStandsSixTimesInARowIsAnothers() {
    assertIsAnothersAfter(6);
  }

  @Test
  void roundWithoutAQueueShowsThatItIsOurs() {
    endRounds(5, true);
    endRounds(1, false);
    endRounds(5, true);
    assertFalse(foreign.isPresent());
  }

  @Test
  void roundThatTellsNothingShowsNothing() {
    endRounds(5, true);
    foreign.endRound(false);
    endRounds(1, true);
    assertTrue(foreign.isPresent());
  }

  @Test
  void queueOfAnotherMayBeShortForAWhile() {
    endRounds(6, true);
    endRounds(20, false);
    foreign.endCycle();
    endRounds(20, false);
    endRounds(1, true);
    foreign.endCycle();
    assertTrue(foreign.isPresent());
  }

  @Test
  void cycleWithoutAQueueShowsThatTheOtherHasGone() {
    endRounds(6, true);
    foreign.endCycle();
    endRounds(1, false);
    assertTrue(foreign.isPresent());
    foreign.endCycle();
    assertFalse(foreign.isPresent());
    endRounds(5, true);
    assertFalse(foreign.isPresent());
  }

  @Test
  void queueThatIsGoneAfterProbeRttIsOurs() {
    endRounds(6, true);
    foreign.endProbeRtt(false);
    assertTrue(foreign.isPresent());
    foreign.endProbeRtt(true);
    assertFalse(foreign.isPresent());
    endRounds(2, true);
    assertFalse(foreign.isPresent());
  }

  @Test
  void threeAreEnoughForEightCyclesAfterThat() {
    endRounds(6, true);
    foreign.endProbeRtt(true);
    endCyclesWithoutAQueue(7);
    assertIsAnothersAfter(3);

    foreign.endProbeRtt(true);
    endCyclesWithoutAQueue(8);
    assertIsAnothersAfter(6);
  }

  private void endCyclesWithoutAQueue(int cycles) {
    for (int i = 0; i < cycles; i++) {
      endRounds(1, false);
      foreign.endCycle();
    }
  }

  @Test
  void sixAreNeededIfProbeRttHasEndedNoPresence() {
    foreign.endProbeRtt(true);
    assertIsAnothersAfter(6);
  }
}
