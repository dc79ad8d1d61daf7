package io.kcp4j;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

/** {@link PeerClock}: which timestamps can be of the peer. */
class PeerClockTest {

  private static final int TS = 0x7fff_f000;
  private static final long MINUTE_US = 60_000_000;
  private static final long DAY_US = 24 * 60 * MINUTE_US;

  private final PeerClock clock = new PeerClock();

  @Test
  void anyFirstTimestampIsPossible() {
    assertTrue(clock.isPossible(TS, 0));
    assertTrue(clock.isPossible(-TS, 0));
    assertFalse(clock.takeJump());
  }

  @Test
  void othersAreWithinAMinuteAndTheTimeThatHasPassed() {
    clock.taken(TS, MINUTE_US);
    assertTrue(clock.isPossible(TS - 60_000, MINUTE_US));
    assertFalse(clock.isPossible(TS - 60_001, MINUTE_US));
    assertFalse(clock.takeJump(), "an old one is none");
    assertTrue(clock.isPossible(TS + 60_000, MINUTE_US));
    assertFalse(clock.isPossible(TS + 60_001, MINUTE_US));
    assertTrue(clock.takeJump());
    assertFalse(clock.takeJump());
    assertTrue(clock.isPossible(TS + 120_000, 2 * MINUTE_US));
    assertFalse(clock.isPossible(TS + 120_001, 2 * MINUTE_US));
  }

  @Test
  void olderOnesThatAreTakenChangeNothing() {
    clock.taken(TS, MINUTE_US);
    clock.taken(TS - 50_000, 2 * MINUTE_US);
    assertTrue(clock.isPossible(TS + 120_000, 2 * MINUTE_US));
    assertFalse(clock.isPossible(TS - 60_001, 2 * MINUTE_US));
  }

  @Test
  void jumpIsAllowedOnce() {
    clock.taken(TS, 0);
    clock.acceptJump();
    assertTrue(clock.isPossible(TS + 1_000_000, 0));
    assertFalse(clock.isPossible(TS - 60_001, 0));
    clock.taken(TS + 1_000_000, 0);
    assertFalse(clock.isPossible(TS + 2_000_000, 0));
  }

  @Test
  void anyTimestampIsPossibleAfterHalfOfTheirRange() {
    clock.taken(TS, 0);
    assertTrue(clock.isPossible(TS + (int) (24 * DAY_US / 1_000), 24 * DAY_US));
    assertFalse(clock.isPossible(TS - 60_001, 24 * DAY_US));
    assertTrue(clock.isPossible(TS + (int) (30 * DAY_US / 1_000), 30 * DAY_US));
    clock.taken(TS + (int) (30 * DAY_US / 1_000), 30 * DAY_US);
    assertFalse(clock.isPossible(TS, 30 * DAY_US));
  }
}
