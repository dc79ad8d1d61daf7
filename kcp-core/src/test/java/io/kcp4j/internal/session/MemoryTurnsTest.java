package io.kcp4j.internal.session;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kcp4j.MemoryUse;
import io.kcp4j.internal.memory.MemoryAccount;
import io.netty.buffer.Unpooled;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** Whose turn it is to use the reserve, among the sessions of a socket: protocol.md 8.12. */
class MemoryTurnsTest extends MemoryTurns {

  /** Whether a session waits for the reserve, which the test has. */
  private boolean isWaitingForReserve() {
    return limit.reserve().isAwaited(this, crowd.nowUs);
  }

  private void end(Session session) {
    crowd.server.table.remove(session, crowd.nowUs);
    session.close();
  }

  /** The peer may back off, and send the next burst when its turn would be over. */
  @Test
  void restOfTheBurstIsTakenInWhenNobodyHasTheReserve() {
    Crowd.Client client = connect(2);
    fill();
    sendFragments(client, 1, 100, 120);
    crowd.run(1);
    assertTrue(memory(client).receiveBytes() > 90 * FRAGMENT_BYTES);
  }

  @Test
  void sessionOfANetworkWithinItsPartIsNextThoughAnotherWasRefusedFirst() {
    Crowd.Client greedy = connect(2);
    Crowd.Client modest = connect(3);
    charge(greedy, MIB / 2);
    fill();
    sendFragments(greedy, 1, 1, 120);
    sendFragments(modest, 1, 1, 120);
    crowd.run(1);
    assertTrue(hasReserve(modest));
    assertFalse(hasReserve(greedy));
  }

  @Test
  void networksTakeTurns() {
    Crowd.Client first = connect(2, 10);
    Crowd.Client second = connect(2, 11);
    Crowd.Client other = connect(3);
    fill();
    sendFragments(first, 1, 10, 20);
    crowd.run(1);
    sendFragments(first, 1, 10, 20);
    crowd.run(1);
    assertTrue(hasReserve(first));
    sendFragments(second, 1, 1, 20);
    crowd.run(30);
    sendFragments(other, 1, 1, 20);
    crowd.run(30);
    sendFragments(first, 11, 20, 20);
    crowd.run(30);
    assertEquals(10 + 20 * FRAGMENT_BYTES, received(first));
    assertTrue(hasReserve(other));
  }

  @Test
  void nextSessionGetsTheReserveWhenItsHolderLeaves() {
    Crowd.Client next = connect(3);
    Crowd.Client holder = holder(2);
    sendFragments(next, 1, 1, 20);
    crowd.run(30);
    assertFalse(hasReserve(next));
    end(holder.serverSession());
    sendFragments(next, 1, 1, 20);
    sendFragments(next, 1, 20, 20);
    crowd.run(30);
    assertEquals(10 + 20 * FRAGMENT_BYTES, received(next));
  }

  @Test
  void socketWhoseLastWaitingSessionHasLeftDoesNotWaitForTheReserve() {
    Crowd.Client client = connect(2);
    limit.reserve().acquire(this, 1, crowd.nowUs);
    fill();
    sendFragments(client, 1, 1, 20);
    crowd.run(100);
    assertTrue(isWaitingForReserve());
    end(client.serverSession());
    assertFalse(isWaitingForReserve());
  }

  @Test
  void reserveIsFreeForOtherSocketsWhenNobodyWaits() {
    Crowd.Client client = holder(2);
    sendFragments(client, 61, 120, 120);
    crowd.run(30);
    assertEquals(10 + 120 * FRAGMENT_BYTES, received(client));
    assertFalse(hasReserve(client));
    assertTrue(limit.reserve().acquire(this, 1, crowd.nowUs));
  }

