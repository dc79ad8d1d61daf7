package io.kcp4j.internal.session;

import io.kcp4j.Delivery;
import io.kcp4j.EndReason;
import io.kcp4j.KcpConfig;
import io.kcp4j.KcpCounter;
import io.kcp4j.KcpCounters;
import io.kcp4j.internal.arq.Kcp;
import io.kcp4j.internal.arq.KcpContext;
import io.kcp4j.internal.lanes.Lane;
import io.kcp4j.internal.lanes.OutboundMessage;
import io.kcp4j.internal.memory.MemoryBudget;
import io.kcp4j.internal.memory.MemoryLimit;
import io.kcp4j.internal.wire.DatagramOutput;
import io.kcp4j.internal.wire.Segment;
import io.kcp4j.lanes.LanesConfig;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.buffer.UnpooledByteBufAllocator;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.UnknownHostException;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.Set;
import java.util.function.Consumer;
import java.util.function.Predicate;

/**
 * A server whose sessions share a memory limit, and its clients, in virtual time: a datagram takes
 * 10 ms. Forged datagrams come from addresses at which nobody receives.
 */
public final class Crowd {

  private static final int DELAY_US = 10_000;

  private record Packet(long atUs, InetSocketAddress from, InetSocketAddress to, ByteBuf data) {}

  private static final InetSocketAddress SERVER = address(1, 1);

  final MemoryLimit limit;
  final MemoryBudget budget;
  final KcpContext context;
  final TestDriver server;
  final TimerWheel deadlines = new TimerWheel(0);
  final KcpConfig config;

  /** That of the server's sessions. */
  KcpConfig serverConfig;

  /** How the server's sessions have ended, by address. */
  final Map<InetSocketAddress, EndReason> ends = new HashMap<>();

  /** The bytes that the server has read, by address. */
  final Map<InetSocketAddress, Long> received = new HashMap<>();

  /** The bytes that were sent to each address. */
  final Map<InetSocketAddress, Long> sentTo = new HashMap<>();

  /** The clients whose bytes the server sends back, with those that wait for that. */
  private final Map<InetSocketAddress, ByteBuf> echoes = new HashMap<>();

  /** What the server does when it has read. */
  Consumer<Session> onRead = session -> {};

  /** Whether the server reads what a session has received. */
  Predicate<Session> isRead = session -> true;

  /** The most that the budget has held, in bytes. */
  long mostBytes;

  long nowUs = 1_000_000;

  private final Map<InetSocketAddress, Client> clients = new HashMap<>();
  private final Queue<Packet> packets = new ArrayDeque<>();
  private final Set<InetSocketAddress> mirrors = new HashSet<>();

  Crowd(long limitBytes, KcpConfig config) {
    this(MemoryLimit.shared(limitBytes), config);
  }

  Crowd(MemoryLimit limit, KcpConfig config) {
    this(limit, config, SessionDirectory.ofOne(10_000));
  }

  Crowd(MemoryLimit limit, KcpConfig config, SessionDirectory directory) {
    this.limit = limit;
    budget = new MemoryBudget(limit);
    limit.networkParts().hashSeed(1); // With any seed, two networks might share a counter.
    context = new KcpContext(new UnpooledByteBufAllocator(true, true), budget, new KcpCounters());
    this.config = config;
    serverConfig = config;
    server =
        TestDriver.builder(context).deadlines(deadlines).directory(directory).nowUs(nowUs).build();
    server.acceptor = this::accept;
    server.output = remote -> new Output(SERVER, remote);
    server.onProgress = this::read;
    server.onEnd = (session, reason) -> ends.put(session.remote(), reason);
  }

  public static InetSocketAddress address(int host, int port) {
    try {
      byte[] bytes = {10, (byte) (host >> 16), (byte) (host >> 8), (byte) host};
      return new InetSocketAddress(InetAddress.getByAddress(bytes), port);
    } catch (UnknownHostException e) {
      throw new AssertionError(e);
    }
  }

  private Session accept(InetSocketAddress remote, int conv) {
    int tsOrigin = 0x3456_0000 + remote.hashCode();
    Kcp kcp = new Kcp(conv, serverConfig, context, tsOrigin);
    Session session = server.newSession(remote, kcp);
    if (config.delivery() == Delivery.LANES) {
      server.table.answerLanes(session, LanesConfig.DEFAULT, remote.hashCode() | 1L << 40, conv);
    }
    return session;
  }

