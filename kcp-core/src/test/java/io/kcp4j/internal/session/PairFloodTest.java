package io.kcp4j.internal.session;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kcp4j.KcpCounter;
import io.kcp4j.internal.arq.KcpContext;
import io.kcp4j.internal.session.SessionTable.ResetTokens;
import io.kcp4j.internal.wire.DatagramOutput;
import io.kcp4j.internal.wire.Segment;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.buffer.UnpooledByteBufAllocator;
import io.netty.util.NetUtil;
import java.net.InetSocketAddress;
import java.util.Comparator;
import java.util.HashMap;
import java.util.Map;
import java.util.PriorityQueue;
import java.util.SplittableRandom;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * A flood of 10,000 forged addresses a second that send their first datagram twice, and clients
 * like those of kcp-go, which have no extension: protocol.md 8.8. Virtual time.
 */
class PairFloodTest {

  private static final int FORGED_PER_MS = 10;
  private static final int CLIENTS = 100;
  private static final long CLIENTS_BEGIN_US = 2_000_000;
  private static final long FLOOD_ENDS_US = CLIENTS_BEGIN_US + 10_000_000;

  /** 128 at once and 128 a second, of which 64 may have repeated their first datagram. */
  private static final int MAX_UNVALIDATED = 128 + 12 * 128 + 64;

  /** kcp-go flushes ACKs at its next update, every 100 ms by default. */
  private static final int UPDATE_INTERVAL_US = 100_000;

  private static final int FIRST_RTO_US = 200_000;

  private record Event(long atUs, Runnable action) {}

  private record Transmission(int sn, int ts) {}

  private final KcpContext context = KcpContext.of(new UnpooledByteBufAllocator(true, true));
  private final TimerWheel deadlines = new TimerWheel(0);
  private final TestDriver driver =
      TestDriver.builder(context).deadlines(deadlines).maxSessions(100_000).build();
  private final SessionTable table = driver.table;
  private final PriorityQueue<Event> events =
      new PriorityQueue<>(Comparator.comparingLong(Event::atUs));
  private final Map<InetSocketAddress, Client> clients = new HashMap<>();
  private final SplittableRandom random = new SplittableRandom(1);
  private long nowUs;

  /** A client of kcp-go without NoDelay: each timeout is longer than the one before by the RTO. */
  private final class Client {
    final InetSocketAddress address;
    final int conv;
    final int rttUs;
    private int transmissions;
    private boolean isAcknowledged;
    private Transmission pendingAck;
    boolean isAnswered;

    Client(int number, int rttUs) {
      address = new InetSocketAddress(NetUtil.intToIpAddress(11 << 24 | number << 8 | 1), 5_000);
      conv = number + 1;
      this.rttUs = rttUs;
    }

    void transmit() {
      if (isAcknowledged) {
        return;
      }
      transmissions++;
      ByteBuf push = Unpooled.buffer();
      Segment.write(push, conv, Segment.PUSH, 0, 32, (int) (nowUs / 1_000), 0, 0, 20);
      arrive(push.writeZero(20));
      at(nowUs + (long) transmissions * FIRST_RTO_US, this::transmit);
    }

    private void arrive(ByteBuf datagram) {
      at(nowUs + rttUs / 2, () -> table.receive(address, datagram, nowUs));
    }

    void receive(ByteBuf datagram) {
      int index = 0;
      while (index < datagram.writerIndex()) {
        isAcknowledged |= Segment.una(datagram, index) == 1;
        if (Segment.cmd(datagram, index) == Segment.PUSH) {
          boolean isUpdateScheduled = pendingAck != null;
          pendingAck = new Transmission(Segment.sn(datagram, index), Segment.ts(datagram, index));
          isAnswered |= pendingAck.sn == 0;
          if (!isUpdateScheduled) {
            at(nowUs - nowUs % UPDATE_INTERVAL_US + UPDATE_INTERVAL_US, this::acknowledge);
          }
        }
        index += Segment.HEADER_BYTES + Segment.length(datagram, index);
      }
    }

