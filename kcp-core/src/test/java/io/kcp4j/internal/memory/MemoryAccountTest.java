package io.kcp4j.internal.memory;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

/** {@link MemoryAccount}: what the shares of a limit leave to a session. */
class MemoryAccountTest {

  private static final int KIB = 1024;
  private static final int MIB = 1024 * KIB;

  private final MemoryLimit limit = MemoryLimit.shared(64 * MIB);
  private final MemoryBudget budget = new MemoryBudget(limit);
  private final MemoryAccount account = account(1);

  private MemoryAccount account(int network) {
    MemoryAccount account = MemoryAccount.of(budget);
    account.network(network);
    return account;
  }

  @Test
  void shortageToSendCountsUnlessTheSessionIsShortForReceivingToo() {
    account.noteShortageToSend(5);
    assertTrue(account.isShortToSend());
    assertEquals(5, account.takeShortage());
    assertFalse(account.isShortToSend());
    assertFalse(account.tryReserve(65 * MIB));
    account.noteShortageToSend(5);
    assertFalse(account.isShortToSend());
    assertEquals(65 * MIB, account.takeShortage());
    account.noteShortageToSend(5);
    assertFalse(account.tryReserve(65 * MIB));
    assertFalse(account.isShortToSend());
  }

  @Test
  void sessionThatIsValidatedAgainMovesNothing() {
    account.unvalidated();
    assertTrue(account.tryReserve(2 * MIB));
    assertTrue(account.validated());
    assertTrue(account.validated());
    assertEquals(2 * MIB, budget.usedBytes());
    assertEquals(2 * MIB, budget.limit().networkParts().bytes(1));
  }

  /** All others leave room for it, and only for it. */
  @Test
  void sessionIsValidatedWhenTheRestHasRoomForWhatItHolds() {
    MemoryAccount others = account(1);
    others.charge((int) limit.commonBytes() - MIB);
    MemoryAccount large = account(2);
    large.unvalidated();
    large.chargeToSend(KIB);
    large.charge(MIB);
    MemoryAccount empty = account(3);
    empty.unvalidated();
    assertFalse(large.validated());
    assertTrue(large.isUnvalidated());
    assertEquals(MIB + KIB, budget.unvalidatedBytes());
    others.charge(2 * MIB);
    assertTrue(empty.validated(), "it needs none");
    others.release(2 * MIB + KIB);
    assertTrue(large.validated());
    others.charge(MIB);
    assertEquals(0, budget.unvalidatedBytes());
  }

  @Test
  void unvalidatedShareIsScarceBelowHalf() {
    assertTrue(budget.tryReserveUnvalidated(2 * MIB));
    assertFalse(budget.isUnvalidatedShareScarce());
    assertTrue(budget.tryReserveUnvalidated(1));
    assertTrue(budget.isUnvalidatedShareScarce());
  }

  @Test
  void windowHasTheReserveForTheSessionThatMayUseIt() {
    assertEquals(limit.commonBytes() - limit.withheldBytes(), account.roomBytes());
    account.reserve(true);
    assertEquals(limit.commonBytes() - limit.withheldFromAllBytes(), account.roomBytes());
    account.charge((int) limit.commonBytes() + MIB);
    assertEquals(0, account.roomBytes());
  }

  @Test
  void firstMessagesMayExceedTheShareOfSendingByTheReserve() {
    int halfBytes = (int) limit.commonBytes() / 2;
    account.chargeToSend(halfBytes);
    assertFalse(account.hasRoomToSend(1));
    assertTrue(account.hasRoomToBegin(4 * MIB));
    assertFalse(account.hasRoomToBegin(4 * MIB + 1));
    account.chargeToSend(MIB);
    assertFalse(account.hasRoomToBegin(3 * MIB + 1));
    account.charge(halfBytes - 3 * MIB);
    assertFalse(account.hasRoomToBegin(2 * MIB + 1), "the limit is reached");
    assertTrue(account.hasRoomToBegin(MIB));
  }

  @Test
  void serverItselfLeavesHalfOfWhatTheReserveLeaves() {
    int halfBytes = (int) (limit.commonBytes() - limit.withheldBytes()) / 2;
    assertFalse(budget.tryReserveOwn(halfBytes + 1));
    assertTrue(budget.tryReserveOwn(halfBytes));
    assertEquals(halfBytes, budget.usedBytes());
    budget.releaseOwn(halfBytes);
    assertEquals(0, budget.usedBytes());
  }

  @Test
  void reserveIsFreeWhileThatOfValidatedSessionsIsUsedOnly() {
    assertTrue(account.tryReserve((int) (limit.commonBytes() - limit.withheldBytes())));
    MemoryAccount holder = account(2);
    holder.reserve(true);
    assertTrue(holder.tryReserve((int) (limit.withheldBytes() - limit.reserveBytes())));
    assertTrue(budget.isReserveFree());
    assertTrue(holder.tryReserve(1));
    assertFalse(budget.isReserveFree());
  }

  @Test
  void whatNeedsNoMemoryIsNeverRefused() {
    account.charge(100 * MIB);
    assertTrue(account.tryReserve(0));
    assertEquals(0, account.takeShortage());
  }

  @Test
  void sharesOfASmallLimitAreAQuarterEach() {
    MemoryLimit small = MemoryLimit.shared(64 * KIB);
    assertEquals(16 * KIB, small.reserveBytes());
    assertEquals(16 * KIB, small.unvalidatedShare().bytes());
    assertEquals(48 * KIB, small.commonBytes());
  }
}
