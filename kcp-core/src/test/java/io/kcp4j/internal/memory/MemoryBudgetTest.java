package io.kcp4j.internal.memory;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

/** {@link MemoryBudget}, {@link MemoryLimit} and {@link MemoryAccount} without sessions. */
class MemoryBudgetTest {

  private static final int KIB = 1024;
  private static final int MIB = 1024 * KIB;

  private final MemoryBudget budget = new MemoryBudget(1000);
  private final MemoryAccount account = MemoryAccount.of(budget);

  private static MemoryAccount account(MemoryLimit limit, int network) {
    MemoryAccount account = MemoryAccount.of(new MemoryBudget(limit));
    account.network(network);
    return account;
  }

  private static MemoryAccount account(MemoryBudget budget, int network) {
    MemoryAccount account = MemoryAccount.of(budget);
    account.network(network);
    return account;
  }

  // Sending and receiving

  @Test
  void sendingMayTakeHalfAndLeavesTheRestToReceiving() {
    assertTrue(account.hasRoomToSend(500));
    assertFalse(account.hasRoomToSend(501));
    account.chargeToSend(500);
    assertFalse(account.hasRoomToSend(1));
    assertEquals(500, account.roomBytes());
    assertTrue(account.tryReserve(500));
    assertFalse(account.tryReserve(1));
    account.releaseToSend(500);
    assertEquals(0, budget.sendBytes());
    assertEquals(500, budget.usedBytes());
    assertTrue(account.tryReserve(500));
    assertFalse(account.hasRoomToSend(1), "the limit is reached");
  }

  @Test
  void sendingStarvesNeitherGapsNorCopies() {
    account.chargeToSend(500);
    assertTrue(account.tryReserveSpare(250), "half of what sending leaves");
    assertFalse(account.tryReserveSpare(1));
    assertTrue(account.tryReserveBeyondGap(125), "three quarters of it");
    assertFalse(account.tryReserveBeyondGap(1));
    assertTrue(account.tryReserve(125));
    assertFalse(account.tryReserve(1));
  }

  @Test
  void leastOfEachSessionIsNotTakenFromReceiving() {
    account.chargeToSend(3000);
    assertFalse(account.hasRoomToSend(1));
    assertEquals(500, account.roomBytes());
    assertFalse(account.tryReserve(501));
    assertTrue(account.tryReserve(500));
    assertEquals(3500, budget.usedBytes());
    account.releaseToSend(3000);
    assertTrue(account.tryReserve(500));
    assertFalse(account.tryReserve(1));
  }

  @Test
  void withoutALimitThereIsRoomForAll() {
    MemoryAccount unlimited = MemoryAccount.of(MemoryBudget.unlimited());
    unlimited.chargeToSend(Integer.MAX_VALUE);
    assertTrue(unlimited.hasRoomToSend(Integer.MAX_VALUE));
    assertTrue(unlimited.tryReserve(1_000_000_000));
    assertTrue(unlimited.tryReserveBeyondGap(500_000_000));
    assertTrue(unlimited.tryReserveSpare(500_000_000));
  }

  @Test
  void accountKnowsWhatItHoldsAndWhetherItWasRefused() {
    assertTrue(account.tryReserve(600));
    account.chargeToSend(100);
    assertEquals(700, account.heldBytes());
    assertEquals(600, account.receiveBytes());
    assertEquals(0, account.takeShortage());
    assertFalse(account.tryReserve(301));
    assertEquals(301, account.takeShortage());
    assertEquals(0, account.takeShortage(), "once");
    assertFalse(account.tryReserveSpare(100));
    assertEquals(0, account.takeShortage(), "a copy that is not kept is no shortage");
    account.release(600);
    account.releaseToSend(100);
    assertEquals(0, account.heldBytes());
    assertEquals(0, budget.usedBytes());
  }

  /** Peers without a session yet are no reason to refuse others what they need. */
  @Test
  void withoutAShareUnvalidatedPeersLeaveHalf() {
    assertTrue(budget.tryReserveUnvalidated(500));
    assertFalse(budget.tryReserveUnvalidated(1));
    assertEquals(0, budget.unvalidatedBytes());
    assertTrue(account.tryReserve(500));
    budget.releaseUnvalidated(500);
    assertTrue(account.tryReserve(500));
    assertFalse(budget.isUnvalidatedShareScarce());
  }

  // Several event loops

