package io.kcp4j.internal.arq;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kcp4j.internal.wire.Timestamps.PeerClock;
import org.junit.jupiter.api.Test;

/** {@link PeerClock}: which timestamps can be of the peer. */
class PeerClockTest {

  private static final int TS = 0x7fff_f000;
  private static final long MINUTE_US = 60_000_000;
  private static final long DAY_US = 24 * 60 * MINUTE_US;

  private final PeerClock clock = new PeerClock();

  /** Timestamps wrap. */
  private static int after(int ms) {
    return TS + ms;
  }

  @Test
  void anyFirstTimestampIsPossible() {
    assertTrue(clock.isPossible(TS, 0));
    assertTrue(clock.isPossible(-TS, 0));
    assertFalse(clock.takeJump());
  }

  @Test
  void othersAreWithinAMinuteAndTheTimeThatHasPassed() {
    clock.taken(TS, MINUTE_US);
    assertTrue(clock.isPossible(after(-60_000), MINUTE_US));
    assertFalse(clock.isPossible(after(-60_001), MINUTE_US));
    assertFalse(clock.takeJump(), "an old one is none");
    assertTrue(clock.isPossible(after(60_000), MINUTE_US));
    assertFalse(clock.isPossible(after(60_001), MINUTE_US));
    assertTrue(clock.takeJump());
    assertFalse(clock.takeJump());
    assertTrue(clock.isPossible(after(120_000), 2 * MINUTE_US));
    assertFalse(clock.isPossible(after(120_001), 2 * MINUTE_US));
  }

  @Test
  void olderOnesThatAreTakenChangeNothing() {
    clock.taken(TS, MINUTE_US);
    clock.taken(after(-50_000), 2 * MINUTE_US);
    assertTrue(clock.isPossible(after(120_000), 2 * MINUTE_US));
    assertFalse(clock.isPossible(after(-60_001), 2 * MINUTE_US));
  }

  @Test
  void jumpIsAllowedOnce() {
    clock.taken(TS, 0);
    clock.acceptJump();
    assertTrue(clock.isPossible(after(1_000_000), 0));
    assertFalse(clock.isPossible(after(-60_001), 0));
    clock.taken(after(1_000_000), 0);
    assertFalse(clock.isPossible(after(2_000_000), 0));
  }

  @Test
  void anyTimestampIsPossibleAfterHalfOfTheirRange() {
    clock.taken(TS, 0);
    assertTrue(clock.isPossible(after((int) (24 * DAY_US / 1_000)), 24 * DAY_US));
    assertFalse(clock.isPossible(after(-60_001), 24 * DAY_US));
    assertTrue(clock.isPossible(after((int) (30 * DAY_US / 1_000)), 30 * DAY_US));
    clock.taken(after((int) (30 * DAY_US / 1_000)), 30 * DAY_US);
    assertFalse(clock.isPossible(TS, 30 * DAY_US));
  }
}
