package io.kcp4j.congestion;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

class TimeoutBackOffTest {

  private static final int RTT_US = 40_000;

  private final TimeoutBackOff backOff = new TimeoutBackOff();

  @Test
  void firstTimeoutsDoNotLowerTheRate() {
    backOff.timedOut(RTT_US, 0);
    backOff.timedOut(RTT_US, 2 * RTT_US - 1);
    assertTrue(backOff.hasTimedOut());
    assertEquals(6400, backOff.apply(6400));
    backOff.timedOut(RTT_US, 2 * RTT_US);
    assertEquals(3200, backOff.apply(6400));
  }

  @Test
  void rateHalvesSixTimes() {
    for (int i = 0; i < 100; i++) {
      backOff.timedOut(RTT_US, i * 2L * RTT_US);
    }
    assertEquals(100, backOff.apply(6400));
  }

  @Test
  void acknowledgementEndsTheBackOff() {
    for (int i = 0; i < 3; i++) {
      backOff.timedOut(RTT_US, i * 2L * RTT_US);
    }
    backOff.reset();
    assertFalse(backOff.hasTimedOut());
    assertEquals(6400, backOff.apply(6400));
  }
}
