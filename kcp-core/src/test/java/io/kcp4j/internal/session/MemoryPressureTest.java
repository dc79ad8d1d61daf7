package io.kcp4j.internal.session;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kcp4j.Delivery;
import io.kcp4j.EndReason;
import io.kcp4j.KcpConfig;
import io.kcp4j.KcpCounter;
import io.kcp4j.internal.admission.UnvalidatedSessions;
import io.kcp4j.internal.lanes.Lane;
import io.kcp4j.internal.memory.MemoryAccount;
import io.kcp4j.internal.memory.MemoryBudget;
import io.kcp4j.internal.memory.MemoryLimit;
import io.kcp4j.internal.memory.NetworkParts;
import io.kcp4j.internal.memory.ProcessMemory;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Consumer;
import org.junit.jupiter.api.Test;

/** Many sessions that need more memory than there is: protocol.md 8.12. */
class MemoryPressureTest {

  private static final int MIB = 1 << 20;

  private static KcpConfig config(Delivery delivery) {
    return config(delivery, 512);
  }

  private static KcpConfig config(Delivery delivery, int window) {
    return KcpConfig.builder().delivery(delivery).receiveWindow(window).sendWindow(512).build();
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
    assertEquals(
        bytes,
        crowd.receivedBytes(),
        "after " + crowd.nowUs / 1000 + " ms " + crowd.ends + crowd.context.total());
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
    assertTrue(crowd.server.table.size() <= MIB / 8 / UnvalidatedSessions.SESSION_BYTES);
    Crowd.Client honest = crowd.client(200_000).send(10);
    crowd.run(3_000);
    assertEquals(10, crowd.received.get(honest.address));
  }

  /** Nobody counted it, and the answers to a few datagrams took all memory of the process. */
  @Test
  void answersThatWaitToBeWrittenToForgedAddressesHoldASixteenth() {
    Crowd crowd = new Crowd(16 * MIB, config(Delivery.STREAM));
    crowd.onRead = session -> session.waitingToBeWritten(250_000);
    for (int host = 2; host < 402; host++) {
      crowd.forge(Crowd.address(host, 9), 0, 0, 10);
      crowd.run(10);
      int young = 21 * 250_000; // In the first 200 ms none gives way.
      assertTrue(waitingBytes(crowd) <= MIB + young, waitingBytes(crowd) + " at host " + host);
    }
    crowd.run(1_000);
    assertTrue(waitingBytes(crowd) <= MIB, "" + waitingBytes(crowd));
    assertTrue(crowd.count(KcpCounter.SESSIONS_EVICTED) > 300);
    Crowd.Client honest = crowd.client(200_000).ping();
    crowd.run(2_000);
    assertTrue(honest.receivedBytes > 90 * Crowd.Client.PING_BYTES, "" + honest.receivedBytes);
  }

  private static long waitingBytes(Crowd crowd) {
    return 250_000L * crowd.server.table.lifecycle().sessions(s -> !s.path().isValidated()).size();
  }

  /** It was asked for a proof when something had to be sent to it, and had to give way before. */
  @Test
  void clientWhoseAnswerTakesLongStaysDuringAFlood() {
    Crowd crowd = new Crowd(4 * MIB, config(Delivery.MESSAGE));
    for (int host = 2; host < 42; host++) {
      crowd.forge(Crowd.address(host, 9), 0, 0, 10);
    }
    crowd.run(300);
    Crowd.Client honest = crowd.client(200_000).send(10);
    for (int host = 100; host < 500; host++) {
      crowd.forge(Crowd.address(host, 9), 0, 0, 10);
      crowd.run(10);
    }
    honest.serverSession().kcp().send(Unpooled.buffer().writeZero(20));
    crowd.server.table.scheduleFlush(honest.serverSession());
    crowd.run(500);
    assertEquals(20, honest.receivedBytes);
  }

  /** Each attempt freed memory, which others had used up when it was repeated. */
  @Test
  void sessionBeginsThoughOthersUseUpAllThatIsFreed() {
    Crowd crowd = new Crowd(2 * MIB, config(Delivery.MESSAGE));
    for (int host = 2; host < 22; host++) {
      crowd.forge(Crowd.address(host, 9), 0, 100, 0);
    }
    crowd.run(300);
    Crowd.Client honest = crowd.client(200_000).send(10);
    for (int ms = 0; ms < 100; ms++) {
      for (int host = 2; host < 22; host++) {
        crowd.forge(Crowd.address(host, 9), 1 + ms, 99 - ms, 100);
      }
      crowd.run(1);
    }
    assertEquals(10, crowd.received.get(honest.address));
    assertTrue(crowd.mostBytes <= MIB / 8 + UnvalidatedSessions.SESSION_BYTES);
  }

