package io.kcp4j.internal.session;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.kcp4j.CongestionControl;
import io.kcp4j.KcpConfig;
import io.kcp4j.KcpCounter;
import io.kcp4j.crypto.KeyRing;
import io.kcp4j.fec.FecConfig;
import io.netty.buffer.ByteBuf;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Replayed packets do not stop the recovery of lost ones: protocol.md 11.8. */
class FecReplayTest {

  private static final int DATA = 10;

  private final Host client = new Host(1, KeyRing.NONE);
  private final Host server = new Host(2, KeyRing.NONE);

  @AfterEach
  void nothingIsLeft() {
    client.close();
    server.close();
  }

  private Session open(int dataShards, int parityShards) {
    client.fec = FecConfig.of(dataShards, parityShards);
    client.config =
        KcpConfig.builder()
            .congestionControl(CongestionControl.NONE)
            .sendWindow(1_000)
            .maxBurst(0)
            .build();
    return client.open(server.address, 7);
  }

  private List<ByteBuf> group(Session session) {
    return group(session, DATA);
  }

  private List<ByteBuf> group(Session session, int dataShards) {
    List<ByteBuf> packets = new ArrayList<>();
    for (int i = 0; i < dataShards; i++) {
      client.send(session, 100);
      packets.addAll(client.packets());
    }
    return packets;
  }

  private void deliver(List<ByteBuf> packets) {
    server.take(client, packets);
    Session accepted = server.sessions.get(7);
    Host.received(accepted);
    accepted.expire(0);
    server.table.flushPending(0);
    client.take(server, server.packets());
  }

  @Test
  void threeReplayedPacketsInTenDoNotStopRecovery() {
    Session session = open(DATA, 3);
    List<ByteBuf> recorded = new ArrayList<>();
    for (int i = 0; i < 20; i++) {
      List<ByteBuf> group = group(session);
      recorded.addAll(group);
      deliver(group);
    }
    long before = server.count(KcpCounter.FEC_RECOVERED);
    for (int i = 0; i < 20; i++) {
      List<ByteBuf> group = group(session);
      group.remove(DATA / 2);
      group.addAll(7, recorded.subList(3 * i, 3 * i + 3));
      deliver(group);
    }
    assertEquals(20, server.count(KcpCounter.FEC_RECOVERED) - before);
    assertEquals(60, server.count(KcpCounter.FEC_REPLAYED));
  }

  /** The path delays it, not an attacker. */
  @Test
  void parityThatIsLateByFiveSmallGroupsIsNoReplay() {
    Session session = open(4, 3);
    for (int i = 0; i < 20; i++) {
      deliver(group(session, 4));
    }
    List<ByteBuf> late = group(session, 4);
    deliver(late.subList(1, 4));
    for (int i = 0; i < 5; i++) {
      deliver(group(session, 4));
    }
    long before = server.count(KcpCounter.FEC_RECOVERED);
    deliver(late.subList(4, 5));
    assertEquals(1, server.count(KcpCounter.FEC_RECOVERED) - before);
    assertEquals(0, server.count(KcpCounter.FEC_REPLAYED));
  }
}
