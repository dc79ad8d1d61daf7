package io.kcp4j;

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
}
