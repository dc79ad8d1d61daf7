package io.kcp4j.fuzz;

import io.kcp4j.DatagramOutput;
import io.kcp4j.Delivery;
import io.kcp4j.EndReason;
import io.kcp4j.Kcp;
import io.kcp4j.KcpConfig;
import io.kcp4j.KcpContext;
import io.kcp4j.KcpCounters;
import io.kcp4j.MemoryBudget;
import io.kcp4j.MemoryLimit;
import io.kcp4j.Segment;
import io.kcp4j.lanes.Lane;
import io.kcp4j.lanes.LaneSend;
import io.kcp4j.lanes.LanesConfig;
import io.kcp4j.session.Session;
import io.kcp4j.session.TestDriver;
import io.kcp4j.session.TimerWheel;
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
import java.util.PriorityQueue;
import java.util.Queue;
import java.util.Set;
import java.util.SplittableRandom;

/**
 * A server whose sessions share a small memory limit, its clients, and a network that loses,
 * repeats and reorders datagrams, in virtual time. A conversation id says what its session delivers
 * and whether it has the extension, so that a server knows what a peer wants.
 */
final class MemoryPeers {

  private static final Delivery[] DELIVERIES = {Delivery.STREAM, Delivery.MESSAGE, Delivery.LANES};

  private static final int MIN_DELAY_US = 5_000;
  private static final int SWEEP_US = 1_000_000;
  private static final int MAX_SESSIONS = 10_000;
  private static final int MAX_RECENT = 32;

  private static final int MESSAGE_HEADER_BYTES = 8;

  static final InetSocketAddress SERVER = address(1, 1);

  private record Packet(
      long atUs, int number, InetSocketAddress from, InetSocketAddress to, ByteBuf data) {}

  final MemoryLimit limit;
  final MemoryBudget budget;
  final HeapAllocator allocator = new HeapAllocator(Integer.MAX_VALUE);
  final KcpContext context;
  final List<Client> clients = new ArrayList<>();

  /** Datagrams that the server has received. */
  long datagrams;

  long nowUs = SWEEP_US;

  /** Of a hundred datagrams, how many are lost. */
  int lossPercent;

  /** Datagrams arrive up to this late. */
  int jitterUs = 1;

  /** The sessions whose application does not read. */
  final Set<InetSocketAddress> unread = new HashSet<>();

  private final TestDriver server;
  private final TimerWheel deadlines = new TimerWheel(0);
  private final KcpContext clientContext = KcpContext.of(new UnpooledByteBufAllocator(false, true));
  private final SplittableRandom random;
  private final Map<InetSocketAddress, Client> clientsByAddress = new HashMap<>();
  private final Map<Session, Answers> answers = new HashMap<>();
  private final PriorityQueue<Packet> packets =
      new PriorityQueue<>(
          (a, b) -> a.atUs != b.atUs ? Long.compare(a.atUs, b.atUs) : a.number - b.number);
  private final List<Packet> recent = new ArrayList<>();
  private int packetNumber;
  private long sweepAtUs = 2 * SWEEP_US;

  MemoryPeers(long limitBytes, long seed) {
    limit = MemoryLimit.shared(limitBytes);
    budget = new MemoryBudget(limit);
    context = new KcpContext(allocator, budget, new KcpCounters());
    random = new SplittableRandom(seed);
    server =
        TestDriver.builder(context)
            .deadlines(deadlines)
            .maxSessions(MAX_SESSIONS)
            .nowUs(nowUs)
            .build();
    server.acceptor = this::accept;
    server.output = remote -> new Output(SERVER, remote);
    server.onProgress = this::progressed;
    server.onEnd = this::ended;
  }

  static InetSocketAddress address(int host, int port) {
    try {
      byte[] bytes = {10, (byte) (host >> 16), (byte) (host >> 8), (byte) host};
      return new InetSocketAddress(InetAddress.getByAddress(bytes), port);
    } catch (UnknownHostException e) {
      throw new AssertionError(e);
    }
  }

  private static Delivery delivery(int conv) {
    return DELIVERIES[Math.floorMod(conv, DELIVERIES.length)];
  }

