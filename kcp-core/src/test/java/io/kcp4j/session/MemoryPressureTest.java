package io.kcp4j.session;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kcp4j.Delivery;
import io.kcp4j.EndReason;
import io.kcp4j.KcpConfig;
import io.kcp4j.KcpCounter;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;

/** Many sessions that need more memory than there is: protocol.md 8.12. */
class MemoryPressureTest {

  private static final int MIB = 1 << 20;

  private static KcpConfig config(Delivery delivery) {
    return KcpConfig.builder().delivery(delivery).receiveWindow(512).sendWindow(512).build();
  }

  // Honest clients

  /** None ever arrived: each waited for memory that parts of the others' messages held. */
  @Test
  void largeMessagesOfManyClientsArriveOneAfterAnother() {
    Crowd crowd = new Crowd(8 * MIB, config(Delivery.LANES));
    for (int host = 2; host < 34; host++) {
      crowd.client(host).send(1, 500_000);
    }
    runUntilReceived(crowd, 32 * 500_000);
    assertEquals(Map.of(), crowd.ends);
    assertTrue(crowd.mostBytes <= 8 * MIB, "held " + crowd.mostBytes);
  }

  @Test
  void messagesOfSeveralLanesOfManyClientsArrive() {
    Crowd crowd = new Crowd(4 * MIB, config(Delivery.LANES));
    for (int host = 2; host < 62; host++) {
      crowd.client(host).send(1, 160_000).send(2, 160_000);
    }
    runUntilReceived(crowd, 60 * 2 * 160_000);
    assertEquals(Map.of(), crowd.ends);
    assertTrue(crowd.mostBytes <= 4 * MIB, "held " + crowd.mostBytes);
  }

  @Test
  void messagesOfManyFragmentsArrive() {
    Crowd crowd = new Crowd(2 * MIB, config(Delivery.MESSAGE));
    for (int host = 2; host < 62; host++) {
      crowd.client(host).send(140_000);
    }
    runUntilReceived(crowd, 60 * 140_000);
    assertEquals(Map.of(), crowd.ends);
  }

  @Test
  void clientsBehindOneAddressArrive() {
    Crowd crowd = new Crowd(2 * MIB, config(Delivery.MESSAGE));
    for (int port = 1; port <= 60; port++) {
      crowd.client(2, port).send(140_000);
    }
    runUntilReceived(crowd, 60 * 140_000);
    assertEquals(Map.of(), crowd.ends);
  }

  private static void runUntilReceived(Crowd crowd, long bytes) {
    for (int i = 0; i < 240 && crowd.receivedBytes() < bytes; i++) {
      crowd.run(500);
    }
    assertEquals(bytes, crowd.receivedBytes(), "after " + crowd.nowUs / 1000 + " ms");
  }

  // Forged addresses

  @Test
  void partsOfMessagesOfForgedAddressesHoldASixteenth() {
    Crowd crowd = new Crowd(8 * MIB, config(Delivery.MESSAGE));
    for (int round = 0; round < 20; round++) {
      for (int host = 2; host < 102; host++) {
        for (int sn = 0; sn < 40; sn++) {
          crowd.forge(Crowd.address(1_000 * round + host, 9), sn, 126 - sn, 1_300);
        }
      }
      crowd.run(50);
    }
    assertTrue(crowd.mostBytes <= MIB / 2, "held " + crowd.mostBytes);
    assertTrue(crowd.count(KcpCounter.SESSIONS_EVICTED) > 0);
    assertHonestUploadTakesNoLonger(crowd);
  }

  private static void assertHonestUploadTakesNoLonger(Crowd crowd) {
    long begunUs = crowd.nowUs;
    crowd.client(200_000).send(140_000);
    long before = crowd.receivedBytes();
    for (int i = 0; i < 200 && crowd.receivedBytes() < before + 140_000; i++) {
      crowd.run(10);
    }
    assertEquals(before + 140_000, crowd.receivedBytes());
    assertTrue(crowd.nowUs - begunUs < 500_000, "took " + (crowd.nowUs - begunUs));
  }

