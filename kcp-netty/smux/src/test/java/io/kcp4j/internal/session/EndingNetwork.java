package io.kcp4j.internal.session;

import io.netty.buffer.ByteBuf;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.SplittableRandom;
import java.util.function.BooleanSupplier;

/** The path between the two sides of {@link EndingTest}, and the time. */
final class EndingNetwork {

  /** Hosts send ICMP at a limited rate, Linux one message a second to an address. */
  private static final int ICMP_INTERVAL_US = 1_000_000;

  private static final int TICK_US = 1_000;

  /** While nothing is under way, time passes in longer steps. */
  private static final int IDLE_TICK_US = 10_000;

  private static final int IDLE_US = 100_000;

  private record Packet(long arrivesAtUs, ByteBuf content) {}

  private final Link link;
  private final SplittableRandom random;
  private final Queue<Packet> toServer = new ArrayDeque<>();
  private final Queue<Packet> toClient = new ArrayDeque<>();

  /** When ICMP messages reach the client. */
  private final Queue<Long> messages = new ArrayDeque<>();

  final EndingHost client;
  EndingHost server;

  /** Whether a server that is gone answers by ICMP port unreachable. */
  boolean isPortUnreachable;

  /** Whether the socket of a client closes with its session. */
  boolean isClientSocketItsOwn = true;

  private long messageAtUs;
  private long activeAtUs;
  private long nowUs;

  EndingNetwork(EndingHost client, EndingHost server, Link link, long seed) {
    this.client = client;
    this.server = server;
    this.link = link;
    random = new SplittableRandom(seed);
    nowUs = client.host.nowUs;
  }

  long nowUs() {
    return nowUs;
  }

  void run(long us) {
    for (long untilUs = nowUs + us; nowUs < untilUs; ) {
      step();
    }
  }

  /** Runs until something holds; returns whether that was within the time. */
  boolean runUntil(BooleanSupplier condition, long mostUs) {
    long untilUs = nowUs + mostUs;
    while (!condition.getAsBoolean()) {
      if (nowUs >= untilUs) {
        return false;
      }
      step();
    }
    return true;
  }

  private void step() {
    long beforeUs = nowUs;
    nowUs += nowUs - activeAtUs < IDLE_US ? TICK_US : IDLE_TICK_US;
    send(client, toServer, beforeUs);
    send(server, toClient, beforeUs);
    receive(server, client, toServer);
    receive(client, server, toClient);
    if (!messages.isEmpty() && messages.peek() <= nowUs && !client.isStopped) {
      messages.remove();
      client.host.driver.table.portUnreachable(client.host.session, nowUs);
    }
    if (isClientSocketItsOwn && client.isClosed() && client.host.driver.table.size() == 0) {
      client.isGone = true;
    }
  }

  /** Lets the time of a host pass. What a host has sent before it is gone is on its way. */
  private void send(EndingHost from, Queue<Packet> path, long beforeUs) {
    if (from.isStopped) {
      return;
    }
    if (!from.isGone) {
      from.host.nowUs = beforeUs; // Nothing has happened while it stood still.
      from.host.runTo(nowUs);
    }
    for (ByteBuf packet : from.host.packets()) {
      activeAtUs = nowUs;
      if (link.loss == 0 || random.nextDouble() >= link.loss) {
        path.add(new Packet(nowUs + Link.DELAY_US, packet));
      }
    }
  }

  private void receive(EndingHost to, EndingHost from, Queue<Packet> path) {
    if (to.isStopped || path.isEmpty() || path.peek().arrivesAtUs > nowUs) {
      return; // The socket of a process that stands still has room.
    }
    activeAtUs = nowUs;
    List<ByteBuf> batch = new ArrayList<>();
    while (!path.isEmpty() && path.peek().arrivesAtUs <= nowUs) {
      batch.add(path.remove().content);
    }
    if (!to.isGone) {
      to.host.take(from.host, batch);
    } else if (to == server && isPortUnreachable && nowUs - messageAtUs >= ICMP_INTERVAL_US) {
      messageAtUs = nowUs;
      messages.add(nowUs + Link.DELAY_US);
    }
  }
}