  private static boolean hasExtension(int conv) {
    return (conv & 0x10) != 0;
  }

  static KcpConfig config(int conv) {
    return KcpConfig.builder()
        .delivery(delivery(conv))
        .mtuBytes((conv & 0x20) == 0 ? 600 : 1200)
        .receiveWindow(256)
        .sendWindow(256)
        .build();
  }

  // The server

  /** What the server still has to send to a client. */
  private static final class Answers {
    final Queue<ByteBuf> toSend = new ArrayDeque<>();
    int lane;
  }

  private Session accept(InetSocketAddress remote, int conv) {
    Kcp kcp = new Kcp(conv, config(conv), context, conv * 31);
    Session session = server.table.newSession(remote, kcp, null);
    if (delivery(conv) == Delivery.LANES) {
      server.table.answerLanes(session, LanesConfig.DEFAULT, conv | 1L << 40, conv);
    } else if (hasExtension(conv)) {
      session.answerExtension(conv | 1L << 40, conv);
    }
    answers.put(session, new Answers());
    Client client = client(session);
    if (client != null) {
      Check.that(!client.hasBegun || client.wasEvicted, "begun twice: " + client);
      client.hasBegun = true;
      client.serverEnd = null;
    }
    return session;
  }

  private void progressed(Session session) {
    if (!unread.contains(session.remote())) {
      read(session);
    }
    write(session);
    server.table.scheduleFlush(session);
  }

  private void read(Session session) {
    Client client = client(session);
    if (session.lanes() != null) {
      for (Lane lane; (lane = session.lanes().nextNews()) != null; ) {
        for (ByteBuf message; (message = lane.receive()) != null; message.release()) {
          received(session, client, message, lane.id());
        }
        lane.takeInputEnd();
      }
    }
    for (ByteBuf part; (part = session.kcp().receive()) != null; part.release()) {
      received(session, client, part, 0);
    }
  }

  private void received(Session session, Client client, ByteBuf data, int lane) {
    Answers pending = answers.get(session);
    int answerBytes = 0;
    if (client != null) {
      answerBytes = client.arrived(data);
    } else if (data.readableBytes() >= MESSAGE_HEADER_BYTES) {
      answerBytes = data.getUnsignedShort(data.readerIndex() + Integer.BYTES);
    }
    if (answerBytes > 0) {
      pending.lane = lane;
      pending.toSend.add(Unpooled.wrappedBuffer(new byte[answerBytes]));
    }
  }

  private void write(Session session) {
    Answers pending = answers.get(session);
    while (!pending.toSend.isEmpty()) {
      ByteBuf next = pending.toSend.element();
      if (delivery(session.conv()) == Delivery.MESSAGE) { // The peer may have been forged.
        int maxBytes = session.kcp().maxMessageBytes();
        next.writerIndex(Math.min(next.writerIndex(), maxBytes));
      }
      if (session.lanes() != null) {
        session.lanes().lane(pending.lane).send(new IgnoredSend(next));
      } else if (!session.kcp().send(next)) {
        return;
      }
      pending.toSend.remove();
    }
  }

  private void ended(Session session, EndReason reason) {
    answers.remove(session);
    Client client = client(session);
    if (client != null) {
      client.serverEnd = reason;
      client.wasEvicted |= reason == EndReason.EVICTED;
    }
  }

  /** Null if the session is none of a client: its datagrams were forged. */
  private Client client(Session session) {
    Client client = clientsByAddress.get(session.remote());
    return client == null || client.conv != session.conv() ? null : client;
  }

  /** The session of a client at the server; null if there is none. */
  private Session serverSession(Client client) {
    for (Session session : answers.keySet()) {
      if (client(session) == client) {
        return session;
      }
    }
    return null;
  }

  /** Lets the application read again. */
  void readAll() {
    unread.clear();
    for (Session session : List.copyOf(answers.keySet())) {
      read(session);
      server.table.scheduleFlush(session);
    }
    server.table.flushPending(nowUs);
  }

  int validatedSessions() {
    int validated = 0;
    for (Session session : answers.keySet()) {
      validated += session.path().isValidated() ? 1 : 0;
    }
    return validated;
  }

