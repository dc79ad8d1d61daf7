package io.kcp4j;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

/** {@link ProcessMemory}: what servers whose own limits are larger may hold together. */
class ProcessMemoryTest {

  private static final int MIB = 1 << 20;

  private final ProcessMemory process = new ProcessMemory(100 * MIB);

  private static MemoryAccount account(MemoryLimit limit) {
    return MemoryAccount.of(new MemoryBudget(limit));
  }

  private MemoryAccount largeMember() {
    return account(MemoryLimit.shared(400 * MIB, process));
  }

  @Test
  void memberThatHasClosedKeepsNothing() {
    MemoryAccount account = largeMember();
    MemoryLimit closing = MemoryLimit.shared(400 * MIB, process);
    assertTrue(account.tryReserve(87 * MIB));
    assertFalse(account.tryReserve(MIB), "an eighth is kept for the other");
    closing.close();
    assertTrue(account.tryReserve(12 * MIB));
  }

  @Test
  void memberThatStaysKeepsItsPartWhenAnotherCloses() {
    MemoryAccount account = largeMember();
    MemoryLimit closing = MemoryLimit.shared(400 * MIB, process);
    MemoryAccount third = largeMember();
    third.charge(20 * MIB);
    closing.close();
    assertTrue(account.tryReserve(79 * MIB));
    assertFalse(account.tryReserve(MIB), "the third holds the rest");
  }

  @Test
  void smallMemberKeepsNoMoreThanItsLimit() {
    MemoryLimit.shared(MIB, process);
    MemoryAccount account = largeMember();
    assertTrue(account.tryReserve(99 * MIB));
    assertFalse(account.tryReserve(MIB / 2));
  }

  @Test
  void memberHasItsPartThoughOthersHoldMoreThanTheRest() {
    MemoryAccount account = largeMember();
    largeMember().charge(95 * MIB);
    assertTrue(account.tryReserve(12 * MIB));
    assertFalse(account.tryReserve(MIB));
  }

  @Test
  void memberHasNoRoomBeyondWhatTheProcessLeaves() {
    MemoryBudget budget = new MemoryBudget(MemoryLimit.shared(400 * MIB, process));
    MemoryAccount account = MemoryAccount.of(budget);
    MemoryAccount other = largeMember();
    other.charge(50 * MIB);
    assertTrue(budget.hasRoomToSend(20 * MIB));
    assertFalse(budget.hasRoomToSend(40 * MIB), "a quarter stays free for data in order");
    assertTrue(budget.hasRoomToReceive(20 * MIB));
    assertFalse(budget.hasRoomToReceive(40 * MIB), "and beyond gaps");
    assertFalse(account.tryReserveSpare(30 * MIB), "for copies, a half");
    assertTrue(account.tryReserve(49 * MIB));
    MemoryAccount unvalidated = MemoryAccount.of(budget);
    unvalidated.unvalidated();
    assertFalse(unvalidated.tryReserve(2 * MIB));
  }

  @Test
  void windowFollowsWhatTheProcessLeavesAndHasTheReserveForItsHolder() {
    MemoryLimit limit = MemoryLimit.shared(400 * MIB, process);
    MemoryBudget budget = new MemoryBudget(limit);
    MemoryAccount account = MemoryAccount.of(budget);
    largeMember().charge(80 * MIB);
    assertFalse(account.tryReserve(30 * MIB));
    assertEquals(limit.processRoomBytes(), account.roomBytes());
    assertTrue(account.roomBytes() <= 20 * MIB);
    account.reserve(true);
    assertEquals(limit.processRoomBytes() + limit.reserveBytes(), account.roomBytes());
    assertTrue(budget.isReserveFree());
    assertTrue(account.tryReserve(40 * MIB));
    assertFalse(budget.isReserveFree());
    assertFalse(account.tryReserve(10 * MIB));
  }
}
