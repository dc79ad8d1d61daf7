package io.kcp4j.lab;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.junit.jupiter.api.Test;

class BottleneckTest {

  /** A byte a microsecond. */
  private final Bottleneck bottleneck = new Bottleneck(RateSchedule.constant(8_000_000), 3_000);

  @Test
  void datagramsWaitForThoseBeforeThem() {
    assertEquals(1_000, bottleneck.admit(1_000, 0));
    assertEquals(2_000, bottleneck.admit(1_000, 0));
    assertEquals(2_500, bottleneck.admit(500, 1_500));
    assertEquals(6_000, bottleneck.admit(1_000, 5_000));
  }

  @Test
  void fullQueueDropsWhatHasNoRoom() {
    bottleneck.admit(1_500, 0);
    bottleneck.admit(1_500, 0);
    assertEquals(Bottleneck.DROPPED, bottleneck.admit(1, 0));
    assertEquals(3_001, bottleneck.admit(1, 1));
    assertEquals(4, bottleneck.offered());
    assertEquals(1, bottleneck.dropped());
  }

  @Test
  void waitsAreMeasuredFromTheTimeThatIsAskedFor() {
    bottleneck.admit(2_000, 0);
    bottleneck.measureWaits();
    bottleneck.admit(1_000, 500);
    assertEquals(2_500, bottleneck.waitUs(500));
    assertEquals(1, bottleneck.waits().count());
    assertEquals(1_500, bottleneck.waits().maxUs());
    assertEquals(1_500, bottleneck.waits().meanUs());
  }

  @Test
  void withoutALimitNothingWaitsOrIsDropped() {
    Bottleneck unlimited = Bottleneck.of(LinkSettings.delay(1));
    for (int i = 0; i < 100; i++) {
      assertEquals(7, unlimited.admit(1_500, 7));
    }
    assertEquals(0, unlimited.dropped());
    assertEquals(0, unlimited.waitUs(7));
  }

  @Test
  void queueDrainsAtTheRateOfTheTime() {
    RateSchedule rates = RateSchedule.constant(8_000_000).then(1_000, 4_000_000);
    Bottleneck changing = new Bottleneck(rates, 3_000);
    assertEquals(3_000, changing.admit(2_000, 0));
    assertEquals(Bottleneck.DROPPED, changing.admit(1_501, 1_000 - 500));
    assertEquals(6_000, changing.admit(1_500, 1_000 - 500));
  }
}