  int sessions() {
    return server.table.size();
  }

  private static final class IgnoredSend extends LaneSend {

    IgnoredSend(ByteBuf content) {
      super(content);
    }

    @Override
    protected void sent() {}

    @Override
    protected void dropped(Drop reason) {}
  }

  // Clients

  private record Request(int bytes, int answerBytes) {}

  /** A client at an address of its own, with one session. */
  final class Client {

    final InetSocketAddress address;
    final boolean isHonest;
    final int conv;

    /** What the server expects next, as far as the client has been told. */
    int rcvNxt;

    /** Whether it is gone, without a word. */
    boolean isSilent;

    /** Why its session ended, at the server and here; null if it has not. */
    EndReason serverEnd;

    EndReason end;

    /** Whether its session at the server has made room for others. It may have begun again. */
    boolean wasEvicted;

    private final TestDriver driver;
    private final Session session;
    private final Queue<Request> toSend = new ArrayDeque<>();
    private final List<Integer> arrived = new ArrayList<>();
    private boolean hasBegun;

    private ByteBuf unsent;
    private int messages;
    private long sentBytes;
    private long arrivedBytes;
    private long askedBytes;
    private long answeredBytes;

    Client(InetSocketAddress address, int conv, boolean isHonest) {
      this.address = address;
      this.isHonest = isHonest;
      this.conv = conv;
      driver = TestDriver.builder(clientContext).deadlines(deadlines).nowUs(nowUs).build();
      driver.output = remote -> new Output(address, remote);
      driver.onProgress = this::progressed;
      driver.onEnd = (ended, reason) -> end = reason;
      Kcp kcp = new Kcp(conv, config(conv), clientContext, conv);
      session = driver.table.newSession(SERVER, kcp, null);
      if (delivery(conv) == Delivery.LANES) {
        driver.table.offerLanes(session, LanesConfig.DEFAULT, conv | 1L << 41);
      } else if (hasExtension(conv)) {
        session.offerExtension(conv | 1L << 41);
      }
      driver.table.add(session, nowUs);
      clients.add(this);
      clientsByAddress.put(address, this);
    }

    /** Sends a message that asks for an answer. */
    void send(int lane, int bytes, int answerBytes) {
      if (end != null) {
        return;
      }
      Request request = new Request(Math.max(bytes, MESSAGE_HEADER_BYTES), answerBytes);
      if (session.lanes() != null) {
        session.lanes().lane(lane).send(new IgnoredSend(message(request, Integer.MAX_VALUE)));
      } else {
        toSend.add(request);
        write();
      }
      flush();
    }

    /** A message begins with its number, and with the size of the answer that it asks for. */
    private ByteBuf message(Request request, int maxBytes) {
      int size = Math.min(request.bytes, maxBytes);
      ByteBuf message = Unpooled.buffer(size).writeInt(messages++).writeInt(request.answerBytes);
      sentBytes += size;
      askedBytes += isStream() ? 0 : request.answerBytes;
      return message.writeZero(size - MESSAGE_HEADER_BYTES);
    }

    private boolean isStream() {
      return session.kcp().config().delivery() == Delivery.STREAM;
    }

    void flush() {
      driver.table.scheduleFlush(session);
      driver.table.flushPending(nowUs);
    }

    private void progressed(Session session) {
      if (session.lanes() != null) {
        for (Lane lane; (lane = session.lanes().nextNews()) != null; ) {
          for (ByteBuf message; (message = lane.receive()) != null; message.release()) {
            answeredBytes += message.readableBytes();
          }
        }
      }
      for (ByteBuf part; (part = session.kcp().receive()) != null; part.release()) {
        answeredBytes += part.readableBytes();
      }
      write();
      driver.table.scheduleFlush(session);
    }

    private void write() {
      while (unsent != null || !toSend.isEmpty()) {
        if (unsent == null) {
          int maxBytes = isStream() ? Integer.MAX_VALUE : session.kcp().maxMessageBytes();
          unsent = message(toSend.remove(), maxBytes);
        }
        // What a peer takes can become less when it advertises its window for the first time.
        int tooManyBytes =
            isStream() ? 0 : unsent.readableBytes() - session.kcp().maxMessageBytes();
        if (tooManyBytes > 0) {
          unsent.writerIndex(unsent.writerIndex() - tooManyBytes);
          sentBytes -= tooManyBytes;
        }
        if (!session.kcp().send(unsent)) {
          return;
        }
        unsent = null;
      }
    }