  private void read(Session session) {
    long bytes = 0;
    if (session.lanes() != null) {
      for (Lane lane; (lane = session.lanes().nextNews()) != null; ) {
        for (ByteBuf message; (message = lane.receive()) != null; message.release()) {
          bytes += message.readableBytes();
        }
      }
    }
    boolean isRead = this.isRead.test(session);
    for (ByteBuf part; isRead && (part = session.kcp().receive()) != null; part.release()) {
      bytes += part.readableBytes();
    }
    echo(session, (int) bytes);
    if (bytes > 0) {
      received.merge(session.remote(), bytes, Long::sum);
    }
    onRead.accept(session);
    server.table.scheduleFlush(session);
  }

  private void echo(Session session, int bytes) {
    ByteBuf waiting = echoes.get(session.remote());
    if (waiting == null) {
      return;
    }
    if (session.lanes() == null) {
      session.kcp().send(waiting.writeZero(bytes));
    } else if (bytes > 0) {
      send(session, Client.PING_LANE, bytes);
    }
  }

  private static void send(Session session, int lane, int bytes) {
    session
        .lanes()
        .lane(lane)
        .send(
            new OutboundMessage(Unpooled.buffer(bytes).writeZero(bytes)) {
              @Override
              protected void sent() {}

              @Override
              protected void dropped(Drop reason) {}
            });
  }

  /** What the server has read of all clients, in bytes. */
  long receivedBytes() {
    return received.values().stream().mapToLong(bytes -> bytes).sum();
  }

  long count(KcpCounter counter) {
    return context.total().get(counter);
  }

  /** A client at an address of its own, with one session. */
  final class Client {

    /** A ping is a message of this size, and comes back as one. */
    static final int PING_BYTES = 10;

    private static final int PING_PERIOD_US = 20_000;
    private static final int PING_LANE = 9;

    final InetSocketAddress address;
    final TestDriver driver;
    final Session session;
    final List<EndReason> clientEnds = new ArrayList<>();
    private final KcpContext own = KcpContext.of(new UnpooledByteBufAllocator(true, true));
    private final ByteBuf toSend = Unpooled.buffer();
    long receivedBytes;

    /** How long pings have taken until they were back. */
    final List<Long> delaysUs = new ArrayList<>();

    private final Queue<Long> pingedAtUs = new ArrayDeque<>();
    private long pingsBack;
    private long nextPingUs = Long.MAX_VALUE;

    Client(InetSocketAddress address, int conv) {
      this.address = address;
      driver = TestDriver.builder(own).deadlines(deadlines).nowUs(nowUs).build();
      driver.output = remote -> new Output(address, remote);
      driver.onProgress = this::progressed;
      driver.onEnd = (ended, reason) -> clientEnds.add(reason);
      session = driver.newSession(SERVER, new Kcp(conv, config, own, conv));
      if (config.delivery() == Delivery.LANES) {
        driver.table.offerLanes(session, LanesConfig.DEFAULT, conv | 1L << 41);
      }
      driver.table.add(session, nowUs);
      clients.put(address, this);
    }

    /** The server's session with this client that was accepted last. */
    Session serverSession() {
      return server.accepted.stream()
          .filter(accepted -> accepted.remote().equals(address))
          .reduce((first, last) -> last)
          .orElseThrow();
    }

    /** Sends bytes, as one message unless the delivery is a stream. */
    Client send(int bytes) {
      toSend.writeZero(bytes);
      progressed(session);
      return this;
    }

    Client send(int lane, int bytes) {
      Crowd.send(session, lane, bytes);
      return flush();
    }

    /** Sends small messages from now on, each of which the server sends back. */
    Client ping() {
      echoes.put(address, Unpooled.buffer());
      nextPingUs = nowUs;
      return this;
    }

    void stopPings() {
      nextPingUs = Long.MAX_VALUE;
    }

    private void pingIfDue() {
      if (nowUs >= nextPingUs) {
        nextPingUs += PING_PERIOD_US;
        pingedAtUs.add(nowUs);
        if (session.lanes() == null) {
          send(PING_BYTES);
        } else {
          send(PING_LANE, PING_BYTES);
        }
      }
    }