  // Real addresses

  @Test
  void networkThatHoldsMoreThanItsPartLeavesMemoryToThoseThatWait() {
    Crowd crowd = new Crowd(8 * MIB, config(Delivery.MESSAGE));
    answerOnce(crowd);
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

  /** What they held moved to the common part without a check, and their share was free again. */
  @Test
  void sessionsThatHoldMemoryWhenTheyAreValidatedStayWithinTheLimit() {
    Crowd crowd = new Crowd(8 * MIB, config(Delivery.MESSAGE));
    answerOnce(crowd);
    for (int port = 1; port <= 400; port++) {
      crowd.client(2, port).send(10);
      crowd.run(11); // It has arrived, and the answer has not.
      for (int sn = 1; sn < 45; sn++) {
        crowd.forge(2, port, sn, 120 - sn, 1_300);
      }
      crowd.run(19);
    }
    assertTrue(crowd.mostBytes > 6 * MIB, "held " + crowd.mostBytes);
    assertTrue(crowd.mostBytes <= 8 * MIB, "held " + crowd.mostBytes);
    Crowd.Client honest = crowd.client(200_000).send(140_000);
    crowd.run(3_000);
    assertEquals(140_000, crowd.received.get(honest.address));
  }

  /** Whatever was new in a second counted as progress. */
  @Test
  void networkDoesNotKeepMemoryByAByteNowAndThen() {
    Crowd crowd = new Crowd(8 * MIB, config(Delivery.MESSAGE));
    answerOnce(crowd);
    for (int port = 1; port <= 60; port++) {
      hold(crowd, port);
    }
    crowd.run(500);
    NetworkParts parts = crowd.limit.networkParts();
    int network = crowd.server.accepted.get(0).kcp().memory().network();
    assertTrue(parts.isOver(network));
    long before = crowd.receivedBytes();
    for (int host = 3; host < 43; host++) {
      crowd.client(host).send(140_000);
    }
    for (int sn = 80; sn < 90; sn++) {
      for (int port = 1; port <= 60; port++) {
        crowd.forge(2, port, sn, 120 - sn, 1);
      }
      crowd.run(500);
    }
    assertEquals(before + 40 * 140_000, crowd.receivedBytes());
    assertTrue(crowd.ends.keySet().stream().allMatch(address -> address.getPort() <= 60));
  }

  /** Each event loop counted for itself, and only its own sessions waited. */
  @Test
  void networkLeavesMemoryToThoseThatWaitOnAnotherEventLoop() {
    MemoryLimit limit = MemoryLimit.shared(8 * MIB);
    Crowd greedy = new Crowd(limit, config(Delivery.MESSAGE));
    answerOnce(greedy);
    for (int port = 1; port <= 60; port++) {
      hold(greedy, port);
    }
    greedy.run(500);
    Crowd crowd = new Crowd(limit, config(Delivery.MESSAGE));
    crowd.run((int) ((greedy.nowUs - crowd.nowUs) / 1_000));
    for (int host = 3; host < 43; host++) {
      crowd.client(host).send(140_000);
    }
    for (int i = 0; i < 20 && crowd.receivedBytes() < 40 * 140_000; i++) {
      crowd.run(500);
      greedy.run(500);
    }
    assertEquals(40 * 140_000, crowd.receivedBytes());
    assertEquals(Map.of(), crowd.ends);
    assertTrue(greedy.ends.values().stream().allMatch(EndReason.MEMORY_SHORTAGE::equals));
  }

  /** The server sends each client a byte when it has read something, which validates the path. */
  private static void answerOnce(Crowd crowd) {
    Set<Session> answered = new HashSet<>();
    crowd.onRead =
        session -> {
          if (crowd.received.containsKey(session.remote()) && answered.add(session)) {
            session.kcp().send(Unpooled.buffer().writeByte(1));
          }
        };
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
    for (int i = 0; i < 240 && crowd.receivedBytes() < 24 * 500_000; i++) {
      crowd.run(500);
    }
    long arrived = crowd.received.values().stream().filter(bytes -> bytes == 500_000).count();
    assertTrue(arrived >= 1, "arrived " + arrived);
    assertTrue(crowd.ends.size() >= 3, "ended " + crowd.ends);
    assertTrue(crowd.ends.values().stream().allMatch(EndReason.MEMORY_SHORTAGE::equals));
    assertTrue(crowd.mostBytes <= MIB, "held " + crowd.mostBytes);
    assertEquals(crowd.ends.size(), crowd.count(KcpCounter.SESSIONS_SHORT_OF_MEMORY));
  }

  /** Otherwise a network would be limited for ever by a session that has gone. */
  @Test
  void networksAreNotLimitedByASessionThatHasGone() {
    Crowd crowd = new Crowd(MIB, config(Delivery.LANES));
    List<Crowd.Client> clients = new ArrayList<>();
    for (int host = 2; host < 12; host++) {
      clients.add(crowd.client(host).send(1, 500_000));
    }
    crowd.run(500);
    for (Crowd.Client client : clients) {
      crowd.server.table.remove(client.serverSession(), crowd.nowUs);
      client.serverSession().close();
    }
    MemoryAccount other = MemoryAccount.of(crowd.budget);
    other.network(clients.get(0).serverSession().kcp().memory().network() + 1);
    crowd.run(2_100);
    assertTrue(other.tryReserve(MIB / 8 + 1_000));
    other.release(MIB / 8 + 1_000);
    assertEquals(0, crowd.budget.usedBytes());
  }

  // Readers that pause

  private static final int FIRST_PAUSED = 1_000;

  /** Clients whose messages nobody reads take all memory but the reserve; they are validated. */
  private static Crowd crowdWithPausedReaders(Delivery delivery) {
    return crowdWithPausedReaders(2 * MIB, config(delivery), 14);
  }

  private static Crowd crowdWithPausedReaders(long limitBytes, KcpConfig config, int clients) {
    Crowd crowd = new Crowd(limitBytes, config);
    Set<Session> answered = new HashSet<>();
    crowd.onRead =
        session -> {
          if (session.kcp().hasReceived() && answered.add(session)) {
            session.kcp().send(Unpooled.buffer().writeByte(1));
          }
        };
    crowd.isRead = session -> host(session) < FIRST_PAUSED;
    for (int i = 0; i < clients; i++) {
      crowd.client(FIRST_PAUSED + i).send(100_000);
      crowd.run(250);
    }
    assertFalse(crowd.budget.hasRoomToReceive(1_400));
    assertTrue(crowd.budget.isReserveFree());
    assertEquals(Map.of(), crowd.ends);
    return crowd;
  }

  private static int host(Session session) {
    byte[] bytes = session.remote().getAddress().getAddress();
    return (bytes[1] & 0xff) << 16 | (bytes[2] & 0xff) << 8 | (bytes[3] & 0xff);
  }

  /** It was given the reserve, did not use it, and was ended for that. */
  @Test
  void downloadGoesOnWhileReadersOfOthersPause() {
    Crowd crowd = crowdWithPausedReaders(Delivery.STREAM);
    Consumer<Session> onRead = crowd.onRead;
    ByteBuf answer = Unpooled.buffer().writeZero(400_000);
    crowd.onRead =
        session -> {
          onRead.accept(session);
          if (host(session) == 2) {
            session.kcp().send(answer);
          }
        };
    Crowd.Client client = crowd.client(2).send(10);
    for (int i = 0; i < 60 && client.receivedBytes < 400_001; i++) {
      crowd.run(500);
    }
    assertEquals(Map.of(), crowd.ends);
    assertEquals(400_001, client.receivedBytes);
  }

  @Test
  void slowUploadGoesOnWhileReadersOfOthersPause() {
    Crowd crowd = crowdWithPausedReaders(Delivery.MESSAGE);
    crowd.client(2, 2).send(10);
    crowd.run(100);
    for (int frg = 120; frg >= 0; frg--) { // 6.5 kB a second
      crowd.forge(2, 2, 121 - frg, frg, 1_300); // One is refused: then it may use the reserve.
      crowd.run(100);
      crowd.forge(2, 2, 121 - frg, frg, 1_300);
      crowd.run(100);
    }
    assertEquals(Map.of(), crowd.ends);
    assertEquals(10 + 121 * 1_300, crowd.received.get(Crowd.address(2, 2)));
  }

  /** It kept the reserve, and one after the other of those that waited was ended for that. */
  @Test
  void silentSessionWithTheReserveEndsBeforeThoseThatWait() {
    Crowd crowd = crowdWithPausedReaders(16 * MIB, config(Delivery.MESSAGE, 2_048), 135);
    crowd.client(2, 2).send(10);
    crowd.run(100);
    for (int sn = 2; sn < 2_048; sn++) { // Without the next one in order.
      crowd.forge(2, 2, sn, 0, 1_400);
      if (sn < 10) {
        crowd.run(1);
      }
    }
    crowd.run(50);
    assertFalse(crowd.budget.isReserveFree());
    for (int host = 3; host < 8; host++) {
      crowd.client(host).send(100_000);
    }
    long before = crowd.receivedBytes();
    for (int i = 0; i < 120 && crowd.receivedBytes() < before + 5 * 100_000; i++) {
      crowd.run(500);
    }
    assertEquals(before + 5 * 100_000, crowd.receivedBytes());
    crowd.ends.remove(Crowd.address(2, 2));
    assertEquals(Map.of(), crowd.ends);
  }

  /** A peer that acknowledges late makes the timeout long: others had to wait for two of them. */
  @Test
  void longRoundTripDoesNotKeepTheReserve() {
    Crowd crowd = crowdWithPausedReaders(Delivery.MESSAGE);
    crowd.serverConfig = config(Delivery.MESSAGE).toBuilder().intervalMs(5_000).build();
    crowd.client(2, 2).send(10);
    crowd.run(100);
    crowd.serverConfig = crowd.config;
    Crowd.Client waiting = crowd.client(3).send(10);
    crowd.run(100);
    for (int sn = 1; sn <= 120; sn++) {
      crowd.forge(2, 2, 1, 120, 1_300); // Refused: then it may use the reserve.
      crowd.forge(2, 2, sn, 121 - sn, 1_300);
      crowd.run(1);
    }
    assertFalse(crowd.budget.isReserveFree());
    waiting.send(100_000);
    for (int i = 0; i < 20 && crowd.received.get(waiting.address) < 100_010; i++) {
      crowd.forge(2, 2, 1, 120, 1_300); // Its datagrams arrive.
      crowd.run(500);
    }
    assertEquals(Map.of(Crowd.address(2, 2), EndReason.MEMORY_SHORTAGE), crowd.ends);
    assertEquals(100_010, crowd.received.get(waiting.address));
  }

  /** Only those that waited at the same socket counted, so the turn did not end. */
  @Test
  void sessionOfAnotherSocketGetsTheReserve() {
    MemoryLimit limit = MemoryLimit.shared(2 * MIB);
    Crowd crowd = new Crowd(limit, config(Delivery.MESSAGE));
    answerOnce(crowd);
    crowd.client(2, 2).send(10);
    crowd.run(100);
    Crowd other = new Crowd(limit, config(Delivery.MESSAGE));
    Crowd.Client waiting = other.client(3).send(10);
    other.run(100);
    MemoryAccount unread = MemoryAccount.of(crowd.budget);
    for (int most = 2 * MIB; most > 0; ) {
      most = unread.tryReserve(most) ? most : most / 2;
    }
    for (int sn = 1; sn <= 80; sn++) {
      crowd.forge(2, 2, sn, 121 - sn, 1_300); // One is refused: then it may use the reserve.
      crowd.forge(2, 2, sn, 121 - sn, 1_300);
      crowd.run(1);
    }
    assertFalse(crowd.budget.isReserveFree());
    waiting.send(80_000);
    for (int i = 0; i < 20 && other.received.get(waiting.address) < 80_010; i++) {
      crowd.forge(2, 2, 81 + i, 40 - i, 1);
      crowd.run(500);
      other.run(500);
    }
    assertEquals(80_010, other.received.get(waiting.address));
    unread.release(unread.receiveBytes());
  }

  /** They were late for as long as each part grew by a byte now and then. */
  @Test
  void smallMessagesAreSoonInTimeBesidePartsOfLargeOnesOfOneNetwork() {
    Crowd crowd = new Crowd(16 * MIB, config(Delivery.MESSAGE));
    answerOnce(crowd);
    Crowd.Client honest = crowd.client(3).ping();
    for (int port = 1; port <= 200; port++) {
      hold(crowd, port);
    }
    for (int i = 0; i < 30; i++) {
      if (i == 15) {
        honest.delaysUs.clear();
      }
      for (int port = 1; port <= 200; port++) {
        crowd.forge(2, port, 80 + i, 40 - i, 10);
      }
      crowd.run(200);
    }
    assertTrue(honest.delaysUs.size() > 140, "" + honest.delaysUs.size());
    assertTrue(honest.delaysUs.stream().allMatch(us -> us <= 40_000), "" + honest.delaysUs);
  }

  /** It kept the reserve for ever. */
  @Test
  void partOfAMessageDoesNotKeepTheReserveBySmallMessagesOnAnotherLane() {
    Crowd crowd = new Crowd(4 * MIB, config(Delivery.LANES));
    Crowd.Client holder = crowd.client(2, 2).ping(); // Echoes validate the paths.
    Crowd.Client waiting = crowd.client(3).ping();
    crowd.run(300);
    holder.stopPings();
    crowd.run(300);
    crowd.disconnect(2, 2);
    MemoryAccount others = MemoryAccount.of(crowd.budget);
    int most = 4 * MIB;
    while (most > 0) {
      most = others.tryReserve(most) ? most : most / 2;
    }
    int sn = holder.session.kcp().sendNext();
    for (int i = 0; i < 470; i++) { // Of a message of 524,000 bytes
      ByteBuf part = Unpooled.buffer().writeBytes(new byte[] {0x11, 1, 0, 0});
      part.writeMediumLE(0x1ffde0).writeMediumLE(varint(i * 1_100)).writeZero(1_100);
      crowd.forge(2, 2, sn, part.copy()); // The first is refused: then it may use the reserve.
      for (int ms = 0; ms < 100 && !holder.serverSession().kcp().memory().hasReserve(); ms++) {
        crowd.run(1);
        crowd.forge(2, 2, sn, part.copy());
      }
      crowd.run(1);
      sn++;
    }
    assertTrue(holder.serverSession().kcp().memory().hasReserve());
    assertTrue(holder.serverSession().kcp().memory().receiveBytes() > 470 * 1_100);
    waiting.send(1, 200_000);
    for (int i = 0; i < 30 * 80 && crowd.ends.isEmpty(); i++) {
      ByteBuf message = Unpooled.buffer().writeBytes(new byte[] {1, 2}).writeShortLE(i);
      crowd.forge(2, 2, sn++, message.writeZero(1_000));
      crowd.run(12);
    }
    assertEquals(Map.of(Crowd.address(2, 2), EndReason.MEMORY_SHORTAGE), crowd.ends);
    crowd.run(2_000);
    assertTrue(crowd.received.get(waiting.address) >= 200_000);
    others.release(others.receiveBytes());
  }

  /** The three bytes of a variable-length integer. */
  private static int varint(int value) {
    return (value & 0x7f) | 0x80 | (value << 1 & 0x7f00) | 0x8000 | (value << 2 & 0x7f0000);
  }

  /** Its peer had answered by duplicates only, and then went on. */
  @Test
  void sessionThatHasStalledAndGoesOnMayPause() {
    Crowd crowd = crowdWithPausedReaders(Delivery.MESSAGE);
    crowd.client(2, 2).send(10);
    Crowd.Client second = crowd.client(3).send(10);
    Crowd.Client third = crowd.client(4).send(10);
    crowd.run(100);
    forgeFragments(crowd, 1, 10); // One is refused: then it may use the reserve.
    forgeFragments(crowd, 1, 10);
    second.send(50_000).flush();
    crowd.run(500);
    forgeFragments(crowd, 1, 1);
    runUntilReceived(crowd, crowd.receivedBytes() + 50_000); // It has stalled.
    forgeFragments(crowd, 11, 13);
    forgeFragments(crowd, 13, 51); // The last one needs a larger buffer.
    assertFalse(crowd.budget.isReserveFree());
    third.send(50_000).flush();
    runUntilReceived(crowd, crowd.receivedBytes() + 50_000); // It has paused.
    forgeFragments(crowd, 52, 101);
    forgeFragments(crowd, 101, 120);
    assertEquals(Map.of(), crowd.ends);
    assertEquals(10 + 120 * 1_300, crowd.received.get(Crowd.address(2, 2)));
  }

  /** Segments of the message that begins with sequence number 1 and has 120 fragments. */
  private static void forgeFragments(Crowd crowd, int first, int last) {
    for (int sn = first; sn <= last; sn++) {
      crowd.forge(2, 2, sn, 120 - sn, 1_300);
      crowd.run(2);
    }
    crowd.run(100);
  }

  /** One message of each was accepted beyond every limit. */
  @Test
  void messagesToClientsThatDoNotTakeThemWaitForEachOther() {
    Crowd crowd = new Crowd(8 * MIB, config(Delivery.MESSAGE));
    Map<Session, Long> answered = new HashMap<>();
    crowd.onRead =
        session -> {
          Long bytes = crowd.received.get(session.remote());
          if (bytes != null && !bytes.equals(answered.put(session, bytes))) {
            int answerBytes = bytes > 10 ? 140_000 : 1;
            session.kcp().send(Unpooled.buffer().writeZero(answerBytes));
          }
        };
    for (int host = 2; host < 102; host++) {
      crowd.client(host, 7).send(10);
      crowd.run(200);
      crowd.disconnect(host, 7);
      crowd.forge(host, 7, 1, 0, 10);
      crowd.run(1);
    }
    assertTrue(crowd.budget.sendBytes() > 3 * MIB, "sends " + crowd.budget.sendBytes());
    assertTrue(crowd.mostBytes <= 8 * MIB, "held " + crowd.mostBytes);
  }

  /** Their end makes no memory free. */
  @Test
  void idleSessionsOfNetworkThatHoldsMoreThanItsPartStay() {
    Crowd crowd = new Crowd(2 * MIB, config(Delivery.MESSAGE));
    crowd.isRead = session -> session.remote().getPort() < FIRST_PAUSED || host(session) > 2;
    Set<Session> answered = new HashSet<>();
    crowd.onRead =
        session -> {
          if (session.kcp().hasReceived() && answered.add(session)) {
            session.kcp().send(Unpooled.buffer().writeByte(1));
          }
        };
    for (int port = 10; port < 30; port++) {
      crowd.client(2, port).send(10);
    }
    crowd.run(500);
    for (int i = 0; i < 14; i++) {
      crowd.client(2, FIRST_PAUSED + i).send(100_000);
      crowd.run(300);
    }
    for (int host = 3; host < 23; host++) {
      crowd.client(host).send(100_000);
    }
    runUntilReceived(crowd, 20 * 10 + 20 * 100_000);
    crowd.run(3_000);
    assertEquals(Map.of(), crowd.ends);
  }

  @Test
  void lanesOfClosedSessionReleaseNothing() {
    Crowd crowd = new Crowd(8 * MIB, config(Delivery.LANES));
    crowd.onRead = session -> session.lanes().attachmentBytes(4096);
    Crowd.Client client = crowd.client(2).send(1, 10);
    crowd.run(100);
    client.send(2, 10);
    client.session.lanes().lane(2).shutdownOutput();
    client.flush();
    crowd.run(100);
    Session session = crowd.server.accepted.get(0);
    Lane lane = session.lanes().lane(2);
    crowd.server.table.remove(session, crowd.nowUs);
    session.close();
    assertEquals(0, crowd.budget.usedBytes());
    lane.discardInput();
    assertEquals(0, crowd.budget.usedBytes());
  }

  /** The limit of the server has room, so they were told to send again and again. */
  @Test
  void messagesArriveOneAfterAnotherWhileTheProcessIsShortOfMemory() {
    ProcessMemory process = new ProcessMemory(8 * MIB);
    MemoryAccount other = MemoryAccount.of(new MemoryBudget(MemoryLimit.shared(8 * MIB, process)));
    Crowd crowd = new Crowd(MemoryLimit.shared(8 * MIB, process), config(Delivery.MESSAGE));
    other.charge(4 * MIB);
    for (int host = 2; host < 32; host++) {
      crowd.client(host).send(140_000);
    }
    crowd.run(50);
    other.charge((int) (4 * MIB - crowd.budget.usedBytes()));
    runUntilReceived(crowd, 30 * 140_000);
    assertEquals(Map.of(), crowd.ends);
    assertTrue(crowd.mostBytes <= 4 * MIB + crowd.limit.reserveBytes(), "" + crowd.mostBytes);
  }

  /** As when buffers that are held keep many chunks of the allocator. */
  @Test
  void messagesArriveOneAfterAnotherWhileNothingElseCanBeAllocated() {
    ProcessMemory process = new ProcessMemory(64 * MIB, () -> 0);
    Crowd crowd = new Crowd(MemoryLimit.shared(8 * MIB, process), config(Delivery.MESSAGE));
    for (int host = 2; host < 12; host++) {
      crowd.client(host).send(140_000);
    }
    runUntilReceived(crowd, 10 * 140_000);
    assertEquals(Map.of(), crowd.ends);
    assertTrue(crowd.mostBytes <= crowd.limit.reserveBytes() + MIB, "" + crowd.mostBytes);
  }
}
