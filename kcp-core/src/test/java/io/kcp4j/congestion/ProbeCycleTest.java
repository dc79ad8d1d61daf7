package io.kcp4j.congestion;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.HashSet;
import java.util.Set;
import org.junit.jupiter.api.Test;

class ProbeCycleTest {

  private final ProbeCycle cycle = new ProbeCycle();

  private int lengthMs(int roundMs, long beginsAtUs) {
    cycle.begin(beginsAtUs);
    return restMs(roundMs, beginsAtUs);
  }

  private int restMs(int roundMs, long beginsAtUs) {
    int ms = 0;
    while (!cycle.isOver(beginsAtUs + ms * 1_000L)) {
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
      int ms = lengthMs(1, i * 777_777L);
      assertTrue(ms >= 500 && ms <= 750, "took " + ms);
      lengths.add(ms);
    }
    assertTrue(lengths.size() > 100, "lengths " + lengths.size());
  }

  @Test
  void longRoundsTakeSixteenRoundsOrHalfAsMuchAgain() {
    for (int i = 0; i < 100; i++) {
      int ms = lengthMs(100, i * 777_777L);
      assertTrue(ms >= 1_600 && ms <= 2_400, "took " + ms);
    }
  }

  @Test
  void longerCycleTakesTwoSecondsOrHalfAsMuchAgain() {
    for (int i = 0; i < 100; i++) {
      cycle.begin(i * 777_777L);
      cycle.lengthen();
      int ms = restMs(10, i * 777_777L);
      assertTrue(ms >= 2_000 && ms <= 3_000, "took " + ms);
    }
  }

  @Test
  void onlyTheCycleThatIsLengthenedTakesLonger() {
    cycle.begin(0);
    cycle.lengthen();
    int ms = lengthMs(10, 5_000_000);
    assertTrue(ms >= 500 && ms <= 750, "took " + ms);
  }

  @Test
  void cycleTakesThreeSecondsAtMost() {
    cycle.begin(7);
    assertFalse(cycle.isOver(3_000_006));
    assertTrue(cycle.isOver(3_000_007));
  }
}
