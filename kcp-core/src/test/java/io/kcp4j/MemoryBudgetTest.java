package io.kcp4j;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

/** {@link MemoryBudget} alone. */
class MemoryBudgetTest {

  private final MemoryBudget budget = new MemoryBudget(1000);

  @Test
  void sendingMayTakeHalfAndLeavesTheRestToReceiving() {
    assertTrue(budget.hasRoomToSend(500));
    assertFalse(budget.hasRoomToSend(501));
    budget.chargeToSend(500);
    assertFalse(budget.hasRoomToSend(1));
    assertEquals(500, budget.roomBytes());
    assertTrue(budget.tryReserve(500));
    assertFalse(budget.tryReserve(1));
    budget.releaseToSend(500);
    assertEquals(0, budget.sendBytes());
    assertEquals(500, budget.usedBytes());
    assertTrue(budget.tryReserve(500));
    assertFalse(budget.hasRoomToSend(1), "the limit is reached");
  }

  @Test
  void whatSendingHoldsStarvesNeitherGapsNorCopies() {
    budget.chargeToSend(500);
    assertTrue(budget.tryReserveSpare(250), "half of what sending leaves");
    assertFalse(budget.tryReserveSpare(1));
    assertTrue(budget.tryReserveBeyondGap(125), "three quarters of it");
    assertFalse(budget.tryReserveBeyondGap(1));
    assertTrue(budget.tryReserve(125));
    assertFalse(budget.tryReserve(1));
  }

  @Test
  void leastOfEachSessionIsNotTakenFromReceiving() {
    budget.chargeToSend(3000);
    assertFalse(budget.hasRoomToSend(1));
    assertEquals(500, budget.roomBytes());
    assertFalse(budget.tryReserve(501));
    assertTrue(budget.tryReserve(500));
    assertEquals(3500, budget.usedBytes());
    budget.releaseToSend(3000);
    assertTrue(budget.tryReserve(500));
    assertFalse(budget.tryReserve(1));
  }

  @Test
  void withoutALimitThereIsRoomForAll() {
    MemoryBudget unlimited = MemoryBudget.unlimited();
    unlimited.chargeToSend(Integer.MAX_VALUE);
    assertTrue(unlimited.hasRoomToSend(Integer.MAX_VALUE));
    assertTrue(unlimited.tryReserve(Integer.MAX_VALUE));
    assertTrue(unlimited.tryReserveBeyondGap(Integer.MAX_VALUE));
    assertTrue(unlimited.tryReserveSpare(Integer.MAX_VALUE));
  }
}
