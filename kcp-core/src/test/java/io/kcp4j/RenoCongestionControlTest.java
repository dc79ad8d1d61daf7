package io.kcp4j;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.junit.jupiter.api.Test;

/** {@link RenoCongestionControl} against values computed by hand from the reference's formula. */
class RenoCongestionControlTest {

  private final CongestionControl control = CongestionControl.RENO.create(1000);

  private void acknowledge(int times, int remoteWindow) {
    for (int i = 0; i < times; i++) {
      control.onAcknowledged(remoteWindow);
    }
  }

  @Test
  void beginsWithOneSegmentAndSlowStartUpToTwo() {
    assertEquals(1, control.window());
    control.onAcknowledged(128);
    assertEquals(2, control.window());
  }

  @Test
  void avoidanceGrowsByAboutOneSegmentPerWindow() {
    control.onAcknowledged(128); // incr 2000
    control.onAcknowledged(128); // + 1000000/2000 + 62 = 2562
    assertEquals(2, control.window());
    control.onAcknowledged(128); // + 390 + 62 = 3014 >= 3000: ceil(3.014)
    assertEquals(4, control.window());
    control.onAcknowledged(128); // + 331 + 62 = 3407
    acknowledge(3, 128); // 3762, 4089, 4395
    assertEquals(4, control.window());
    acknowledge(2, 128); // 4684, 4959
    assertEquals(4, control.window());
    control.onAcknowledged(128); // 5222 >= 5000: ceil(5.222)
    assertEquals(6, control.window());
  }

  @Test
  void windowNeverExceedsThePeers() {
    acknowledge(100, 3);
    assertEquals(3, control.window());
    acknowledge(1, 0);
    assertEquals(3, control.window());
  }

  @Test
  void fastResendHalvesTheFlight() {
    control.onFastRetransmit(20, 2);
    assertEquals(12, control.window());
    control.onFastRetransmit(3, 2);
    assertEquals(4, control.window(), "the threshold is at least 2");
  }

  @Test
  void timeoutBeginsAnewAndSlowStartsToHalfTheWindow() {
    control.onTimeout(16);
    assertEquals(1, control.window());
    acknowledge(7, 128);
    assertEquals(8, control.window());
    control.onAcknowledged(128);
    assertEquals(8, control.window(), "avoidance from half of 16 on");
  }

  @Test
  void windowSurvivesAnotherSegmentSize() {
    control.onFastRetransmit(20, 2);
    control.onMssChanged(500);
    assertEquals(12, control.window());
    control.onAcknowledged(128);
    assertEquals(12, control.window());
  }

  @Test
  void noneLeavesItToTheWindows() {
    CongestionControl none = CongestionControl.NONE.create(1000);
    none.onTimeout(5);
    none.onFastRetransmit(5, 2);
    none.onAcknowledged(1);
    assertEquals(Integer.MAX_VALUE, none.window());
  }
}
