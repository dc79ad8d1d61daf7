package io.kcp4j.internal.session;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kcp4j.KcpCounter;
import io.kcp4j.internal.arq.KcpContext;
import io.kcp4j.internal.wire.DatagramOutput;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.buffer.UnpooledByteBufAllocator;
import io.netty.util.NetUtil;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.PriorityQueue;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * Somebody forges a thousand messages of ICMP port unreachable a second for each of many sessions,
 * in virtual time: over a path that loses one datagram in 20 each way, has outages of 3 s, and
 * whose server stops for 3 s. No session ends.
 */
class ForgedIcmpTest {

  private static final int SESSIONS = 100;
  private static final double LOSS = 0.05;
  private static final int BEGIN_MS = 2_000;
  private static final int FAULT_MS = 3_000;
  private static final int PAUSE_MS = 5_000;

  private static final InetSocketAddress CLIENT = address(1);
  private static final InetSocketAddress SERVER = address(2);

  private record Packet(long atUs, int number, InetSocketAddress to, ByteBuf data) {}

  private static InetSocketAddress address(int port) {
    return new InetSocketAddress(NetUtil.LOCALHOST, port);
  }

  private static int read(Session session) {
    int bytes = 0;
    for (ByteBuf part; (part = session.kcp().receive()) != null; part.release()) {
      bytes += part.readableBytes();
    }
    return bytes;
  }

  /** The hosts and the path between them. */
  private static final class Simulated {

    private final SplittableRandom random;
    private final int delayUs;
    private final PriorityQueue<Packet> packets =
        new PriorityQueue<>(Comparator.comparingLong(Packet::atUs).thenComparing(Packet::number));
    private final TestDriver client = host(SERVER);
    private final TestDriver server = host(CLIENT);
    private final List<Session> sessions = new ArrayList<>();
    private final List<String> ends = new ArrayList<>();

    /** What waits in the socket of the server while that is stopped. */
    private final List<ByteBuf> waiting = new ArrayList<>();

    private int packetsSent;
    private int nowMs;
    private boolean isOut;
    private boolean isServerStopped;

    Simulated(int seed) {
      random = new SplittableRandom(seed);
      delayUs = random.nextInt(1_000, 60_000);
      client.onProgress = ForgedIcmpTest::read;
      server.onProgress =
          session -> {
            int bytes = read(session);
            if (bytes > 0 && session.conv() % 3 == 0) {
              send(server, session, bytes);
            }
          };
    }

    private TestDriver host(InetSocketAddress remote) {
      TestDriver driver =
          TestDriver.builder(KcpContext.of(new UnpooledByteBufAllocator(true, true)))
              .maxSessions(SESSIONS)
              .build();
      driver.output = to -> new Output(remote);
      driver.onEnd = (session, reason) -> ends.add(session.conv() + " " + reason + " at " + nowMs);
      return driver;
    }

    private static void send(TestDriver driver, Session session, int bytes) {
      session.kcp().send(Unpooled.buffer().writeZero(bytes));
      driver.table.scheduleFlush(session);
    }

    private final class Output implements DatagramOutput {

      private final InetSocketAddress to;
      private ByteBuf data;

      Output(InetSocketAddress to) {
        this.to = to;
      }

      @Override
      public ByteBuf begin(int maxBytes) {
        data = Unpooled.buffer(maxBytes, maxBytes);
        return data;
      }

      @Override
      public void end() {
        if (!isOut && random.nextDouble() >= LOSS) {
          long atUs = nowMs * 1_000L + delayUs + random.nextInt(1 + delayUs / 4);
          packets.add(new Packet(atUs, packetsSent++, to, data));
        }
      }
    }

    private void step() {
      nowMs++;
      long nowUs = nowMs * 1_000L;
      if (nowMs <= BEGIN_MS && nowMs % (BEGIN_MS / SESSIONS) == 0) {
        Session session = client.newSession(SERVER, 1 + sessions.size());
        client.table.add(session, nowUs);
        sessions.add(session);
        send(client, session, 10);
      }
      for (Session session : sessions) {
        boolean isWriting = session.conv() % 3 != 1; // The others are idle.
        if (isWriting && (nowMs + session.conv()) % 200 == 0) {
          send(client, session, 50);
        }
        if (session.hasPeerAnswered()) {
          client.table.portUnreachable(session, nowUs);
        }
      }
      drive(client, nowUs);
      if (!isServerStopped) {
        drive(server, nowUs);
      }
      deliver(nowUs);
    }

    private static void drive(TestDriver driver, long nowUs) {
      driver.deadlines.advance(nowUs);
      if (nowUs % 1_000_000 == 0) {
        driver.table.sweep(nowUs);
      }
      driver.table.flushPending(nowUs);
    }

    private void deliver(long nowUs) {
      while (!packets.isEmpty() && packets.element().atUs <= nowUs) {
        Packet packet = packets.remove();
        if (packet.to.equals(CLIENT)) {
          client.table.receive(SERVER, packet.data, nowUs);
        } else {
          waiting.add(packet.data);
        }
      }
      client.table.endBatch(nowUs);
      if (!isServerStopped) {
        waiting.forEach(data -> server.table.receive(CLIENT, data, nowUs));
        waiting.clear();
        server.table.endBatch(nowUs);
      }
    }

    private void run(int ms) {
      for (int i = 0; i < ms; i++) {
        step();
      }
    }
  }

  /** Returns how many sessions were established. */
  private static int run(int seed) {
    Simulated test = new Simulated(seed);
    test.run(BEGIN_MS + PAUSE_MS);
    for (int i = 0; i < 2; i++) {
      test.isOut = true;
      test.run(FAULT_MS);
      test.isOut = false;
      test.run(PAUSE_MS + test.random.nextInt(1_000));
      test.isServerStopped = true;
      test.run(FAULT_MS);
      test.isServerStopped = false;
      test.run(PAUSE_MS + test.random.nextInt(1_000));
    }
    assertEquals(List.of(), test.ends, "seed " + seed);
    long probes = test.client.context.total().get(KcpCounter.PROBES_OUT);
    assertTrue(probes > 20 * SESSIONS, "only " + probes + " probes, seed " + seed);
    return (int) test.sessions.stream().filter(Session::hasPeerAnswered).count();
  }

  private static int run(int firstSeed, int seeds) {
    int established = 0;
    for (int seed = firstSeed; seed < firstSeed + seeds; seed++) {
      established += run(seed);
    }
    return established;
  }

  /** With this seed, two sessions would end if messages that no datagram has drawn counted. */
  @Test
  void forgedMessagesEndNoLiveSession() {
    assertEquals(SESSIONS, run(12));
  }

  @Tag("slow")
  @Test
  void forgedMessagesEndNoneOfTenThousandLiveSessions() {
    assertEquals(10_000, run(1, 100));
  }
}
