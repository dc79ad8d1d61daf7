package io.kcp4j.internal.session;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kcp4j.EndReason;
import io.kcp4j.internal.wire.Segment;
import java.util.Map;
import org.junit.jupiter.api.Test;

/**
 * Turns with the reserve that bring their sessions nothing: the peer is late, the session needs
 * nothing any more, or others have used the reserve up. Protocol.md 8.12.
 */
class UnusedTurnsTest extends MemoryTurns {

  /** Fragments 1 to {@code last} of a message of 120 have arrived before memory is short. */
  private Crowd.Client connectWithPart(int host, int last) {
    Crowd.Client client = connect(host);
    sendFragments(client, 1, last, 120);
    crowd.run(20);
    assertTrue(memory(client).receiveBytes() >= last * FRAGMENT_BYTES);
    return client;
  }

  /** Both send the rest of their messages again and again. */
  private void sendRest(int seconds, Crowd.Client... clients) {
    for (int i = 0; i < 2 * seconds; i++) {
      for (Crowd.Client client : clients) {
        if (crowd.server.table.lifecycle().contains(client.serverSession())) {
          sendFragments(client, 1, 119, 120);
        }
      }
      crowd.run(500);
    }
  }

  /** No session could use its turn, and all ended as their clients gave up. */
  @Test
  void sessionThatHoldsMostEndsWhenTheReserveIsUsedUp() {
    Crowd.Client large = connectWithPart(2, 60);
    Crowd.Client small = connectWithPart(3, 30);
    others.charge((int) limit.limitBytes());
    sendRest(6, large, small);
    assertEquals(Map.of(large.address, EndReason.MEMORY_SHORTAGE), crowd.ends);
  }

  /** Networks that hold little are first, and took all turns for twenty seconds. */
  @Test
  void sessionsThatHoldNothingTakeNoTurnsWhileTheReserveIsUsedUp() {
    Crowd.Client large = connectWithPart(2, 60);
    Crowd.Client one = connect(3);
    Crowd.Client two = connect(4);
    charge(large, 100_000);
    others.charge((int) limit.limitBytes());
    sendRest(6, one, two, large);
    assertEquals(Map.of(large.address, EndReason.MEMORY_SHORTAGE), crowd.ends);
  }

  @Test
  void noSessionEndsWhenReadersCanMakeTheReserveFree() {
    Crowd.Client unread = connect(4);
    crowd.isRead = session -> session.conv() != unread.session.conv();
    for (int message = 1; message <= 4; message++) {
      for (int fragment = 0; fragment < 120; fragment++) {
        int sn = (message - 1) * 120 + fragment + 1;
        crowd.forge(4, 4, sn, 119 - fragment, FRAGMENT_BYTES);
      }
    }
    crowd.run(20);
    assertTrue(memory(unread).receiveBytes() > limit.reserveBytes());
    Crowd.Client large = connectWithPart(2, 60);
    Crowd.Client small = connectWithPart(3, 30);
    others.charge((int) limit.limitBytes());
    sendRest(6, large, small);
    assertEquals(Map.of(), crowd.ends);
  }

  /** What told it may be lost, and its own timeout is seconds away. */
  @Test
  void unresponsivePeerIsToldAFewTimesThatItsTurnHasBegun() {
    Crowd.Client client = connect(2);
    limit.reserve().acquire(this, 1, crowd.nowUs);
    fill();
    sendFragments(client, 1, 1, 20);
    crowd.run(20);
    crowd.disconnect(2, 2);
    Crowd.Client other = connect(3);
    long sentBytes = crowd.sentTo.get(client.address);
    limit.reserve().release(this);
    for (int i = 0; i < 50; i++) { // Datagrams of others, as there are while memory is short.
      sendFragments(other, 0, 0, 1);
      crowd.run(100);
    }
    long updates = (crowd.sentTo.get(client.address) - sentBytes) / Segment.HEADER_BYTES;
    assertTrue(updates >= 3 && updates <= 6, updates + " window updates");
  }

  /** It did not wait for the next turn: its message had arrived meanwhile. */
  @Test
  void sessionThatHasGoneOnTakesNoTurn() {
    Crowd.Client done = connect(2);
    Crowd.Client next = connect(3);
    limit.reserve().acquire(this, 1, crowd.nowUs);
    fill();
    sendFragments(done, 1, 1, 1);
    crowd.run(20);
    sendFragments(next, 1, 1, 20);
    crowd.run(20);
    others.release(4_000);
    sendFragments(done, 1, 1, 1);
    crowd.run(20);
    assertEquals(10 + FRAGMENT_BYTES, received(done));
    fill();
    limit.reserve().release(this);
    sendFragments(next, 1, 1, 20);
    crowd.run(20);
    assertTrue(hasReserve(next));
  }

  /** It was told nothing any more after a turn in which its peer was silent. */
  @Test
  void sessionWhosePeerWasLateIsToldWhenNobodyWaitsAnyMore() {
    Crowd.Client late = connect(2);
    Crowd.Client next = connect(3);
    limit.reserve().acquire(this, 1, crowd.nowUs);
    fill();
    sendFragments(late, 1, 1, 20);
    sendFragments(next, 1, 1, 20);
    crowd.run(20);
    crowd.disconnect(2, 2);
    limit.reserve().release(this);
    boolean hadTurn = false;
    while (!hadTurn || hasReserve(late)) {
      hadTurn |= hasReserve(late);
      sendFragments(next, 1, 1, 20);
      crowd.run(100);
    }
    long sentBytes = crowd.sentTo.get(late.address);
    sendFragments(next, 1, 20, 20);
    crowd.run(3_000);
    assertEquals(10 + 20 * FRAGMENT_BYTES, received(next));
    assertTrue(crowd.sentTo.get(late.address) > sentBytes);
  }

  /** All of its data may have arrived, with no memory to put it in order. */
  @Test
  void sessionThatLacksSomethingGetsAnotherTurnWhenNobodyElseWaits() {
    Crowd.Client next = connect(3);
    Crowd.Client holder = holder(2);
    sendFragments(next, 1, 1, 20);
    for (int i = 0; i < 40 && hasReserve(holder); i++) {
      sendFragments(next, 1, 1, 20);
      crowd.run(100);
    }
    assertFalse(hasReserve(holder));
    sendFragments(next, 1, 20, 20);
    crowd.run(20);
    assertEquals(10 + 20 * FRAGMENT_BYTES, received(next));
    crowd.run(2_000);
    assertTrue(hasReserve(holder));
  }
}
