package io.kcp4j.internal.recovery;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** {@link ProbeTimeout}: the acknowledgement time, and the margin. */
class ProbeTimeoutTest {

  /** The longest times of two such periods count. */
  private static final int PERIOD_US = 1_500_000;

  private final RttEstimator rtt = new RttEstimator();
  private final Redundancy redundancy = new Redundancy(rtt);
  private final ProbeTimeout timeout = new ProbeTimeout(rtt, redundancy);
  private long nowUs = 10_000_000;
  private int transmissions = Integer.MAX_VALUE - 100;

  // Acknowledgement time

  private void samples(int... timesUs) {
    for (int us : timesUs) {
      timeout.sampleAckTime(us, nowUs);
    }
  }

  @Test
  void twoSamplesDoNotCount() {
    samples(5, 7);
    assertEquals(0, timeout.thirdLongestUs());
    samples(6);
    assertEquals(5, timeout.thirdLongestUs());
  }

  @Test
  void thirdLongestOfBothPeriodsCounts() {
    samples(1, 9, 3, 5);
    nowUs += PERIOD_US;
    samples(7, 2);
    assertEquals(5, timeout.thirdLongestUs());
    samples(8);
    assertEquals(7, timeout.thirdLongestUs());
  }

  @Test
  void periodBeforeTheLastIsForgotten() {
    samples(300, 300, 300);
    nowUs += PERIOD_US;
    samples(20, 20, 20);
    assertEquals(300, timeout.thirdLongestUs());
    nowUs += PERIOD_US;
    samples(1);
    assertEquals(20, timeout.thirdLongestUs());
  }

  @Test
  void periodThatDoesNotFollowForgetsAll() {
    samples(300, 300, 300);
    nowUs += 2 * PERIOD_US;
    samples(1);
    assertEquals(0, timeout.thirdLongestUs());
  }

  // Margin

  @BeforeEach
  void beginShortOfTheWrap() {
    transmit(0);
  }

  private void transmit(int segments) {
    transmissions += segments;
    timeout.transmitted(transmissions);
  }

  private void spurious() {
    redundancy.retransmissionSpurious();
    timeout.spurious(transmissions);
  }

  private void needed() {
    redundancy.retransmissionNeeded();
    timeout.needed(transmissions);
  }

  /** So many losses that spurious retransmissions are the fewer. */
  private void lose() {
    for (int i = 0; i < 8; i++) {
      needed();
    }
  }

  @Test
  void marginStaysOnALossyPathThoughMostRetransmissionsAreSpurious() {
    redundancy.segmentLost();
    redundancy.flush(0);
    for (int i = 0; i < 100; i++) {
      spurious();
      transmit(144);
    }
    assertEquals(1_000, timeout.marginUs());
  }

  @Test
  void marginDoublesWhileMostRetransmissionsAreSpurious() {
    for (int us : new int[] {1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000}) {
      assertEquals(us, timeout.marginUs());
      spurious();
      transmit(200);
    }
  }

  @Test
  void marginShrinksWithNeededTimeoutsOnceTheyAreTheMore() {
    for (int i = 0; i < 6; i++) {
      spurious();
      transmit(200);
    }
    for (int i = 0; i < 5; i++) {
      needed();
      assertEquals(30_000, timeout.marginUs());
    }
    needed();
    assertEquals(30_000 - 30_000 / 8, timeout.marginUs());
    for (int i = 0; i < 50; i++) {
      needed();
    }
    assertEquals(1_000, timeout.marginUs());
  }

  @Test
  void marginShrinksWhileNoTimeoutIsSpurious() {
    spurious();
    spurious();
    spurious();
    transmit(287);
    assertEquals(8_000, timeout.marginUs());
    transmit(1);
    assertEquals(7_000, timeout.marginUs());
    transmit(287);
    assertEquals(7_000, timeout.marginUs());
    for (int i = 0; i < 50; i++) {
      transmit(288);
    }
    assertEquals(1_000, timeout.marginUs());
  }

  @Test
  void excessOfLongAgoDoesNotCount() {
    lose();
    spurious();
    spurious();
    for (int i = 0; i < 5; i++) {
      transmit(1_000_000_000);
    }
    spurious();
    assertEquals(1_000, timeout.marginUs());
  }

  @Test
  void fewSpuriousTimeoutsAmongManySegmentsLeaveTheMargin() {
    lose();
    for (int i = 0; i < 100; i++) {
      spurious();
      lose();
      transmit(144);
    }
    assertEquals(1_000, timeout.marginUs());
  }

  @Test
  void marginGrowsWithMoreSpuriousTimeoutsThanOneInSoManySegmentsThoughMostAreNeeded() {
    lose();
    for (int i = 0; i < 6; i++) {
      spurious();
      lose();
      transmit(72);
    }
    assertTrue(timeout.marginUs() > 1_000, () -> timeout.marginUs() + " us");
    transmit(10_000);
    for (int i = 0; i < 50; i++) {
      needed();
    }
    assertEquals(1_000, timeout.marginUs());
  }

  @Test
  void marginStaysWhileSpuriousTimeoutsAreTooMany() {
    lose();
    for (int i = 0; i < 4; i++) {
      spurious();
    }
    int us = timeout.marginUs();
    assertTrue(us > 1_000, us + " us");
    lose();
    assertEquals(us, timeout.marginUs());
  }
}
