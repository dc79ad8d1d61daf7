package io.kcp4j.internal.session;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kcp4j.EndReason;
import io.kcp4j.internal.memory.MemoryAccount;
import io.netty.buffer.Unpooled;
import java.net.InetSocketAddress;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** The share of memory of sessions whose paths are not validated: protocol.md 8.12. */
class UnvalidatedMemoryTest extends MemoryTurns {

  private static InetSocketAddress forged(int host) {
    return Crowd.address(host, 9);
  }

  /** Fragments of a message of a peer that receives nothing, in one batch. */
  private void forgeFragments(int host, int first, int last, int ofMessage) {
    for (int sn = first; sn <= last; sn++) {
      crowd.forge(forged(host), sn, ofMessage - 1 - sn, FRAGMENT_BYTES);
    }
  }

  private Session session(int host) {
    return crowd.server.accepted.stream()
        .filter(session -> session.remote().equals(forged(host)))
        .findFirst()
        .orElse(null);
  }

  private long sentTo(int host) {
    return crowd.sentTo.getOrDefault(forged(host), 0L);
  }

  @Test
  void oldestSessionGivesWayToOneThatIsRefusedMemory() {
    forgeFragments(2, 0, 39, 100);
    crowd.run(1);
    forgeFragments(5, 0, 24, 100);
    crowd.run(300);
    forgeFragments(3, 0, 39, 40);
    crowd.run(1);
    assertEquals(Map.of(forged(2), EndReason.EVICTED), crowd.ends);
    forgeFragments(3, 0, 39, 40);
    crowd.run(20);
    assertEquals(40 * FRAGMENT_BYTES, crowd.received.get(forged(3)));
  }

  /** Otherwise nobody would give way for as long as others write. */
  @Test
  void oldestSessionGivesWayThoughSomethingIsWrittenInTheSameBatch() {
    forgeFragments(2, 0, 39, 100);
    crowd.run(1);
    forgeFragments(5, 0, 24, 100);
    crowd.forge(forged(4), 0, 0, 10);
    crowd.run(300);
    Session writer = session(4);
    int[] waitingBytes = {0};
    crowd.onRead =
        session -> {
          if (session == writer) {
            session.waitingToBeWritten(++waitingBytes[0]);
          }
        };
    forgeFragments(3, 0, 39, 40);
    crowd.forge(forged(4), 1, 0, 10);
    crowd.run(1);
    assertEquals(1, waitingBytes[0]);
    assertEquals(Map.of(forged(2), EndReason.EVICTED), crowd.ends);
  }

  @Test
  void sessionGivesWayThatHasMuchToWriteAndNotAnOlderOne() {
    crowd.onRead = session -> session.waitingToBeWritten(session == session(3) ? 250_000 : 0);
    crowd.forge(forged(2), 0, 0, 10);
    crowd.forge(forged(3), 0, 0, 10);
    crowd.run(1_000);
    assertEquals(Map.of(forged(3), EndReason.EVICTED), crowd.ends);
  }

  @Test
  void sessionOfTheFirst200MsDoesNotGiveWay() {
    forgeFragments(2, 0, 39, 100);
    forgeFragments(5, 0, 24, 100);
    crowd.run(190);
    forgeFragments(3, 0, 39, 40);
    crowd.run(5);
    assertEquals(Map.of(), crowd.ends);
    assertNull(crowd.received.get(forged(3)));
    crowd.run(10);
    forgeFragments(3, 0, 39, 40);
    crowd.run(20);
    assertEquals(Map.of(forged(2), EndReason.EVICTED), crowd.ends);
  }

  @Test
  void sessionsAreChallengedWhileLessThanHalfOfTheShareIsLeft() {
    crowd.forge(forged(2), 0, 0, 10);
    crowd.run(2_000);
    long acknowledgedBytes = sentTo(2);
    crowd.forge(forged(2), 1, 0, 10);
    crowd.run(2_000);
    assertEquals(2 * acknowledgedBytes, sentTo(2), "an ACK and nothing else");
    forgeFragments(3, 0, 36, 100);
    crowd.run(1);
    crowd.forge(forged(2), 2, 0, 10);
    crowd.run(2_000);
    assertTrue(sentTo(2) > 3 * acknowledgedBytes, "sent " + sentTo(2));
  }

  /** A client that holds a part of a message when it is validated, and there is no room for it. */
  private Crowd.Client validatedWithoutRoom(MemoryAccount others) {
    Crowd.Client client = crowd.client(2, 2).send(10);
    crowd.onRead = session -> session.kcp().send(Unpooled.buffer().writeByte(1));
    crowd.run(11);
    crowd.onRead = session -> {};
    for (int sn = 1; sn <= 40; sn++) {
      crowd.forge(2, 2, sn, 60 - sn, FRAGMENT_BYTES);
    }
    crowd.run(1);
    others.charge((int) (limit.limitBytes() - limit.limitBytes() / 16) - 20_000);
    crowd.run(100);
    assertTrue(client.serverSession().path().isValidated());
    assertTrue(crowd.budget.unvalidatedBytes() > 40 * FRAGMENT_BYTES);
    return client;
  }

  @Test
  void validatedSessionLeavesTheShareAsSoonAsTheRestHasRoom() {
    MemoryAccount others = MemoryAccount.of(crowd.budget);
    Crowd.Client client = validatedWithoutRoom(others);
    limit.reserve().acquire(this, 1, crowd.nowUs);
    others.release(100_000);
    crowd.forge(2, 2, 1, 59, FRAGMENT_BYTES); // Whatever it receives
    crowd.run(1);
    assertEquals(0, crowd.budget.unvalidatedBytes());
    assertFalse(client.serverSession().kcp().memory().isUnvalidated());
  }

  @Test
  void validatedSessionLeavesTheShareWhenItMayUseTheReserve() {
    MemoryAccount others = MemoryAccount.of(crowd.budget);
    Crowd.Client client = validatedWithoutRoom(others);
    MemoryAccount forged = MemoryAccount.of(crowd.budget);
    forged.unvalidated();
    while (forged.tryReserve(100)) {}
    for (int sn = 41; sn <= 55; sn++) {
      crowd.forge(2, 2, sn, 60 - sn, FRAGMENT_BYTES);
    }
    crowd.run(20);
    assertTrue(client.serverSession().kcp().memory().hasReserve());
    assertEquals(forged.heldBytes(), crowd.budget.unvalidatedBytes());
  }
}