  @Test
  void budgetsOfTwoEventLoopsShareALimit() {
    MemoryLimit limit = MemoryLimit.shared(64 * MIB);
    MemoryAccount one = account(limit, 1);
    MemoryAccount other = account(limit, 2);
    int all = (int) (limit.commonBytes() - limit.withheldBytes());
    assertTrue(one.tryReserve(all - 4 * MIB));
    assertFalse(other.tryReserve(5 * MIB));
    assertTrue(other.tryReserve(3 * MIB), "less than a block of each is lost");
    one.release(all - 4 * MIB);
    assertTrue(other.tryReserve(all - 4 * MIB));
  }

  @Test
  void budgetThatIsEmptyHasBorrowedNothing() {
    MemoryLimit limit = MemoryLimit.shared(64 * MIB);
    MemoryAccount account = account(limit, 1);
    for (int i = 0; i < 100; i++) {
      assertTrue(account.tryReserve(10 * KIB));
    }
    assertTrue(limit.borrowedBytes() >= 1000 * KIB);
    assertTrue(limit.borrowedBytes() <= 1000 * KIB + 2 * 64 * KIB, "" + limit.borrowedBytes());
    for (int i = 0; i < 100; i++) {
      account.release(10 * KIB);
    }
    assertEquals(0, limit.borrowedBytes());
  }

  @Test
  void budgetBorrowsAllThatItUsesAndNoBlockBeyondTheLimit() {
    MemoryLimit limit = MemoryLimit.shared(64 * MIB);
    MemoryAccount account = account(limit, 1);
    account.charge(64 * MIB - KIB);
    assertEquals(64 * MIB, limit.borrowedBytes());
    account.charge(MIB);
    assertEquals(65 * MIB - KIB, limit.borrowedBytes());
    account.release(60 * MIB);
    assertTrue(limit.borrowedBytes() <= 5 * MIB + 64 * KIB, "" + limit.borrowedBytes());
    assertTrue(limit.borrowedBytes() >= 5 * MIB - KIB, "" + limit.borrowedBytes());
  }

  // Unvalidated sessions

  @Test
  void unvalidatedSessionsShareASixteenthBothWaysAndLeaveTheRest() {
    MemoryBudget shared = new MemoryBudget(MemoryLimit.shared(64 * MIB));
    MemoryAccount forged = account(shared, 1);
    forged.unvalidated();
    assertTrue(forged.tryReserve(3 * MIB));
    assertTrue(forged.hasRoomToSend(MIB));
    forged.chargeToSend(MIB);
    MemoryAccount another = account(shared, 2);
    another.unvalidated();
    assertFalse(another.tryReserve(1));
    assertFalse(another.hasRoomToSend(1));
    assertEquals(4 * MIB, shared.unvalidatedBytes());
    MemoryAccount honest = account(shared, 3);
    assertTrue(shared.hasRoomToSend(30 * MIB), "half of what unvalidated sessions leave");
    assertTrue(honest.hasRoomToSend(15 * MIB), "half of that");
    assertTrue(honest.tryReserve(52 * MIB), "all but the reserve and what may be validated");
  }

  @Test
  void validatedSessionHoldsNothingOfTheShareAnyMore() {
    MemoryBudget shared = new MemoryBudget(MemoryLimit.shared(64 * MIB));
    MemoryAccount account = account(shared, 1);
    account.unvalidated();
    assertTrue(account.tryReserve(2 * MIB));
    account.chargeToSend(MIB);
    account.validated();
    assertEquals(0, shared.unvalidatedBytes());
    assertEquals(MIB, shared.sendBytes());
    assertEquals(3 * MIB, shared.usedBytes());
    assertEquals(3 * MIB, shared.limit().networkParts().bytes(account.network()));
    account.release(2 * MIB);
    account.releaseToSend(MIB);
    assertEquals(0, shared.usedBytes());
    assertEquals(0, shared.limit().networkParts().bytes(account.network()));
  }

  // The reserve

  @Test
  void reserveIsForTheSessionThatMayUseIt() {
    MemoryLimit limit = MemoryLimit.shared(64 * MIB);
    MemoryBudget shared = new MemoryBudget(limit);
    MemoryAccount first = account(shared, 1);
    MemoryAccount second = account(shared, 2);
    assertTrue(first.tryReserve((int) (limit.commonBytes() - limit.withheldBytes())));
    assertFalse(second.tryReserve(9 * KIB));
    second.reserve(true);
    int mostBytes = (int) limit.withheldBytes() - 2 * MIB;
    assertTrue(second.tryReserveBeyondGap(mostBytes), "all but what is for small networks");
    assertFalse(second.tryReserve(1));
  }

