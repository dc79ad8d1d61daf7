package io.kcp4j.internal.congestion;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.kcp4j.AckSample;
import io.kcp4j.CongestionControl;
import io.kcp4j.LossSample;
import org.junit.jupiter.api.Test;

/** {@link RenoCongestionControl} against values computed by hand from C KCP's formula. */
class RenoCongestionControlTest {

  private final CongestionControl control = CongestionControl.RENO.create(1000);

  private record Ack(int remoteWindow, boolean isUnaAdvanced) implements AckSample {

    @Override
    public long nowUs() {
      return 0;
    }

    @Override
    public int rttUs() {
      return NO_RTT;
    }

    @Override
    public Rate rate() {
      return null;
    }
  }

  private record Loss(
      int lostByAcks, int lostByTimeout, int inFlightSegments, int window, int fastRetransmit)
      implements LossSample {

    @Override
    public long nowUs() {
      return 0;
    }
  }

  private void acknowledge(int times, int remoteWindow) {
    for (int i = 0; i < times; i++) {
      control.onAck(new Ack(remoteWindow, true));
    }
  }

  private void fastRetransmit(int inFlight) {
    control.onLoss(new Loss(1, 0, inFlight, 100, 2));
  }

  private void timeout(int window) {
    control.onLoss(new Loss(0, 1, 100, window, 2));
  }

  @Test
  void beginsWithOneSegmentAndSlowStartsToTwo() {
    assertEquals(1, control.window());
    acknowledge(1, 128);
    assertEquals(2, control.window());
  }

  @Test
  void congestionAvoidanceGrowsByAboutOneSegmentPerWindow() {
    acknowledge(2, 128); // 2000; + 1000000/2000 + 62 = 2562
    assertEquals(2, control.window());
    acknowledge(1, 128); // + 390 + 62 = 3014 >= 3000: ceil(3.014)
    assertEquals(4, control.window());
    acknowledge(1, 128); // + 331 + 62 = 3407
    acknowledge(3, 128); // 3762, 4089, 4395
    assertEquals(4, control.window());
    acknowledge(2, 128); // 4684, 4959
    assertEquals(4, control.window());
    acknowledge(1, 128); // 5222 >= 5000: ceil(5.222)
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
  void acknowledgementThatDoesNotAdvanceUnaChangesNothing() {
    control.onAck(new Ack(128, false));
    assertEquals(1, control.window());
  }

  @Test
  void fastRetransmitHalvesTheFlight() {
    fastRetransmit(20);
    assertEquals(12, control.window());
    fastRetransmit(3);
    assertEquals(4, control.window(), "the threshold is at least 2");
  }

  @Test
  void timeoutRestartsWithOneSegmentAndSlowStartsToHalfTheWindow() {
    timeout(16);
    assertEquals(1, control.window());
    acknowledge(7, 128);
    assertEquals(8, control.window());
    acknowledge(1, 128);
    assertEquals(8, control.window(), "congestion avoidance from half of 16 on");
  }

  @Test
  void timeoutBesideFastRetransmitLeavesOneSegment() {
    control.onLoss(new Loss(3, 1, 20, 16, 2));
    assertEquals(1, control.window());
  }

  @Test
  void windowSurvivesAnotherSegmentSize() {
    fastRetransmit(20);
    control.onMssChanged(500);
    assertEquals(12, control.window());
    acknowledge(1, 128);
    assertEquals(12, control.window());
  }

  @Test
  void noControlHasNoLimits() {
    CongestionControl none = CongestionControl.NONE.create(1000);
    none.onLoss(new Loss(1, 1, 5, 5, 2));
    none.onAck(new Ack(1, true));
    assertEquals(Integer.MAX_VALUE, none.window());
    assertEquals(0, none.pacingBytesPerSecond());
  }
}
