package io.kcp4j;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

/** How {@link TimeoutMargin} follows spurious and needed timeouts. */
class TimeoutMarginTest {

  private final Redundancy redundancy = new Redundancy(new RttEstimator(), new MinRtt());
  private final TimeoutMargin margin = new TimeoutMargin(redundancy);
  private int transmissions = Integer.MAX_VALUE - 100;

  private void spurious() {
    redundancy.retransmissionSpurious();
    margin.spurious(transmissions);
  }

  private void needed() {
    redundancy.retransmissionNeeded();
    margin.needed(transmissions);
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
      transmissions += 144;
    }
    assertEquals(1_000, margin.us(transmissions));
  }

  @Test
  void marginDoublesWhileMostRetransmissionsAreSpurious() {
    for (int us : new int[] {1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000}) {
      assertEquals(us, margin.us(transmissions));
      spurious();
      transmissions += 200;
    }
  }

  @Test
  void marginShrinksWithNeededTimeoutsOnceTheyAreTheMore() {
    for (int i = 0; i < 6; i++) {
      spurious();
      transmissions += 200;
    }
    for (int i = 0; i < 5; i++) {
      needed();
      assertEquals(30_000, margin.us(transmissions));
    }
    needed();
    assertEquals(30_000 - 30_000 / 8, margin.us(transmissions));
    for (int i = 0; i < 50; i++) {
      needed();
    }
    assertEquals(1_000, margin.us(transmissions));
  }

  @Test
  void marginShrinksWhileNoTimeoutIsSpurious() {
    spurious();
    spurious();
    spurious();
    transmissions += 287;
    assertEquals(8_000, margin.us(transmissions));
    transmissions++;
    assertEquals(7_000, margin.us(transmissions));
    transmissions += 287;
    assertEquals(7_000, margin.us(transmissions));
    for (int i = 0; i < 50; i++) {
      transmissions += 288;
      margin.us(transmissions);
    }
    assertEquals(1_000, margin.us(transmissions));
  }

  @Test
  void fewSpuriousTimeoutsAmongManySegmentsLeaveTheMargin() {
    lose();
    for (int i = 0; i < 100; i++) {
      spurious();
      lose();
      transmissions += 144;
    }
    assertEquals(1_000, margin.us(transmissions));
  }

  @Test
  void marginGrowsWithMoreSpuriousTimeoutsThanOneInSoManySegmentsThoughMostAreNeeded() {
    lose();
    for (int i = 0; i < 6; i++) {
      spurious();
      lose();
      transmissions += 72;
    }
    assertTrue(margin.us(transmissions) > 1_000, () -> margin.us(transmissions) + " us");
    transmissions += 10_000;
    for (int i = 0; i < 50; i++) {
      needed();
    }
    assertEquals(1_000, margin.us(transmissions));
  }

  @Test
  void marginStaysWhileSpuriousTimeoutsAreTooMany() {
    lose();
    for (int i = 0; i < 4; i++) {
      spurious();
    }
    int us = margin.us(transmissions);
    assertTrue(us > 1_000, us + " us");
    lose();
    assertEquals(us, margin.us(transmissions));
  }
}
