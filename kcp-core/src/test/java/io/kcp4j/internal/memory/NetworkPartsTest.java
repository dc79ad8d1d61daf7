package io.kcp4j.internal.memory;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

/** {@link NetworkParts}: networks that hold more than their part while others wait. */
class NetworkPartsTest {

  private static final int MIB = 1 << 20;

  private final MemoryLimit limit = MemoryLimit.shared(64 * MIB);
  private final NetworkParts parts = limit.networkParts();

  private MemoryAccount account(int network) {
    MemoryAccount account = MemoryAccount.of(new MemoryBudget(limit));
    account.network(network);
    return account;
  }

  @Test
  void networkThatHoldsItsPartIsNotOver() {
    MemoryAccount account = account(1);
    assertTrue(account.tryReserve(8 * MIB));
    assertFalse(parts.isOver(1));
    assertTrue(account.tryReserve(1));
    assertTrue(parts.isOver(1));
  }

  @Test
  void networkThatHoldsMostHasToShrink() {
    MemoryAccount first = account(1);
    MemoryAccount second = account(2);
    assertTrue(first.tryReserve(9 * MIB));
    assertTrue(second.tryReserve(10 * MIB));
    assertTrue(account(3).tryReserve(9 * MIB));
    parts.limitOthers(NetworkParts.SEVERAL, 1_000_000);
    assertEquals(2, parts.toShrink(1_000_000));
    second.release(2 * MIB);
    parts.limitOthers(NetworkParts.SEVERAL, 1_100_000);
    assertTrue(parts.isLimited(1, 0) && parts.isLimited(3, 0) && !parts.isLimited(2, 0));
    first.charge(1);
    parts.limitOthers(NetworkParts.SEVERAL, 1_200_000);
    assertEquals(1, parts.toShrink(1_200_000));
  }

  /** A session that waited had to keep to its network's part, though nobody else needed memory. */
  @Test
  void networkThatAloneWaitsMayHoldMoreThanItsPart() {
    MemoryAccount alone = account(1);
    assertTrue(alone.tryReserve(7 * MIB));
    parts.limitOthers(1, 1_000_000);
    assertTrue(alone.tryReserve(3 * MIB));
    parts.limitOthers(1, 1_100_000);
    assertTrue(alone.tryReserve(1));
    assertEquals(NetworkParts.NONE, parts.toShrink(1_100_000));
    parts.limitOthers(2, 1_110_000);
    assertFalse(alone.tryReserve(1));
    parts.limitOthers(1, 1_120_000);
    assertFalse(alone.tryReserve(1), "the other one waited lately");
    assertEquals(1, parts.toShrink(1_100_000));
    parts.update(2_200_000);
    parts.limitOthers(1, 2_200_000);
    assertTrue(alone.tryReserve(1));
  }

  @Test
  void whatANetworkSendsCountsTowardsItsPart() {
    MemoryAccount account = account(1);
    account.chargeToSend(5 * MIB);
    account.charge(4 * MIB);
    assertTrue(parts.isOver(1));
    account.releaseToSend(MIB);
    assertFalse(parts.isOver(1));
  }

  /** An event loop with another seed would count a network for two. */
  @Test
  void eventLoopsAgreeOnTheSeedOfTheHash() {
    assertEquals(5, parts.hashSeed(5));
    assertEquals(5, parts.hashSeed(7));
  }
}