  /** It would be told that there is memory, be refused, and be told that again. */
  @Test
  void sessionWaitsUntilThereIsRoomForMoreThanWasRefused() {
    Crowd.Client client = connect(2);
    charge(client, 100_000);
    limit.reserve().acquire(this, 1, crowd.nowUs);
    for (int most = 2 * MIB; most > 0; ) {
      most = others.tryReserveBeyondGap(most) ? most : most / 2;
    }
    sendFragments(client, 2, 2, 20);
    crowd.run(30);
    others.release(20_000);
    crowd.run(1_000);
    assertTrue(isWaitingForReserve());
    others.release(40_000);
    crowd.run(1_000);
    assertFalse(isWaitingForReserve());
  }

  @Test
  void sessionThatReceivesWaitsThoughThereIsRoomToSend() {
    Crowd.Client client = connect(2);
    limit.reserve().acquire(this, 1, crowd.nowUs);
    fill();
    sendFragments(client, 1, 1, 20);
    crowd.run(30);
    others.release(200_000);
    assertTrue(crowd.budget.hasRoomToSend(100_000));
    crowd.run(1_000);
    assertTrue(isWaitingForReserve());
  }

  @Test
  void networkThatSendsMoreThanItsPartIsLimitedWhileAnotherWaitsToSend() {
    Crowd.Client client = connect(2);
    MemoryAccount greedy = MemoryAccount.of(crowd.budget);
    greedy.network(memory(client).network() + 1);
    MemoryUse.chargeToSend(greedy, MIB);
    assertTrue(crowd.budget.hasRoomToReceive(100_000));
    for (int i = 0; i < 10; i++) {
      for (int j = 0; j < 2; j++) { // The first message may be queued, the second one waits.
        client.serverSession().kcp().send(Unpooled.buffer().writeZero(20_000));
      }
      crowd.server.table.scheduleFlush(client.serverSession());
      crowd.run(20);
    }
    assertTrue(limit.networkParts().isLimited());
    assertFalse(greedy.tryReserve(1));
    assertFalse(hasReserve(client), "it is for those that receive");
  }

  /** A client that has backed off would send again after seconds only. */
  @Test
  void sessionsThatWaitAreToldWhenMemoryIsFree() {
    Crowd.Client client = connect(2);
    limit.reserve().acquire(this, 1, crowd.nowUs);
    fill();
    client.send(100_000);
    crowd.run(20_000);
    assertEquals(10, received(client));
    others.release(others.receiveBytes());
    crowd.run(1_000); // A sweep notices.
    crowd.run(200);
    assertEquals(100_010, received(client));
  }

  @Test
  void sessionIsToldWhenItsTurnBegins() {
    Crowd.Client client = connect(2);
    limit.reserve().acquire(this, 1, crowd.nowUs);
    fill();
    client.send(100_000);
    crowd.run(20_000);
    assertEquals(10, received(client));
    limit.reserve().release(this);
    crowd.run(1_000);
    crowd.run(200);
    assertEquals(100_010, received(client));
  }

  @Test
  void sessionThatHasToBeReadDoesNotWait() {
    Crowd.Client client = connect(2);
    crowd.isRead = session -> false;
    sendFragments(client, 1, 1, 1);
    crowd.run(30);
    fill();
    sendFragments(client, 2, 2, 20);
    crowd.run(30);
    assertFalse(limit.networkParts().isLimited());
    assertFalse(hasReserve(client));
  }

  @Test
  void socketWhoseLastWaitingSessionHasToBeReadDoesNotWaitForTheReserve() {
    Crowd.Client client = connect(2);
    limit.reserve().acquire(this, 1, crowd.nowUs);
    fill();
    crowd.isRead = session -> false;
    sendFragments(client, 1, 1, 1);
    crowd.run(30);
    assertTrue(isWaitingForReserve());
    others.release(4_000);
    sendFragments(client, 1, 1, 1);
    crowd.run(30);
    assertTrue(client.serverSession().kcp().hasReceived());
    assertFalse(isWaitingForReserve());
  }