  /** Otherwise the message that has the reserve would wait for those that send. */
  @Test
  void sendingLeavesTheReserveFree() {
    MemoryLimit limit = MemoryLimit.shared(64 * MIB);
    MemoryBudget shared = new MemoryBudget(limit);
    MemoryAccount receiver = account(shared, 1);
    assertTrue(receiver.tryReserve((int) (limit.commonBytes() - limit.withheldBytes()) - MIB));
    MemoryAccount sender = account(shared, 2);
    assertFalse(shared.hasRoomToSend(MIB + 1));
    assertTrue(shared.hasRoomToSend(MIB));
    sender.chargeToSend(MIB);
    assertFalse(sender.hasRoomToSend(1));
    receiver.reserve(true);
    assertTrue(receiver.tryReserve((int) limit.reserveBytes()));
  }

  @Test
  void oneClaimantAtATimeHasTheReserve() {
    MemoryReserve reserve = MemoryLimit.shared(64 * MIB).reserve();
    assertTrue(reserve.acquire("one", 1, 1_000));
    assertTrue(reserve.acquire("one", 1, 2_000));
    assertFalse(reserve.isAwaited("one", 2_000));
    assertFalse(reserve.acquire("other", 2, 3_000));
    assertTrue(reserve.isAwaited("one", 3_000));
    reserve.release("third");
    assertFalse(reserve.acquire("other", 2, 4_000), "not the third's to release");
    reserve.release("one");
    assertTrue(reserve.acquire("other", 2, 5_000));
    assertFalse(reserve.isAwaited("other", 6_000));
  }

  @Test
  void networksTakeTurnsWithTheReserve() {
    MemoryLimit limit = MemoryLimit.shared(64 * MIB);
    MemoryReserve reserve = limit.reserve();
    assertTrue(account(new MemoryBudget(limit), 5).tryReserve(9 * MIB));
    assertTrue(reserve.acquire("one", 1, 1_000));
    assertFalse(reserve.acquire("over its part", 5, 2_000));
    assertFalse(reserve.acquire("again", 1, 3_000));
    assertFalse(reserve.acquire("other", 2, 4_000));
    reserve.release("one");
    assertFalse(reserve.acquire("over its part", 5, 30_000));
    assertFalse(reserve.acquire("again", 1, 30_000));
    assertTrue(reserve.acquire("other", 2, 30_000));
    reserve.release("other");
    assertFalse(reserve.acquire("over its part", 5, 60_000));
    assertTrue(reserve.acquire("again", 1, 60_000));
    reserve.release("again");
    assertTrue(reserve.acquire("over its part", 5, 90_000));
  }

  /** Its socket may have been closed. */
  @Test
  void claimThatIsNotRepeatedEnds() {
    MemoryReserve reserve = MemoryLimit.shared(64 * MIB).reserve();
    assertTrue(reserve.acquire("one", 1, 1_000));
    assertFalse(reserve.acquire("gone", 2, 2_000));
    assertFalse(reserve.acquire("other", 2, 3_000));
    reserve.release("one");
    assertFalse(reserve.acquire("other", 2, 1_002_000), "the other one's claim is older");
    assertTrue(reserve.acquire("other", 2, 2_002_000));
  }

  // Networks

  @Test
  void networkMayNotExceedAnEighthWhileSessionsOfOthersWait() {
    MemoryBudget shared = new MemoryBudget(MemoryLimit.shared(64 * MIB));
    NetworkParts parts = shared.limit().networkParts();
    MemoryAccount greedy = account(shared, 1);
    assertTrue(greedy.tryReserve(8 * MIB));
    assertTrue(greedy.tryReserve(MIB), "nobody waits");
    parts.limitOthers(NetworkParts.SEVERAL, 1_000_000);
    assertFalse(greedy.tryReserve(1));
    assertFalse(greedy.hasRoomToSend(1));
    MemoryAccount other = account(shared, 3);
    assertTrue(other.tryReserve(8 * MIB));
    assertFalse(other.tryReserve(1));
    parts.update(2_000_000);
    assertFalse(greedy.tryReserve(1), "others may follow");
    parts.update(2_000_001);
    assertTrue(greedy.tryReserve(1));
  }

