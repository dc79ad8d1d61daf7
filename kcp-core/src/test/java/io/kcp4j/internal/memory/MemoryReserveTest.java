package io.kcp4j.internal.memory;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

/** The order in which the sockets of a server get the {@link MemoryReserve}. */
class MemoryReserveTest {

  private final MemoryLimit limit = MemoryLimit.shared(64 << 20);
  private final MemoryReserve reserve = limit.reserve();

  @Test
  void claimThatIsRepeatedStaysAsLongAsTheReserveIsHeld() {
    assertTrue(reserve.acquire("holder", 1, 0));
    for (long nowUs = 1_000; nowUs < 10_000_000; nowUs += 10_000) {
      assertFalse(reserve.acquire("waiting", 2, nowUs));
    }
    assertTrue(reserve.isAwaited("holder", 10_000_000));
    assertFalse(reserve.isAwaited("holder", 11_991_000), "two seconds after the last claim");
  }

  /** A claimant that claims again would lose its place, and might never be the first. */
  @Test
  void claimThatIsRepeatedKeepsItsPlace() {
    assertTrue(reserve.acquire("holder", 1, 0));
    assertFalse(reserve.acquire("first", 2, 1_000));
    assertFalse(reserve.acquire("second", 3, 2_000));
    assertFalse(reserve.acquire("second", 3, 400_000));
    assertFalse(reserve.acquire("first", 2, 500_000));
    reserve.release("holder");
    assertFalse(reserve.acquire("second", 3, 600_000));
    assertTrue(reserve.acquire("first", 2, 600_000));
  }

  /** Each would wait for the other. */
  @Test
  void oneOfTwoThatClaimAtTheSameTimeIsNext() {
    assertTrue(reserve.acquire("holder", 1, 0));
    assertFalse(reserve.acquire("one", 2, 1_000));
    assertFalse(reserve.acquire("other", 3, 1_000));
    reserve.release("holder");
    assertTrue(reserve.acquire("one", 2, 30_000) || reserve.acquire("other", 3, 30_000));
  }

  @Test
  void claimantThatNeedsNothingAnyMoreIsNotAwaited() {
    assertTrue(reserve.acquire("holder", 1, 0));
    assertFalse(reserve.acquire("first", 2, 1_000));
    assertFalse(reserve.acquire("second", 3, 2_000));
    reserve.release("first");
    assertTrue(reserve.isAwaited("holder", 2_000), "the second waits");
    reserve.release("holder");
    assertTrue(reserve.acquire("second", 3, 3_000), "the first claimed earlier, and gave up");
    assertFalse(reserve.isAwaited("second", 3_000));
  }

  @Test
  void claimantThatHasNotTheReserveTakesItFromNobody() {
    assertTrue(reserve.acquire("holder", 1, 0));
    reserve.release("other");
    assertFalse(reserve.acquire("other", 2, 1_000));
  }

  @Test
  void turnsOfNetworksAreForgottenWhenNobodyWaits() {
    assertTrue(reserve.acquire("one", 1, 1_000));
    reserve.endWait("one");
    assertTrue(reserve.acquire("other", 3, 2_000));
    assertFalse(reserve.acquire("first", 1, 3_000));
    assertFalse(reserve.acquire("second", 2, 4_000));
    reserve.release("other");
    assertFalse(reserve.acquire("second", 2, 30_000));
    assertTrue(reserve.acquire("first", 1, 30_000));
  }

  /** One claimant decides for many sessions. */
  @Test
  void turnsAreRememberedWhenTheReserveIsReleased() {
    assertTrue(reserve.acquire("only", 1, 1_000));
    reserve.release("only");
    assertEquals(1_000, reserve.nextTurnUs(1));
    assertTrue(reserve.acquire("only", 2, 2_000));
    assertEquals(1_000, reserve.nextTurnUs(1));
    assertEquals(2_000, reserve.nextTurnUs(2));
    assertEquals(0, reserve.nextTurnUs(3));
    assertFalse(reserve.acquire("other", 3, 3_000));
    reserve.release("only");
    assertTrue(reserve.acquire("other", 3, 30_000));
    assertEquals(30_000, reserve.nextTurnUs(3), "not when it claimed");
    reserve.release("other");
    reserve.endWait("only");
    assertEquals(0, reserve.nextTurnUs(1));
  }

  @Test
  void claimantThatWaitsNoMoreTakesNothingFromOthers() {
    assertTrue(reserve.acquire("holder", 1, 1_000));
    reserve.endWait("other");
    assertFalse(reserve.acquire("other", 2, 2_000));
    reserve.endWait("holder");
    assertFalse(reserve.acquire("third", 1, 30_000), "the other claimed earlier");
  }
}
