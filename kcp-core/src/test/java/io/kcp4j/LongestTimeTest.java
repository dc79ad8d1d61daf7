package io.kcp4j;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.junit.jupiter.api.Test;

class LongestTimeTest {

  private final LongestTime times = new LongestTime();

  private void samples(int... timesUs) {
    for (int us : timesUs) {
      times.sample(us);
    }
  }

  @Test
  void twoSamplesDoNotCount() {
    samples(5, 7);
    assertEquals(0, times.us());
    samples(6);
    assertEquals(5, times.us());
  }

  @Test
  void thirdLongestOfBothPeriodsCounts() {
    samples(1, 9, 3, 5);
    times.beginPeriod(true);
    samples(7, 2);
    assertEquals(5, times.us());
    samples(8);
    assertEquals(7, times.us());
  }

  @Test
  void periodBeforeTheLastIsForgotten() {
    samples(300, 300, 300);
    times.beginPeriod(true);
    samples(20, 20, 20);
    assertEquals(300, times.us());
    times.beginPeriod(true);
    assertEquals(20, times.us());
  }

  @Test
  void periodThatDoesNotFollowForgetsAll() {
    samples(300, 300, 300);
    times.beginPeriod(false);
    assertEquals(0, times.us());
  }
}
