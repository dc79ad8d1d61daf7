package io.kcp4j;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** How {@link TimeoutMargin} follows spurious and needed timeouts. */
class TimeoutMarginTest {

  private final Redundancy redundancy = new Redundancy(new RttEstimator());
  private final TimeoutMargin margin = new TimeoutMargin(redundancy);
  private int transmissions = Integer.MAX_VALUE - 100;

  @BeforeEach
  void beginShortOfTheWrap() {
    transmit(0);
  }

  private void transmit(int segments) {
    transmissions += segments;
    margin.transmitted(transmissions);
  }

  private void spurious() {
    redundancy.retransmissionSpurious();
    margin.spurious();
  }

  private void needed() {
    redundancy.retransmissionNeeded();
    margin.needed();
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
    assertEquals(1_000, margin.us());
  }

  @Test
  void marginDoublesWhileMostRetransmissionsAreSpurious() {
    for (int us : new int[] {1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000}) {
      assertEquals(us, margin.us());
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
      assertEquals(30_000, margin.us());
    }
    needed();
    assertEquals(30_000 - 30_000 / 8, margin.us());
    for (int i = 0; i < 50; i++) {
      needed();
    }
    assertEquals(1_000, margin.us());
  }

  @Test
  void marginShrinksWhileNoTimeoutIsSpurious() {
    spurious();
    spurious();
    spurious();
    transmit(287);
    assertEquals(8_000, margin.us());
    transmit(1);
    assertEquals(7_000, margin.us());
    transmit(287);
    assertEquals(7_000, margin.us());
    for (int i = 0; i < 50; i++) {
      transmit(288);
    }
    assertEquals(1_000, margin.us());
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
    assertEquals(1_000, margin.us());
  }

  @Test
  void fewSpuriousTimeoutsAmongManySegmentsLeaveTheMargin() {
    lose();
    for (int i = 0; i < 100; i++) {
      spurious();
      lose();
      transmit(144);
    }
    assertEquals(1_000, margin.us());
  }

  @Test
  void marginGrowsWithMoreSpuriousTimeoutsThanOneInSoManySegmentsThoughMostAreNeeded() {
    lose();
    for (int i = 0; i < 6; i++) {
      spurious();
      lose();
      transmit(72);
    }
    assertTrue(margin.us() > 1_000, () -> margin.us() + " us");
    transmit(10_000);
    for (int i = 0; i < 50; i++) {
      needed();
    }
    assertEquals(1_000, margin.us());
  }

  @Test
  void marginStaysWhileSpuriousTimeoutsAreTooMany() {
    lose();
    for (int i = 0; i < 4; i++) {
      spurious();
    }
    int us = margin.us();
    assertTrue(us > 1_000, us + " us");
    lose();
    assertEquals(us, margin.us());
  }
}
