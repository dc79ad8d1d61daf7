package io.kcp4j.internal.session;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kcp4j.Delivery;
import io.kcp4j.KcpConfig;
import io.kcp4j.crypto.KeyRing;
import io.kcp4j.internal.arq.Kcp;
import io.kcp4j.internal.memory.MemoryAccount;
import io.kcp4j.internal.memory.MemoryBudget;
import io.kcp4j.internal.memory.MemoryLimit;
import org.junit.jupiter.api.Test;

/** How large messages may be while memory is short: protocol.md 5.2 and 8.12. */
class MessageLimitTest {

  private static final KcpConfig MESSAGES = KcpConfig.builder().delivery(Delivery.MESSAGE).build();

  private final VirtualHost client = new VirtualHost(1);

  private static VirtualHost server(MemoryBudget budget) {
    VirtualHost server = new VirtualHost(2, KeyRing.NONE, budget);
    server.token = 5;
    server.config = MESSAGES;
    return server;
  }

  private void begin(VirtualHost server) {
    client.token = 6;
    client.config = MESSAGES;
    client.open(server);
    client.write(10);
    exchange(server, 100);
  }

  private void exchange(VirtualHost server, int ms) {
    for (int i = 0; i < ms; i++) {
      server.take(client, client.packets());
      server.runTo(server.nowUs + 500);
      client.take(server, server.packets());
      client.runTo(client.nowUs + 500);
      server.driver.table.sweep(server.nowUs);
    }
  }

  /** Reserves what sessions may have, but for so many bytes, both before and after they answer. */
  private static MemoryAccount leave(MemoryBudget budget, int bytes) {
    MemoryAccount other = MemoryAccount.of(budget);
    other.unvalidated();
    int step = 256;
    while (budget.unvalidatedRoomBytes() > bytes && other.tryReserve(step)) {}
    MemoryAccount validated = MemoryAccount.of(budget);
    while (budget.hasRoomToReceive(bytes) && validated.tryReserve(step)) {}
    while (budget.roomBytesWithReserve() > budget.limit().reserveBytes() + bytes
        && validated.tryReserve(step)) {}
    return validated;
  }

  @Test
  void legalMessageWaitsWhileTheWindowIsSmallForLackOfMemory() {
    MemoryBudget budget = new MemoryBudget(MemoryLimit.shared(8 << 20));
    VirtualHost server = server(budget);
    MemoryAccount other = leave(budget, 20_000);
    begin(server);
    Kcp kcp = client.session.kcp();
    int shown = kcp.stats().remoteWindow();
    assertTrue(shown < 32, "window " + shown);
    assertEquals(127 * kcp.mssBytes(), kcp.maxMessageBytes());
    client.write(kcp.maxMessageBytes());
    exchange(server, 5_000);
    assertEquals(10 + kcp.maxMessageBytes(), server.received);
    other.release(other.heldBytes());
  }

  @Test
  void messageThatFitsTheReserveArrivesAndALargerOneIsRefused() {
    MemoryBudget budget = new MemoryBudget(MemoryLimit.shared(256 << 10));
    VirtualHost server = server(budget);
    begin(server);
    Kcp kcp = client.session.kcp();
    int fragments = (64 << 10) / (1_200 + 128);
    assertEquals(fragments * kcp.mssBytes(), kcp.maxMessageBytes());
    int tooLarge = kcp.maxMessageBytes() + 1;
    assertThrows(IllegalArgumentException.class, () -> client.write(tooLarge));
  }

  @Test
  void limitIsThatOfTheReceiverWhateverWindowItShows() {
    VirtualHost server = server(MemoryBudget.unlimited());
    server.config = KcpConfig.builder().delivery(Delivery.MESSAGE).maxFragments(40).build();
    begin(server);
    Kcp kcp = client.session.kcp();
    assertTrue(kcp.stats().remoteWindow() > 200);
    assertEquals(40 * kcp.mssBytes(), kcp.maxMessageBytes());
    Kcp back = server.session.kcp();
    assertEquals(40 * back.mssBytes(), back.maxMessageBytes());
  }
}
