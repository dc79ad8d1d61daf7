package io.kcp4j.fuzz;

import io.kcp4j.Delivery;
import io.kcp4j.KcpConfig;
import io.kcp4j.KcpCounters;
import io.kcp4j.MemoryUse;
import io.kcp4j.internal.arq.KcpContext;
import io.kcp4j.internal.memory.MemoryBudget;
import io.kcp4j.internal.memory.MemoryLimit;
import io.kcp4j.internal.memory.ProcessMemory;
import io.kcp4j.internal.session.TimerWheel;
import io.kcp4j.internal.wire.DatagramOutput;
import io.kcp4j.internal.wire.Segment;
import io.kcp4j.smux.SmuxConfig;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.buffer.UnpooledByteBufAllocator;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.UnknownHostException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.PriorityQueue;
import java.util.SplittableRandom;

/**
 * A server whose sessions share a small memory limit, its clients, and a network that loses,
 * repeats and reorders datagrams, in virtual time. A conversation id says what its session delivers
 * and whether it has the extension and streams, so that a server knows what a peer wants.
 */
final class MemoryPeers {

  private static final Delivery[] DELIVERIES = {Delivery.STREAM, Delivery.MESSAGE, Delivery.LANES};

  private static final int MIN_DELAY_US = 5_000;
  private static final int SWEEP_US = 1_000_000;
  private static final int RECHECK_US = 100_000;
  private static final int MAX_RECENT = 32;

  static final InetSocketAddress SERVER = address(1, 1);

  private record Packet(
      long atUs, int number, InetSocketAddress from, InetSocketAddress to, ByteBuf data) {}

  final MemoryLimit limit;
  final MemoryBudget budget;
  final HeapAllocator allocator = new HeapAllocator(Integer.MAX_VALUE);
  final KcpContext context;
  final KcpContext clientContext = KcpContext.of(new UnpooledByteBufAllocator(false, true));
  final TimerWheel deadlines = new TimerWheel(0);
  final List<MemoryClient> clients = new ArrayList<>();

  /** Datagrams that the server has received. */
  long datagrams;

  long nowUs = SWEEP_US;

  /** Of a hundred datagrams, how many are lost. */
  int lossPercent;

  /** Datagrams arrive up to this late. */
  int jitterUs = 1;

  final MemoryServer server;

  private final boolean hasStreams;
  private final SplittableRandom random;
  private final Map<InetSocketAddress, MemoryClient> clientsByAddress = new HashMap<>();
  private final PriorityQueue<Packet> packets =
      new PriorityQueue<>(
          (a, b) -> a.atUs != b.atUs ? Long.compare(a.atUs, b.atUs) : a.number - b.number);
  private final List<Packet> recent = new ArrayList<>();
  private int packetNumber;
  private long sweepAtUs = 2 * SWEEP_US;

  /**
   * Makes a server without clients.
   *
   * @param hasStreams whether some of the sessions have smux streams
   * @param process the limit of the process, or null
   */
  MemoryPeers(long limitBytes, long seed, boolean hasStreams, ProcessMemory process) {
    this.hasStreams = hasStreams;
    limit = MemoryLimit.shared(limitBytes, process);
    budget = new MemoryBudget(limit);
    context = new KcpContext(allocator, budget, new KcpCounters());
    random = new SplittableRandom(seed);
    server = new MemoryServer(this);
  }

  static InetSocketAddress address(int host, int port) {
    try {
      byte[] bytes = {10, (byte) (host >> 16), (byte) (host >> 8), (byte) host};
      return new InetSocketAddress(InetAddress.getByAddress(bytes), port);
    } catch (UnknownHostException e) {
      throw new AssertionError(e);
    }
  }

  // What a conversation id says

  static Delivery delivery(int conv) {
    return DELIVERIES[Math.floorMod(conv, DELIVERIES.length)];
  }

  static boolean hasExtension(int conv) {
    return (conv & 0x10) != 0;
  }

  boolean hasStreams(int conv) {
    return hasStreams && delivery(conv) == Delivery.STREAM && (conv & 0x08) != 0;
  }

  static KcpConfig config(int conv) {
    return KcpConfig.builder()
        .delivery(delivery(conv))
        .mtuBytes((conv & 0x20) == 0 ? 600 : 1200)
        .receiveWindow(256)
        .sendWindow(256)
        .build();
  }

  static SmuxConfig smuxConfig(int conv) {
    return SmuxConfig.builder()
        .version((conv & 0x40) == 0 ? 2 : 1)
        .maxFrameSize(2_048)
        .maxReceiveBuffer(65_536)
        .maxStreamBuffer(16_384)
        .peerReceiveBuffer(65_536)
        .maxStreams(64)
        .keepAliveMs(0)
        .keepAliveTimeoutMs(0)
        .build();
  }