    Client flush() {
      driver.table.scheduleFlush(session);
      driver.table.flushPending(nowUs);
      return this;
    }

    private void progressed(Session session) {
      for (ByteBuf part; (part = session.kcp().receive()) != null; part.release()) {
        receivedBytes += part.readableBytes();
      }
      if (session.lanes() != null) {
        for (Lane lane; (lane = session.lanes().nextNews()) != null; ) {
          for (ByteBuf message; (message = lane.receive()) != null; message.release()) {
            receivedBytes += message.readableBytes();
          }
        }
      }
      while (!pingedAtUs.isEmpty() && receivedBytes >= (pingsBack + 1) * PING_BYTES) {
        pingsBack++;
        delaysUs.add(nowUs - pingedAtUs.remove());
      }
      if (toSend.isReadable()) {
        session.kcp().send(toSend);
      }
      driver.table.scheduleFlush(session);
    }
  }

  Client client(int host) {
    return new Client(address(host, 40_000), 1_000 + host);
  }

  Client client(int host, int port) {
    return new Client(address(host, port), 1_000 + port);
  }

  /** From now on a client sends and receives nothing. */
  void disconnect(int host, int port) {
    clients.remove(address(host, port));
  }

  /** A datagram with a PUSH of a peer that receives nothing. */
  void forge(InetSocketAddress from, int sn, int frg, int bytes) {
    ByteBuf push = Unpooled.buffer();
    Segment.write(push, 77, Segment.PUSH, frg, 128, 0, sn, 0, bytes);
    forge(from, push.writeZero(bytes));
  }

  /** A datagram of a peer that receives nothing. */
  void forge(InetSocketAddress from, ByteBuf datagram) {
    packets.add(new Packet(nowUs, from, SERVER, datagram));
  }

  /** A PUSH in the session of a client that it has not sent itself. */
  void forge(int host, int port, int sn, int frg, int bytes) {
    forge(host, port, sn, frg, Unpooled.buffer().writeZero(bytes));
  }

  void forge(int host, int port, int sn, ByteBuf payload) {
    forge(host, port, sn, 0, payload);
  }

  private void forge(int host, int port, int sn, int frg, ByteBuf payload) {
    ByteBuf push = Unpooled.buffer();
    Segment.write(push, 1_000 + port, Segment.PUSH, frg, 128, 0, sn, 0, payload.readableBytes());
    forge(address(host, port), push.writeBytes(payload));
  }

  /** From now on all that is sent to an address comes back. */
  void sendBack(InetSocketAddress address) {
    mirrors.add(address);
  }

  /** Lets time pass. */
  void run(int ms) {
    for (int i = 0; i < ms; i++) {
      nowUs += 1_000;
      deadlines.advance(nowUs);
      List.copyOf(clients.values()).forEach(Client::pingIfDue);
      server.table.flushPending(nowUs);
      clients.values().forEach(client -> client.driver.table.flushPending(nowUs));
      deliver();
      if (nowUs % 1_000_000 == 0) {
        server.table.sweep(nowUs);
      }
      mostBytes = Math.max(mostBytes, budget.usedBytes());
    }
  }

  private void deliver() {
    boolean hasReceived = false;
    while (!packets.isEmpty() && packets.peek().atUs <= nowUs) {
      Packet packet = packets.remove();
      if (packet.to.equals(SERVER)) {
        server.table.receive(packet.from, packet.data, nowUs);
        hasReceived = true;
        continue;
      }
      sentTo.merge(packet.to, (long) packet.data.readableBytes(), Long::sum);
      if (mirrors.contains(packet.to)) {
        packets.add(new Packet(nowUs + DELAY_US, packet.to, SERVER, packet.data.copy()));
      }
      Client client = clients.get(packet.to);
      if (client != null) {
        client.driver.table.receive(packet.from, packet.data, nowUs);
        client.driver.table.endBatch(nowUs);
      }
    }
    if (hasReceived) {
      server.table.endBatch(nowUs);
    }
  }

  private final class Output implements DatagramOutput {

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
      packets.add(new Packet(nowUs + DELAY_US, from, to, data));
    }
  }
}
