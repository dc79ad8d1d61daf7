package io.kcp4j.internal.session;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kcp4j.Delivery;
import io.kcp4j.KcpConfig;
import io.kcp4j.KcpCounter;
import io.kcp4j.internal.admission.Incoming;
import io.kcp4j.internal.memory.MemoryLimit;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Forged addresses at one of several sockets that share a memory limit: protocol.md 8.12. */
class SeveralSocketsTest {

  private static final int MIB = 1 << 20;
  private static final int MAX_SESSIONS = 80;
  private static final KcpConfig CONFIG = KcpConfig.builder().delivery(Delivery.STREAM).build();

  private final MemoryLimit limit = MemoryLimit.shared(16 * MIB);
  private final List<Crowd> sockets = new ArrayList<>();
  private long mostUnvalidatedBytes;

  private void open(int number) {
    for (int i = 0; i < number; i++) {
      sockets.add(new Crowd(limit, CONFIG));
    }
  }

  private void open(int number, SessionDirectory directory) {
    for (int i = 0; i < number; i++) {
      sockets.add(new Crowd(limit, CONFIG, directory));
    }
  }

  private void run(int ms) {
    for (int i = 0; i < ms; i++) {
      sockets.forEach(socket -> socket.run(1));
      long bytes = sockets.stream().mapToLong(socket -> socket.budget.unvalidatedBytes()).sum();
      mostUnvalidatedBytes = Math.max(mostUnvalidatedBytes, bytes);
    }
  }

  /** First datagrams of a socket at addresses that never answer, 100 in a second. */
  private void forge(Crowd socket, int first, int number) {
    for (int host = first; host < first + number; host++) {
      socket.forge(Crowd.address(host, 9), 0, 0, 4);
      run(10);
    }
  }

  /** Clients of all other sockets were refused: their tables had no session to evict. */
  @Test
  void forgedSessionsOfOneSocketKeepNoClientOfAnotherOut() {
    open(4);
    forge(sockets.get(0), 2, 400);
    for (int round = 0; round < 5; round++) {
      int first = 100_000 + 10 * round;
      for (int host = first; host < first + 10; host++) {
        for (Crowd socket : sockets) {
          socket.client(host).send(10);
        }
      }
      forge(sockets.get(0), 1_000 + 50 * round, 50);
      for (int host = first; host < first + 10; host++) {
        for (Crowd socket : sockets) {
          assertEquals(10, socket.received.get(Crowd.address(host, 40_000)));
        }
      }
    }
    assertEquals(0, sockets.get(0).count(KcpCounter.ACCEPT_REFUSED));
    assertTrue(mostUnvalidatedBytes <= MIB + 4 * 9_000, "held " + mostUnvalidatedBytes);
  }

  /** They were refused as long as the forged sessions lasted. */
  @Test
  void forgedSessionsOfOneSocketGiveWayToClientsOfAnotherWhenThereAreTooMany() {
    SessionDirectory directory = SessionDirectory.ofSeveral(MAX_SESSIONS);
    open(4, directory);
    forge(sockets.get(0), 2, 200);
    assertFalse(directory.hasRoom());
    assertClientsGetIn(100_000);
    forge(sockets.get(0), 1_000, 200);
    assertEquals(MAX_SESSIONS, tableSizes());
    assertClientsGetIn(200_000);
  }

  private int tableSizes() {
    return sockets.stream().mapToInt(socket -> socket.server.table.size()).sum();
  }

  /** Five new clients of each socket, while those of the first have nothing to do. */
  private void assertClientsGetIn(int firstHost) {
    List<Crowd.Client> clients = new ArrayList<>();
    for (int i = 0; i < 20; i++) {
      clients.add(sockets.get(i % 4).client(firstHost + i).send(10));
    }
    run(2_000);
    for (int i = 0; i < 20; i++) {
      assertEquals(10, sockets.get(i % 4).received.get(clients.get(i).address), "client " + i);
    }
    assertTrue(tableSizes() <= MAX_SESSIONS);
  }

  @Test
  void sessionsStayWhenNoOtherSocketHasRefusedAny() {
    open(4, SessionDirectory.ofSeveral(MAX_SESSIONS));
    forge(sockets.get(0), 2, MAX_SESSIONS);
    run(3_000);
    assertEquals(MAX_SESSIONS, tableSizes());
    assertEquals(0, sockets.get(0).count(KcpCounter.SESSIONS_EVICTED));
  }

  /** There was no room for them. */
  @Test
  void packetsOfPeersThatAnotherSocketHasNotAcceptedYetAreKept() {
    open(2);
    forge(sockets.get(0), 2, 400);
    Crowd other = sockets.get(1);
    other.server.defersAccept = true;
    List<Incoming> waiting = other.server.deferred;
    Crowd.Client client = other.client(100_000).send(10);
    run(100);
    assertEquals(1, waiting.size());
    assertFalse(waiting.get(0).packets().isEmpty());
    client.send(10);
    run(100);
    assertTrue(waiting.get(0).packets().size() >= 2);
  }

  /** Each socket took all that was left for its own. */
  @Test
  void answersThatWaitToBeWrittenByAllSocketsHoldASixteenth() {
    open(4);
    for (Crowd socket : sockets) {
      socket.onRead = session -> session.waitingToBeWritten(50_000);
    }
    for (int host = 2; host < 50; host++) {
      for (Crowd socket : sockets) {
        socket.forge(Crowd.address(host, 9), 0, 0, 10);
      }
      run(10);
    }
    run(1_000);
    long all = 0;
    for (Crowd socket : sockets) {
      int sessions = socket.server.table.lifecycle().sessions(s -> !s.path().isValidated()).size();
      assertTrue(sessions > 0);
      all += sessions;
    }
    assertTrue(all * 50_000 <= MIB, all + " sessions");
  }
}