  // Clients

  void add(MemoryClient client) {
    clients.add(client);
    clientsByAddress.put(client.address, client);
  }

  /** A client takes the place of one whose session has ended. */
  void replace(MemoryClient ended, MemoryClient next) {
    clients.set(clients.indexOf(ended), next);
    clientsByAddress.put(next.address, next);
    ended.isSilent = true;
    ended.close();
  }

  /** The client with this address and conversation id, or null: datagrams may be forged. */
  MemoryClient client(InetSocketAddress address, int conv) {
    MemoryClient client = clientsByAddress.get(address);
    return client == null || client.conv != conv ? null : client;
  }

  // The network

  /** A datagram that arrives now, with any source address. */
  void forge(InetSocketAddress from, ByteBuf datagram) {
    receive(new Packet(nowUs, 0, from, SERVER, datagram));
  }

  /** One of the last datagrams that the server has received arrives again. */
  void replay(int which) {
    if (!recent.isEmpty()) {
      Packet packet = recent.get(which % recent.size());
      datagrams++;
      server.driver.table.receive(packet.from, packet.data.duplicate(), nowUs);
    }
  }

  private void receive(Packet packet) {
    datagrams++;
    if (recent.size() == MAX_RECENT) {
      recent.set((int) (datagrams % MAX_RECENT), packet);
    } else {
      recent.add(packet);
    }
    server.driver.table.receive(packet.from, packet.data.duplicate(), nowUs);
  }

  void endBatch() {
    server.driver.table.endBatch(nowUs);
  }

  /** Lets time pass, from one event to the next. */
  void run(long us) {
    long endUs = nowUs + us;
    while (nowUs < endUs) {
      step(endUs);
    }
  }

  /** Goes to the next event, at most to {@code endUs}. */
  void step(long endUs) {
    long nextUs = Math.min(Math.min(endUs, sweepAtUs), deadlines.nextDeadline());
    if (!packets.isEmpty()) {
      nextUs = Math.min(nextUs, packets.element().atUs);
    }
    if (server.hasBlocked()) {
      nextUs = Math.min(nextUs, nowUs + RECHECK_US);
    }
    nowUs = Math.max(nextUs, nowUs + 1_000); // In ticks of a millisecond, as an event loop has.
    deadlines.advance(nowUs);
    deliver();
    if (nowUs >= sweepAtUs) {
      sweepAtUs = nowUs + SWEEP_US;
      server.sweep();
      clients.forEach(MemoryClient::sweep);
    }
    server.recheckBlocked();
    server.driver.table.flushPending(nowUs);
    for (MemoryClient client : clients) {
      client.driver.table.flushPending(nowUs);
    }
    server.watchReserve();
  }

  private void deliver() {
    boolean hasReceived = false;
    while (!packets.isEmpty() && packets.element().atUs <= nowUs) {
      Packet packet = packets.remove();
      if (packet.to.equals(SERVER)) {
        receive(packet);
        hasReceived = true;
        continue;
      }
      MemoryClient client = clientsByAddress.get(packet.to);
      if (client != null && !client.isSilent) {
        if (packet.data.readableBytes() >= Segment.HEADER_BYTES) {
          client.rcvNxt = Segment.una(packet.data, packet.data.readerIndex());
        }
        client.driver.table.receive(packet.from, packet.data, nowUs);
        client.driver.table.endBatch(nowUs);
      }
    }
    if (hasReceived) {
      server.driver.table.endBatch(nowUs);
    }
  }

  /** All peers go, and the server is closed. Checks that nothing is held. */
  void close() {
    server.close();
    clients.forEach(MemoryClient::close);
    Check.that(budget.usedBytes() == 0, "still charged when all is closed");
    Check.that(MemoryUse.borrowedBytes(limit) == 0, "still borrowed when all is closed");
    Check.that(allocator.usedBytes() == 0, "leaks");
    limit.close();
  }

  final class Output implements DatagramOutput {

    private final InetSocketAddress from;
    private final InetSocketAddress to;
    private ByteBuf data;

    Output(InetSocketAddress from, InetSocketAddress to) {
      this.from = from;
      this.to = to;
    }

    @Override
    public ByteBuf begin(int maxBytes) {
      data = Unpooled.buffer(maxBytes, maxBytes);
      return data;
    }

    @Override
    public void end() {
      MemoryClient client = clientsByAddress.get(from.equals(SERVER) ? to : from);
      if (client == null || client.isSilent || random.nextInt(100) < lossPercent) {
        return; // Nobody receives it.
      }
      long atUs = nowUs + MIN_DELAY_US + random.nextInt(jitterUs);
      packets.add(new Packet(atUs, packetNumber++, from, to, data));
    }
  }
}