    private void acknowledge() {
      ByteBuf ack = Unpooled.buffer();
      int una = isAnswered ? 1 : 0;
      Segment.write(ack, conv, Segment.ACK, 0, 32, pendingAck.ts, pendingAck.sn, una, 0);
      pendingAck = null;
      arrive(ack);
    }
  }

  private void at(long atUs, Runnable action) {
    events.add(new Event(atUs, action));
  }

  private final class Output implements DatagramOutput {
    private final Client client;
    private ByteBuf datagram;

    Output(Client client) {
      this.client = client;
    }

    @Override
    public ByteBuf begin(int maxBytes) {
      datagram = Unpooled.buffer(maxBytes, maxBytes);
      return datagram;
    }

    @Override
    public void end() {
      if (client != null) {
        ByteBuf sent = datagram;
        at(nowUs + client.rttUs / 2, () -> client.receive(sent));
      }
    }
  }

  private void forgePair(int gapMs) {
    int address = random.nextInt() | 1 << 31;
    InetSocketAddress remote = new InetSocketAddress(NetUtil.intToIpAddress(address), 4_000);
    ByteBuf push = Unpooled.buffer();
    Segment.write(push, random.nextInt(), Segment.PUSH, 0, 32, 0, 0, 0, 20);
    push.writeZero(20);
    table.receive(remote, push.duplicate(), nowUs);
    at(nowUs + gapMs * 1_000L, () -> table.receive(remote, push.duplicate(), nowUs));
  }

  private void run(int gapMs, int rttMs) {
    driver.trustsPeers = false;
    table.resetTokens(new ResetTokens(new byte[ResetTokens.MIN_SECRET_BYTES]));
    driver.output = remote -> new Output(clients.get(remote));
    driver.onProgress =
        session -> {
          for (ByteBuf data; (data = session.kcp().receive()) != null; ) {
            session.kcp().send(data);
            table.scheduleFlush(session);
          }
        };
    for (int i = 0; i < CLIENTS; i++) {
      Client client = new Client(i, rttMs * 1_000);
      clients.put(client.address, client);
      at(CLIENTS_BEGIN_US + i * 10_000L, client::transmit);
    }
    while (nowUs < FLOOD_ENDS_US) {
      for (int i = 0; i < FORGED_PER_MS; i++) {
        forgePair(gapMs);
      }
      step();
    }
  }

  private void step() {
    nowUs += 1_000;
    while (!events.isEmpty() && events.peek().atUs <= nowUs) {
      events.poll().action.run();
    }
    table.endBatch(nowUs);
    deadlines.advance(nowUs);
    table.flushPending(nowUs);
    if (nowUs % 1_000_000 == 0) {
      table.sweep(nowUs);
    }
  }

  /** Without challenges, about one of them would be chosen. */
  @ParameterizedTest
  @CsvSource({"0, 20", "200, 200"})
  void clientsOfKcpGoGetInAndFewForgedSessionsBegin(int gapMs, int rttMs) {
    run(gapMs, rttMs);
    long validated =
        driver.accepted.stream()
            .filter(s -> clients.containsKey(s.remote()) && s.path().isValidated())
            .count();
    assertEquals(CLIENTS, validated);
    assertTrue(clients.values().stream().allMatch(client -> client.isAnswered));
    long opened = context.total().get(KcpCounter.SESSIONS_OPENED);
    assertTrue(opened < CLIENTS + MAX_UNVALIDATED, opened + " sessions");

    while (nowUs < FLOOD_ENDS_US + 2_000_000) {
      step();
    }
    int before = driver.accepted.size();
    new Client(CLIENTS, rttMs * 1_000).transmit();
    while (nowUs < FLOOD_ENDS_US + 2_150_000) {
      step();
    }
    assertEquals(before + 1, driver.accepted.size(), "pressure");
  }
}