  /** Each event loop allowed an eighth. */
  @Test
  void networkMayNotExceedAnEighthOnSeveralEventLoopsTogether() {
    MemoryLimit limit = MemoryLimit.shared(64 * MIB);
    MemoryAccount one = account(new MemoryBudget(limit), 1);
    MemoryAccount another = account(new MemoryBudget(limit), 1);
    assertTrue(one.tryReserve(5 * MIB));
    assertTrue(another.tryReserve(5 * MIB));
    assertTrue(limit.networkParts().isOver(1));
    limit.networkParts().limitOthers(NetworkParts.SEVERAL, 1_000_000);
    assertFalse(one.tryReserve(1));
    assertFalse(another.tryReserve(1));
    assertEquals(1, limit.networkParts().toShrink(1_000_000));
    assertEquals(NetworkParts.NONE, limit.networkParts().toShrink(1_000_001), "nobody waits");
  }

  // The process

  /** They were refused while others held half of what could be had. */
  @Test
  void newSessionsMayUseWhatDataBeyondGapsLeavesOfTheProcess() {
    ProcessMemory process = new ProcessMemory(16 * MIB);
    MemoryLimit.shared(16 * MIB, process);
    MemoryBudget shared = new MemoryBudget(MemoryLimit.shared(16 * MIB, process));
    MemoryAccount holder = account(shared, 1);
    int most = 16 * MIB;
    while (most > 0) {
      most = holder.tryReserveBeyondGap(most) ? most : most / 2;
    }
    MemoryAccount begun = account(shared, 2);
    begun.unvalidated();
    assertTrue(begun.tryReserve(200_000));
  }

  @Test
  void processLimitGivesEachMemberItsPartAndLeavesTheRestToAll() {
    ProcessMemory process = new ProcessMemory(100 * MIB);
    MemoryLimit first = MemoryLimit.shared(100 * MIB, process);
    MemoryAccount one = account(first, 1);
    assertTrue(one.tryReserve(70 * MIB), "it is alone");
    MemoryLimit second = MemoryLimit.shared(100 * MIB, process);
    MemoryAccount other = account(second, 2);
    assertTrue(one.tryReserve(10 * MIB), "what the other is not sure of");
    assertFalse(one.tryReserve(10 * MIB), "an eighth is kept for the other");
    assertTrue(other.tryReserve(12 * MIB));
    assertFalse(other.tryReserve(10 * MIB));
    one.release(80 * MIB);
    assertFalse(other.tryReserve(77 * MIB), "an eighth is kept for the first");
    assertTrue(other.tryReserve(50 * MIB));
    first.close();
    assertTrue(other.tryReserve(15 * MIB));
  }

  @Test
  void memberWithASmallLimitLeavesTheRestOfItsPart() {
    ProcessMemory process = new ProcessMemory(100 * MIB);
    MemoryLimit.shared(10 * MIB, process);
    MemoryAccount account = account(MemoryLimit.shared(100 * MIB, process), 1);
    assertTrue(account.tryReserve(80 * MIB));
    assertFalse(account.hasRoomToSend(20 * MIB));
  }

  // Streams of a protocol above

  @Test
  void streamsLeaveRoomToDataAndNeverUseTheReserve() {
    MemoryAccount account = account(MemoryLimit.shared(16 * MIB), 1);
    int room = 13 * MIB; // Without the share of unvalidated sessions, twice, and the reserve.
    assertTrue(account.tryReserveChannel(room / 2));
    assertFalse(account.tryReserveChannel(1));
    assertTrue(account.tryReserveStream(room / 4));
    assertFalse(account.tryReserveStream(1));
    account.reserve(true);
    assertFalse(account.tryReserveChannel(1));
    assertFalse(account.tryReserveStream(1));
    assertEquals(0, account.takeShortage(), "the peer does not send that again");
    assertTrue(account.tryReserve(room / 4 + MIB), "data does");
    assertEquals(room / 4 + MIB, account.undeliveredBytes());
    account.release(room / 4 + MIB);
    account.releaseStream(3 * room / 4);
    assertEquals(0, account.undeliveredBytes());
    assertEquals(0, account.heldBytes());
  }

