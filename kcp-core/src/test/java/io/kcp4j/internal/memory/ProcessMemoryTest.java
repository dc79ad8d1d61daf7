package io.kcp4j.internal.memory;

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
    assertTrue(account.tryReserve(MIB), "the process goes on being short of memory");
    assertTrue(account.roomBytes() <= 19 * MIB);
    assertTrue(account.roomBytes() > limit.processRoomBytes(), "some is borrowed and not used");
    account.release(MIB);
    account.reserve(true);
    assertEquals(limit.processRoomBytes() + limit.reserveBytes(), account.roomBytes());
    assertTrue(budget.isReserveFree());
    assertTrue(account.tryReserve(40 * MIB));
    assertFalse(budget.isReserveFree());
    assertFalse(account.tryReserve(10 * MIB));
  }

  @Test
  void nothingIsBorrowedThatCannotBeAllocatedExceptByTheHolderOfTheReserve() {
    long[] allocatableBytes = {50 * MIB};
    ProcessMemory filling = new ProcessMemory(100 * MIB, () -> allocatableBytes[0]);
    MemoryLimit limit = MemoryLimit.shared(16 * MIB, filling);
    MemoryBudget budget = new MemoryBudget(limit);
    MemoryAccount account = MemoryAccount.of(budget);
    assertTrue(account.tryReserve(MIB));
    allocatableBytes[0] = -MIB;
    assertFalse(account.tryReserve(MIB), "not even its part");
    assertFalse(account.tryReserveBeyondGap(MIB));
    assertFalse(budget.hasRoomToSend(MIB));
    MemoryAccount holder = MemoryAccount.of(budget);
    holder.reserve(true);
    assertTrue(holder.tryReserve((int) limit.reserveBytes()));
    assertFalse(holder.tryReserve(MIB));
    allocatableBytes[0] = MIB;
    assertTrue(holder.tryReserve(MIB));
  }

  @Test
  void allThatAMemberHoldsCounts() {
    MemoryAccount account = largeMember();
    MemoryBudget budget = new MemoryBudget(MemoryLimit.shared(400 * MIB, process));
    MemoryAccount other = MemoryAccount.of(budget);
    MemoryAccount unvalidated = MemoryAccount.of(budget);
    unvalidated.unvalidated();
    other.charge(20 * MIB);
    other.chargeToSend(20 * MIB);
    unvalidated.charge(20 * MIB);
    assertFalse(account.tryReserve(41 * MIB));
    assertTrue(account.tryReserve(39 * MIB));
    unvalidated.release(20 * MIB);
    other.releaseToSend(20 * MIB);
    assertTrue(account.tryReserve(39 * MIB));
  }

  /** The part that stays free is one of what the member holds and may still get. */
  @Test
  void dataBeyondGapsLeavesAQuarterOfWhatAMemberMayHold() {
    MemoryAccount account = largeMember();
    largeMember().charge(60 * MIB);
    assertTrue(account.tryReserve(24 * MIB));
    assertFalse(account.tryReserveBeyondGap(7 * MIB));
    assertTrue(account.tryReserveBeyondGap(5 * MIB));
    assertTrue(account.tryReserve(9 * MIB));
  }

  @Test
  void memberMayUseWhatItHasBorrowedThoughTheProcessHasNothingLeft() {
    MemoryAccount account = largeMember();
    account.charge(20 * MIB);
    largeMember().charge(100 * MIB);
    assertTrue(account.tryReserve(60_000));
    assertFalse(account.tryReserve(60_000));
  }
}
