package io.kcp4j.congestion;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.HashSet;
import java.util.Set;
import org.junit.jupiter.api.Test;

class ProbeCycleTest {

  private final ProbeCycle cycle = new ProbeCycle();

  private int lengthMs(int roundMs, boolean isPathShared, long beginsAtUs) {
    cycle.begin(beginsAtUs);
    int ms = 0;
    while (!cycle.isOver(beginsAtUs + ms * 1_000L, isPathShared)) {
      ms++;
      if (ms % roundMs == 0) {
        cycle.endRound();
      }
    }
    return ms;
  }

  @Test
  void cycleTakesHalfASecondOrHalfAsMuchAgain() {
    Set<Integer> lengths = new HashSet<>();
    for (int i = 0; i < 1_000; i++) {
      int ms = lengthMs(1, false, i * 777_777L);
      assertTrue(ms >= 500 && ms <= 750, "took " + ms);
      lengths.add(ms);
    }
    assertTrue(lengths.size() > 100, "lengths " + lengths.size());
  }

  @Test
  void longRoundsTakeSixteenRoundsOrHalfAsMuchAgain() {
    for (int i = 0; i < 100; i++) {
      int ms = lengthMs(100, false, i * 777_777L);
      assertTrue(ms >= 1_600 && ms <= 2_400, "took " + ms);
    }
  }

  @Test
  void cycleOnASharedPathTakesLonger() {
    for (int i = 0; i < 100; i++) {
      int ms = lengthMs(10, true, i * 777_777L);
      assertTrue(ms >= 1_600 && ms <= 2_400, "took " + ms);
    }
  }

  @Test
  void cycleTakesThreeSecondsAtMost() {
    cycle.begin(7);
    assertFalse(cycle.isOver(3_000_006, true));
    assertTrue(cycle.isOver(3_000_007, false));
  }
}