  @Test
  void lanesThatStayAreNoMessageThatHasToBeCompleted() {
    MemoryAccount account = account(MemoryLimit.shared(16 * MIB), 1);
    assertTrue(account.tryReserveLane(4 * KIB));
    account.chargeLanes(KIB);
    assertEquals(5 * KIB, account.receiveBytes());
    assertEquals(0, account.undeliveredBytes());
    account.chargeLanes(-2 * KIB);
    account.releaseStream(3 * KIB);
    assertEquals(0, account.heldBytes());
  }

  @Test
  void bytesThatHaveArrivedCountWithAndWithoutRoom() {
    MemoryAccount account = account(MemoryLimit.shared(16 * MIB), 1);
    int half = 13 * MIB / 2;
    assertTrue(account.chargeUnread(half));
    assertFalse(account.chargeUnread(1));
    assertEquals(half + 1, account.receiveBytes());
    assertEquals(0, account.undeliveredBytes());
    assertEquals(0, account.takeShortage());
    assertTrue(account.hasUnread());
    account.releaseUnread(half + 1);
    assertFalse(account.hasUnread());
    assertEquals(0, account.heldBytes());
  }

  // Networks that hold little

  /** Eight networks, each within its part, held everything, and no message of 100 bytes arrived. */
  @Test
  void thereIsRoomForSmallMessagesOfANetworkThatHoldsNothing() {
    MemoryLimit limit = MemoryLimit.shared(8 * MIB);
    MemoryBudget[] loops = {new MemoryBudget(limit), new MemoryBudget(limit)};
    for (int i = 0; i < 24; i++) {
      MemoryAccount hoarder = account(loops[i % 2], i % 12);
      while (hoarder.tryReserve(KIB)) {}
      assertEquals(0, hoarder.roomBytes());
    }
    for (int network = 100; network < 120; network++) {
      MemoryAccount other = account(loops[network % 2], network);
      assertEquals(8 * KIB, other.roomBytes());
      assertTrue(other.tryReserveSpare(2 * KIB), "an unreliable datagram");
      assertTrue(other.tryReserve(6 * KIB));
      assertFalse(account(loops[1 - network % 2], network).tryReserve(1), "not for each session");
    }
    long mostBytes = 8 * MIB - limit.reserveBytes() - limit.unvalidatedShare().bytes();
    assertTrue(limit.borrowedBytes() <= mostBytes, "" + limit.borrowedBytes());
  }

  /** One address filled three quarters, and unreliable datagrams of everybody were refused. */
  @Test
  void networkThatHoldsLittleMayUseWhatIsKeptFreeForDataInOrder() {
    MemoryBudget loop = new MemoryBudget(MemoryLimit.shared(64 * MIB));
    MemoryAccount hoarder = account(loop, 1);
    while (hoarder.tryReserveBeyondGap(16 * KIB)) {}
    assertFalse(hoarder.tryReserveSpare(1));
    MemoryAccount other = account(loop, 2);
    assertTrue(other.tryReserveSpare(MIB));
    assertTrue(other.tryReserveStream(512));
    assertFalse(other.tryReserveSpare(MIB), "that is not little");
    assertTrue(hoarder.tryReserve(16 * KIB), "data in order");
  }

  /** Five networks, each within its part, filled the share, and others sent by single segments. */
  @Test
  void networksThatSendLeaveSomeToOthers() {
    MemoryBudget loop = new MemoryBudget(MemoryLimit.shared(64 * MIB));
    for (int network = 1; network <= 8; network++) {
      MemoryAccount hoarder = account(loop, network);
      while (hoarder.hasRoomToSend(16 * KIB)) {
        hoarder.chargeToSend(16 * KIB);
      }
      assertTrue(network > 1 || hoarder.heldBytes() == 15 * MIB, "half of the share");
    }
    assertTrue(loop.sendBytes() > 28 * MIB, "" + loop.sendBytes());
    assertTrue(account(loop, 9).hasRoomToSend(256 * KIB));
  }

  /** Lanes of 4 KiB each, for a few bytes of their peers, filled what data in order may have. */
  @Test
  void lanesLeaveAQuarterToData() {
    MemoryBudget loop = new MemoryBudget(MemoryLimit.shared(64 * MIB));
    MemoryAccount hoarder = account(loop, 1);
    while (hoarder.tryReserveLane(4 * KIB)) {}
    assertTrue(loop.usedBytes() >= 38 * MIB, "" + loop.usedBytes());
    assertTrue(account(loop, 1).tryReserve(12 * MIB));
  }
}