  @Test
  void answersToForgedAddressesLeaveTheShareOfSendingToOthers() {
    Crowd crowd = new Crowd(8 * MIB, config(Delivery.STREAM));
    Map<Session, ByteBuf> answers = new HashMap<>();
    crowd.onRead =
        session ->
            session
                .kcp()
                .send(answers.computeIfAbsent(session, s -> Unpooled.buffer().writeZero(2 * MIB)));
    for (int host = 2; host < 112; host++) {
      crowd.forge(Crowd.address(host, 9), 0, 0, 10);
    }
    crowd.run(1_000);
    assertEquals(0, crowd.budget.sendBytes());
    assertTrue(crowd.mostBytes <= MIB / 2, "held " + crowd.mostBytes);
    Crowd.Client honest = crowd.client(200_000).send(10);
    for (int i = 0; i < 100 && honest.receivedBytes < 2 * MIB; i++) {
      crowd.run(50);
    }
    assertEquals(2 * MIB, honest.receivedBytes);
    for (int host = 2; host < 112; host++) {
      long bytes = crowd.sentTo.getOrDefault(Crowd.address(host, 9), 0L);
      assertTrue(bytes <= 3 * 34 + 8 * 64 + 40 * 24, "sent " + bytes);
    }
  }

  @Test
  void sessionsOfForgedAddressesGiveWayToNewOnes() {
    Crowd crowd = new Crowd(2 * MIB, config(Delivery.STREAM));
    for (int host = 2; host < 2_002; host++) {
      crowd.forge(Crowd.address(host, 9), 0, 0, 0);
      crowd.forge(Crowd.address(host, 9), 0, 0, 0);
      if (host % 40 == 0) {
        crowd.run(100);
      }
    }
    assertTrue(crowd.mostBytes <= MIB / 8, "held " + crowd.mostBytes);
    assertTrue(crowd.server.table.size() <= MIB / 8 / MemoryPressure.SESSION_BYTES);
    Crowd.Client honest = crowd.client(200_000).send(10);
    crowd.run(3_000);
    assertEquals(10, crowd.received.get(honest.address));
  }

  // Real addresses

  @Test
  void networkThatHoldsMoreThanItsPartLeavesMemoryToThoseThatWait() {
    Crowd crowd = new Crowd(8 * MIB, config(Delivery.MESSAGE));
    Set<Session> answered = new HashSet<>();
    crowd.onRead =
        session -> {
          if (crowd.received.containsKey(session.remote()) && answered.add(session)) {
            session.kcp().send(Unpooled.buffer().writeByte(1));
          }
        };
    for (int port = 1; port <= 60; port++) {
      hold(crowd, port);
    }
    crowd.run(500);
    assertTrue(crowd.budget.usedBytes() > 4 * MIB, "held " + crowd.budget.usedBytes());
    assertEquals(0, crowd.budget.unvalidatedBytes(), "they are validated");
    long before = crowd.receivedBytes();
    for (int host = 3; host < 43; host++) {
      crowd.client(host).send(140_000);
    }
    runUntilReceived(crowd, before + 40 * 140_000);
    for (int host = 3; host < 43; host++) {
      assertFalse(crowd.ends.containsKey(Crowd.address(host, 40_000)));
    }
  }

  /** A client that is validated and then leaves a message incomplete. */
  private static void hold(Crowd crowd, int port) {
    crowd.client(2, port).send(10);
    crowd.run(100);
    for (int sn = 1; sn < 80; sn++) {
      crowd.forge(2, port, sn, 120 - sn, 1_300);
    }
  }

  @Test
  void sessionThatCannotGoOnEndsByName() {
    Crowd crowd = new Crowd(MIB, config(Delivery.LANES));
    for (int host = 2; host < 6; host++) { // None of them fits into the reserve.
      for (int lane = 0; lane < 6; lane++) {
        crowd.client(host, 100 + lane).send(lane, 500_000);
      }
    }
    for (int i = 0; i < 120 && crowd.receivedBytes() < 24 * 500_000; i++) {
      crowd.run(500);
    }
    long arrived = crowd.received.values().stream().filter(bytes -> bytes == 500_000).count();
    assertTrue(arrived >= 3, "arrived " + arrived);
    assertTrue(crowd.ends.size() >= 3, "ended " + crowd.ends);
    assertTrue(crowd.ends.values().stream().allMatch(EndReason.MEMORY_SHORTAGE::equals));
    assertTrue(crowd.mostBytes <= MIB, "held " + crowd.mostBytes);
    assertEquals(crowd.ends.size(), crowd.count(KcpCounter.SESSIONS_SHORT_OF_MEMORY));
  }
}
