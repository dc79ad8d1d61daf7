package io.kcp4j.internal.session;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kcp4j.EndReason;
import io.kcp4j.KcpCounter;
import io.kcp4j.internal.wire.Segment;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Replayed packets do not show that the peer is alive; its answers to challenges do. */
class ReplayedPacketTest {

  private static final int SECOND = 1_000_000;

  private final VirtualHost client = new VirtualHost(1);
  private final VirtualHost server = new VirtualHost(2);

  /** The packets that the client has received. */
  private final List<ByteBuf> recorded = new ArrayList<>();

  /** How long a datagram is under way. */
  private long delayUs;

  /** The packets under way to each side, and when those to the client arrive. */
  private record Batch(long atUs, VirtualHost from, VirtualHost to, List<ByteBuf> packets) {}

  private final List<Batch> underWay = new ArrayList<>();

  @AfterEach
  void closeSessions() {
    for (VirtualHost host : List.of(client, server)) {
      if (host.driver.table.lifecycle().contains(host.session)) {
        host.session.close();
      }
    }
  }

  private void begin(long token) {
    client.token = token;
    server.token = token;
    client.open(server);
    for (int i = 0; i < 5; i++) {
      client.write(10);
      exchangeUntil(client.nowUs + SECOND / 10);
      server.write(10);
      exchangeUntil(client.nowUs + SECOND / 10);
    }
    assertTrue(server.session.path().isValidated());
  }

  /** Lets time pass at both hosts, which exchange packets. */
  private void exchangeUntil(long untilUs) {
    while (client.nowUs < untilUs) {
      client.runTo(client.nowUs + 10_000);
      server.runTo(client.nowUs);
      carry(client, server);
      carry(server, client);
      List<Batch> due = underWay.stream().filter(b -> b.atUs <= client.nowUs).toList();
      underWay.removeAll(due);
      for (Batch batch : due) {
        if (batch.to == client) {
          recorded.addAll(batch.packets);
        }
        batch.to.take(batch.from, batch.packets);
      }
    }
  }

  private void carry(VirtualHost from, VirtualHost to) {
    List<ByteBuf> packets = from.packets();
    if (!packets.isEmpty()) {
      underWay.add(new Batch(client.nowUs + delayUs, from, to, packets));
    }
  }

  @ParameterizedTest
  @ValueSource(longs = {0, 0x1234_5678_9abcL})
  void replayedPacketsDoNotKeepADeadSessionAlive(long token) {
    begin(token);
    exchangeUntil(client.nowUs + 200L * SECOND); // There have been keep-alive probes, too.
    underWay.clear();
    long diedAtUs = client.nowUs;

    while (client.ends.isEmpty() && client.nowUs < diedAtUs + 400L * SECOND) {
      client.take(server, recorded);
      client.runTo(client.nowUs + SECOND);
      client.packets();
    }

    assertEquals(List.of(EndReason.KEEP_ALIVE_TIMEOUT), client.ends);
    assertTrue(client.nowUs - diedAtUs <= 110L * SECOND, client.nowUs - diedAtUs + " us");
  }

  @ParameterizedTest
  @ValueSource(longs = {0, 0x1234_5678_9abcL})
  void idlePeersThatAnswerProbesStayAlive(long token) {
    begin(token);
    exchangeUntil(client.nowUs + 900L * SECOND);
    assertEquals(List.of(), client.ends);
    assertEquals(List.of(), server.ends);
    assertFalse(client.session.isPeerUnresponsive());
    long probes = client.count(KcpCounter.PROBES_OUT) + server.count(KcpCounter.PROBES_OUT);
    assertTrue(probes >= 10 && probes <= 30, probes + " probes");
  }

  @Test
  void answersThatTakeLongerThanTheTimeBetweenProbesCount() {
    begin(0);
    delayUs = 2L * SECOND;
    exchangeUntil(client.nowUs + 600L * SECOND);
    assertEquals(List.of(), client.ends);
    assertEquals(List.of(), server.ends);
  }

  @Test
  void challengeDoesNotBeginASessionAtAPeerThatHasRestarted() {
    client.open(server);
    client.write(10);
    exchangeUntil(client.nowUs + SECOND); // una is 1.
    VirtualHost restarted = new VirtualHost(2);
    restarted.nowUs = client.nowUs;
    underWay.clear();

    while (client.ends.isEmpty() && client.nowUs < 400L * SECOND) {
      client.runTo(client.nowUs + 10_000);
      restarted.runTo(client.nowUs);
      restarted.take(client, client.packets());
      client.take(restarted, restarted.packets());
    }

    assertEquals(List.of(EndReason.KEEP_ALIVE_TIMEOUT), client.ends);
    assertEquals(List.of(), restarted.driver.accepted);
  }

  @Test
  void challengeIsADuplicateWithoutPayload() {
    begin(0);
    server.packets();
    client.runTo(client.nowUs + 65L * SECOND);
    ByteBuf probe = client.packets().get(0);
    int push = Segment.HEADER_BYTES;
    assertEquals(2 * Segment.HEADER_BYTES, probe.readableBytes());
    assertEquals(Segment.WASK, Segment.cmd(probe, 0));
    assertEquals(Segment.PUSH, Segment.cmd(probe, push));
    assertEquals(4, Segment.sn(probe, push));
    long duplicates = server.count(KcpCounter.DUPLICATES);

    server.take(client, List.of(probe));

    assertEquals(duplicates + 1, server.count(KcpCounter.DUPLICATES));
    assertEquals(50, server.received);
  }

  @Test
  void recordedUnreliableDatagramsDoNotKeepADeadSessionAlive() {
    begin(0);
    ByteBuf unreliable = Unpooled.buffer();
    unreliable.writeIntLE(-1).writeShortLE(0xf3).writeShortLE(6).writeIntLE(VirtualHost.CONV);
    while (client.ends.isEmpty() && client.nowUs < 200L * SECOND) {
      client.take(server, List.of(unreliable));
      client.runTo(client.nowUs + SECOND);
      client.packets();
    }
    assertEquals(List.of(EndReason.KEEP_ALIVE_TIMEOUT), client.ends);
  }
}