    /** A part of a stream, or a message, has arrived; returns how large an answer it asks for. */
    private int arrived(ByteBuf data) {
      arrivedBytes += data.readableBytes();
      if (!isHonest || isStream()) {
        return isHonest ? 0 : data.readableBytes();
      }
      arrived.add(data.readInt());
      return data.readInt();
    }

    /** Whether all that it has sent has arrived once, and so have the answers. */
    boolean isDone() {
      boolean isSent = toSend.isEmpty() && unsent == null;
      return isSent && arrivedBytes >= sentBytes && answeredBytes == askedBytes;
    }

    void check() {
      if (wasEvicted) {
        return; // What has arrived before its session was evicted arrives again.
      }
      Check.that(arrivedBytes <= sentBytes, "received more than was sent");
      Check.that(answeredBytes <= askedBytes, "received more answers than were sent");
      Check.that(arrived.stream().distinct().count() == arrived.size(), "received twice");
    }

    @Override
    public String toString() {
      return String.format(
          "%s conv %d %s: %d of %d bytes arrived, %d of %d answered, ended %s, at the server %s, %s",
          address,
          conv,
          delivery(conv),
          arrivedBytes,
          sentBytes,
          answeredBytes,
          askedBytes,
          end,
          serverEnd,
          serverSession(this) == null ? "no session" : serverSession(this).kcp().stats());
    }
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
      server.table.receive(packet.from, packet.data.duplicate(), nowUs);
    }
  }

  private void receive(Packet packet) {
    datagrams++;
    if (recent.size() == MAX_RECENT) {
      recent.set((int) (datagrams % MAX_RECENT), packet);
    } else {
      recent.add(packet);
    }
    server.table.receive(packet.from, packet.data.duplicate(), nowUs);
  }

  void endBatch() {
    server.table.endBatch(nowUs);
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
    nowUs = Math.max(nextUs, nowUs + 1_000); // In ticks of a millisecond, as an event loop has.
    deadlines.advance(nowUs);
    deliver();
    if (nowUs >= sweepAtUs) {
      sweepAtUs = nowUs + SWEEP_US;
      server.table.sweep(nowUs);
      clients.forEach(client -> client.driver.table.sweep(nowUs));
    }
    server.table.flushPending(nowUs);
    for (Client client : clients) {
      client.driver.table.flushPending(nowUs);
    }
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
      Client client = clientsByAddress.get(packet.to);
      if (client != null && !client.isSilent) {
        if (packet.data.readableBytes() >= Segment.HEADER_BYTES) {
          client.rcvNxt = Segment.una(packet.data, packet.data.readerIndex());
        }
        client.driver.table.receive(packet.from, packet.data, nowUs);
        client.driver.table.endBatch(nowUs);
      }
    }
    if (hasReceived) {
      server.table.endBatch(nowUs);
    }
  }

  /** Closes all, and checks that nothing is held. */
  void close() {
    for (Session session : List.copyOf(answers.keySet())) {
      server.table.remove(session, nowUs);
      session.close();
    }
    server.table.close();
    for (Client client : clients) {
      client.driver.table.remove(client.session, nowUs);
      if (client.end == null) {
        client.session.close();
      }
      client.driver.table.close();
    }
    Check.that(server.table.size() == 0, "sessions left");
    Check.that(budget.usedBytes() == 0, "still charged when all is closed");
    Check.that(allocator.usedBytes() == 0, "leaks");
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
      Client client = clientsByAddress.get(from.equals(SERVER) ? to : from);
      if (client == null || client.isSilent || random.nextInt(100) < lossPercent) {
        return; // Nobody receives it.
      }
      long atUs = nowUs + MIN_DELAY_US + random.nextInt(jitterUs);
      packets.add(new Packet(atUs, packetNumber++, from, to, data));
    }
  }
}