  /** It was taken for one that waits to receive, and the upload ended for it. */
  @Test
  void slowUploadIsNotEndedForADownloadThatWaits() {
    Crowd.Client upload = connect(2);
    Crowd.Client download = connect(3);
    fill();
    sendFragments(upload, 1, 1, 120);
    crowd.run(30);
    for (int sn = 1; sn <= 120; sn++) {
      sendFragments(upload, sn, sn, 120);
      for (int i = 0; i < 2; i++) { // The first message may be queued, the second one waits.
        download.serverSession().kcp().send(Unpooled.buffer().writeZero(5_000));
      }
      crowd.server.table.scheduleFlush(download.serverSession());
      crowd.run(200);
    }
    assertEquals(10 + 120 * FRAGMENT_BYTES, received(upload));
    assertEquals(Map.of(), crowd.ends);
    assertTrue(download.receivedBytes > 100 * 5_000, "" + download.receivedBytes);
  }

  /** It would keep the reserve for its next message. */
  @Test
  void turnEndsWithTheMessageThoughThePartOfAnotherIsHeld() {
    Crowd.Client next = connect(3);
    Crowd.Client first = connect(2);
    fill();
    sendFragments(first, 1, 10, 20);
    sendFragments(first, 1, 10, 20);
    sendFragments(next, 1, 1, 20);
    crowd.run(20);
    assertTrue(hasReserve(first));
    others.release(150_000);
    assertFalse(crowd.budget.hasRoomToReceive(0));
    sendFragments(first, 11, 20, 20);
    sendFragments(first, 21, 50, 60);
    crowd.run(20);
    assertEquals(10 + 20 * FRAGMENT_BYTES, received(first));
    assertTrue(crowd.budget.isReserveFree());
    assertTrue(hasReserve(next));
  }

  @Test
  void sessionThatGrowsByAByteNowAndThenLeavesTheReserveToTheNext() {
    Crowd.Client next = connect(3);
    Crowd.Client holder = holder(2);
    next.send(20_000);
    for (int sn = 61; sn <= 80; sn++) {
      crowd.forge(2, 2, sn, 120 - sn, 1);
      crowd.run(200);
    }
    assertFalse(hasReserve(holder));
    assertEquals(20_010, received(next));
  }

  /** It may have been a datagram of another session, with a forged address. */
  @Test
  void sessionThatHoldsNothingDoesNotKeepTheReserve() {
    Crowd.Client client = connect(2);
    fill();
    sendFragments(client, 1, 1, 20);
    crowd.run(20);
    assertTrue(hasReserve(client));
    crowd.run(3_000);
    assertFalse(hasReserve(client));
  }

  @Test
  void slowUploadThatWasAloneHasTimeToGrowWhenAnotherBeginsToWait() {
    Crowd.Client next = connect(3);
    Crowd.Client holder = holder(2);
    for (int sn = 61; sn <= 75; sn++) {
      sendFragments(holder, sn, sn, 120);
      crowd.run(500);
    }
    sendFragments(next, 1, 1, 20);
    crowd.run(20);
    assertTrue(hasReserve(holder));
    assertEquals(Map.of(), crowd.ends);
  }

  /** Its buffer had doubled, and what filled it was not seen: the session ended after a second. */
  @Test
  void uploadThatFillsItsBufferIsNotEndedForAnotherThatWaits() {
    Crowd.Client next = connect(3);
    Crowd.Client holder = connect(2);
    fill();
    sendFragments(holder, 1, 52, 120);
    sendFragments(holder, 1, 52, 120);
    crowd.run(20);
    assertFalse(crowd.budget.isReserveFree());
    next.send(20_000);
    for (int sn = 53; sn <= 120; sn++) { // 20 kB a second
      sendFragments(holder, sn, sn, 120);
      crowd.run(65);
    }
    assertEquals(10 + 120 * FRAGMENT_BYTES, received(holder));
    crowd.run(2_000);
    assertEquals(20_010, received(next));
    assertEquals(Map.of(), crowd.ends);
  }
}
