package io.kcp4j.internal.memory;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** The parts of event loops in the memory of peers that have not proven their address. */
class UnvalidatedShareTest {

  private static final int KIB = 1024;
  private static final int MIB = 1024 * KIB;

  /** Of which a MiB is for unvalidated sessions. */
  private final MemoryLimit limit = MemoryLimit.shared(16 * MIB);

  private List<MemoryBudget> budgets(int number) {
    return budgets(limit, number);
  }

  private static List<MemoryBudget> budgets(MemoryLimit limit, int number) {
    List<MemoryBudget> budgets = new ArrayList<>();
    for (int i = 0; i < number; i++) {
      budgets.add(new MemoryBudget(limit));
    }
    return budgets;
  }

  private static void assertRoom(long bytes, MemoryBudget budget) {
    assertEquals(bytes, budget.unvalidatedRoomBytes());
    assertFalse(budget.tryReserveUnvalidated((int) bytes + 1));
    assertTrue(budget.tryReserveUnvalidated((int) bytes));
    budget.releaseUnvalidated(bytes);
  }

  @Test
  void oneEventLoopMayUseAll() {
    assertRoom(MIB, budgets(1).get(0));
  }

  @Test
  void eachOfSeveralKeepsItsPartOfAHalf() {
    List<MemoryBudget> budgets = budgets(4);
    assertRoom(MIB / 2 + MIB / 8, budgets.get(0));
    assertTrue(budgets.get(0).tryReserveUnvalidated(MIB / 2 + MIB / 8));
    for (int i = 1; i < 4; i++) {
      assertRoom(MIB / 8, budgets.get(i));
      assertTrue(budgets.get(i).tryReserveUnvalidated(MIB / 8));
    }
    budgets.forEach(budget -> assertRoom(0, budget));
  }

  @Test
  void whatOneReleasesBeyondItsPartIsForAny() {
    List<MemoryBudget> budgets = budgets(4);
    assertTrue(budgets.get(0).tryReserveUnvalidated(MIB / 2 + MIB / 8));
    budgets.get(0).releaseUnvalidated(MIB / 4);
    assertRoom(MIB / 4 + MIB / 8, budgets.get(3));
    budgets.get(0).releaseUnvalidated(MIB / 4 + MIB / 8);
    assertRoom(MIB / 2 + MIB / 8, budgets.get(3));
  }

  /** A session is counted before another one gives way to it. */
  @Test
  void partStaysWhenAnotherEventLoopUsesMoreThanThereIs() {
    List<MemoryBudget> budgets = budgets(4);
    budgets.get(0).chargeUnvalidated(MIB);
    assertEquals(-3 * MIB / 8, budgets.get(0).unvalidatedRoomBytes());
    assertRoom(MIB / 8, budgets.get(1));
  }

  @Test
  void partHasRoomForTwoSessionsWhateverTheLimitIs() {
    List<MemoryBudget> few = budgets(MemoryLimit.shared(MIB), 4); // 64 KiB
    assertRoom(16 * KIB, few.get(0));
    assertTrue(few.get(0).tryReserveUnvalidated(16 * KIB));
    assertRoom(16 * KIB, few.get(1));
    List<MemoryBudget> many = budgets(MemoryLimit.shared(MIB), 8);
    assertRoom(8 * KIB, many.get(0));
  }

  @Test
  void shareIsScarceBelowHalfOfWhatTheEventLoopMayUse() {
    List<MemoryBudget> budgets = budgets(4);
    assertFalse(budgets.get(1).isUnvalidatedShareScarce());
    assertTrue(budgets.get(0).tryReserveUnvalidated(MIB / 4 + MIB / 16));
    assertFalse(budgets.get(0).isUnvalidatedShareScarce());
    assertTrue(budgets.get(0).tryReserveUnvalidated(1));
    assertTrue(budgets.get(0).isUnvalidatedShareScarce());
  }

  @Test
  void eventLoopsHaveEqualRoomForWhatIsNotCounted() {
    List<MemoryBudget> budgets = budgets(4);
    assertTrue(budgets.get(0).hasUnvalidatedRoomBeside(MIB / 4));
    assertFalse(budgets.get(0).hasUnvalidatedRoomBeside(MIB / 4 + 1));
    assertTrue(budgets.get(0).tryReserveUnvalidated(MIB / 8 + MIB / 4));
    assertTrue(budgets.get(0).hasUnvalidatedRoomBeside(MIB / 16));
    assertFalse(budgets.get(0).hasUnvalidatedRoomBeside(MIB / 16 + 1));
    assertTrue(budgets.get(1).hasUnvalidatedRoomBeside(MIB / 8 + MIB / 16));
    assertFalse(budgets.get(1).hasUnvalidatedRoomBeside(MIB / 8 + MIB / 16 + 1));
    budgets.get(0).chargeUnvalidated(MIB);
    assertFalse(budgets.get(0).hasUnvalidatedRoomBeside(0));
  }
}
