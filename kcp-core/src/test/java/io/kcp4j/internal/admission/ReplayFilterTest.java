package io.kcp4j.internal.admission;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kcp4j.internal.memory.MemoryBudget;
import io.netty.buffer.Unpooled;
import org.junit.jupiter.api.Test;

class ReplayFilterTest {

  private static final int NONCE_BYTES = 12;

  private final ReplayFilter filter = ReplayFilter.of(new MemoryBudget(1 << 26));

  private long hash(int nonce) {
    return filter.hashOfNonce(Unpooled.buffer().writeLong(nonce).writeInt(0), 0, NONCE_BYTES);
  }

  private boolean addNonce(int nonce, long nowUs) {
    return filter.addNonce(hash(nonce), nowUs);
  }

  private boolean containsNonce(int nonce, long nowUs) {
    return filter.containsNonce(hash(nonce), nowUs);
  }

  @Test
  void convIsRememberedForTwoMinutes() {
    assertFalse(filter.addConv(1, 10_000_000));
    assertTrue(filter.addConv(1, 129_900_000));
    assertFalse(filter.addConv(1, 130_000_000));
    assertFalse(filter.addConv(2, 130_000_000));
  }

  @Test
  void convAndNonceAreRememberedForTwoMinutesFromTheEndOfTheirSession() {
    assertFalse(filter.addConv(1, 0));
    assertFalse(addNonce(7, 0)); // The session has begun with it.
    filter.renew(1, hash(7), 100_000_000);
    assertTrue(filter.addConv(1, 219_000_000));
    assertFalse(filter.addConv(1, 220_000_000));
    assertTrue(containsNonce(7, 219_000_000));
    assertFalse(containsNonce(7, 220_000_000));
  }

  @Test
  void nonceIsRememberedForTwoMinutes() {
    assertFalse(containsNonce(1, 10_000_000));
    assertFalse(addNonce(1, 10_000_000));
    assertTrue(containsNonce(1, 129_900_000));
    assertTrue(addNonce(1, 129_900_000));
    assertFalse(containsNonce(1, 130_000_000));
    assertFalse(addNonce(1, 130_000_000));
  }

  /** Its time was taken for one of 18 hours ago. */
  @Test
  void nonceIsRememberedBySocketWhoseTimeIsBehind() {
    assertFalse(addNonce(1, 10_000_000));
    assertTrue(addNonce(1, 9_999_000));
  }

  /** The tables of a server share it, and each has a budget. */
  @Test
  void filterCountsUntilTheTableThatHasMadeItCloses() {
    MemoryBudget budget = new MemoryBudget(64 << 20);
    MemoryBudget other = new MemoryBudget(64 << 20);
    ReplayFilter filter = ReplayFilter.of(budget);
    assertEquals(1 << 20, budget.usedBytes());
    filter.releaseFrom(other);
    assertEquals(1 << 20, budget.usedBytes());
    filter.releaseFrom(budget);
    filter.releaseFrom(budget);
    assertEquals(0, budget.usedBytes());
  }
}
