package io.kcp4j.sim;

import io.kcp4j.CongestionControl;
import io.kcp4j.KcpConfig;
import io.kcp4j.KcpCounter;
import io.kcp4j.KcpMode;
import io.kcp4j.Segment;
import io.kcp4j.session.EndReason;
import io.kcp4j.session.SessionTable;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.UnknownHostException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.function.Consumer;
import java.util.zip.CRC32C;

/**
 * Some clients, each with several sessions, and their server: {@link SessionTable}s in virtual
 * time. Sessions begin and end at all times; strangers knock; the first datagram of a closed
 * session comes again and must not begin it a second time; some clients vanish, which the server
 * has to find out by itself.
 */
public final class SimulatedEndpoints {

  private static final int OPENING_MS = 20_000;
  private static final int LINGER_MS = 30_000;

  /** Long enough for silent peers to be probed several times. */
  private static final int LONG_LINGER_MS = 300_000;

  /** 60 s of silence, three probes 5 s apart, and what the network held back. */
  private static final int SILENCE_FOUND_OUT_WITHIN_MS = 120_000;

  /** Less than the 60 s for which a closed session is remembered. */
  private static final int REPLAYED_WITHIN_MS = 50_000;

  /** An hour; the longest timeout comes once for each session that waits for a place. */
  private static final long LATEST_END_MS = 3_600_000;

  private record Path(InetSocketAddress from, InetSocketAddress to) {}

  private final SplittableRandom random;
  private final VirtualTime time = new VirtualTime();
  private final SimulatedNetwork network;
  private final InetSocketAddress serverAddress = address(0);
  private final InetSocketAddress strangerAddress = address(99);
  private final Map<InetSocketAddress, SimulatedEndpoint> endpoints = new HashMap<>();
  private final Map<Path, SimulatedLink> links = new HashMap<>();
  private final Map<Integer, SimulatedConversation> clientSides = new HashMap<>();
  private final Map<Integer, SimulatedConversation> serverSides = new HashMap<>();
  private final Map<Integer, Long> abandonedAtMs = new HashMap<>();
  private final Map<Integer, byte[]> firstDatagrams = new HashMap<>();
  private final CRC32C digest = new CRC32C();
  private final int guestConv;
  private SimulatedEndpoint server;
  private Consumer<String> trace;
  private int probesOfStrangers;
  private int answersToStrangers;
  private int unknownOfStrangers;
  private int oversizeOfStrangers;
  private int replays;

  /** Makes what the seed says; nothing happens before {@link #run}. */
  public SimulatedEndpoints(long seed) {
    random = new SplittableRandom(seed);
    network = new SimulatedNetwork(time, random.split());
    guestConv = random.nextInt();
  }

  /** Tells every datagram as one line. */
  public SimulatedEndpoints trace(Consumer<String> trace) {
    this.trace = trace;
    return this;
  }

  /**
   * Runs until all sessions are closed and nothing is left to happen.
   *
   * @throws AssertionError if a promise was broken
   */
  public SimulationReport run() {
    int sessions = 5 + random.nextInt(25);
    int maxSessions = random.nextInt(3) == 0 ? 3 + random.nextInt(3) : sessions;
    server = endpoint(serverAddress, maxSessions, new Server());
    int clients = 1 + random.nextInt(4);
    for (int i = 1; i <= clients; i++) {
      endpoint(address(i), 0, new Client());
    }
    for (int i = 0; i < sessions; i++) {
      SimulatedEndpoint client = endpoints.get(address(1 + random.nextInt(clients)));
      time.after(random.nextInt(OPENING_MS), () -> open(client));
    }
    for (int i = random.nextInt(50); i >= 0; i--) {
      time.after(random.nextInt(2 * OPENING_MS), this::knock);
    }
    time.after(OPENING_MS + random.nextInt(OPENING_MS), network::heal);
    while (time.step()) {
      if (time.nowMs() > LATEST_END_MS) {
        throw new AssertionError("not done in time: " + unfinished());
      }
    }
    finish();
    return report();
  }

  private SimulatedEndpoint endpoint(
      InetSocketAddress address, int maxSessions, SimulatedEndpoint.Owner owner) {
    SimulatedEndpoint endpoint =
        new SimulatedEndpoint(address, time, random.split(), this::send, maxSessions, owner, trace);
    endpoints.put(address, endpoint);
    return endpoint;
  }

  // Sessions

  private void open(SimulatedEndpoint client) {
    int conv = random.nextInt();
    if (clientSides.containsKey(conv) || conv == guestConv) {
      return;
    }
    KcpConfig config = drawConfig();
    long request = 1 + (long) LinkProfile.logUniform(random, 1, 100_000);
    long response = (long) LinkProfile.logUniform(random, 1, 100_000);
    Payload requestPayload = new Payload(random.split());
    Payload responsePayload = new Payload(random.split());
    boolean closesAtOnce = random.nextBoolean();
    SimulatedConversation clientSide =
        new SimulatedConversation(
            conv,
            config,
            request,
            requestPayload,
            response,
            responsePayload,
            random.split(),
            () -> clientIsDone(client, conv, closesAtOnce));
    SimulatedConversation serverSide =
        new SimulatedConversation(
            conv,
            drawConfig(),
            response,
            responsePayload,
            request,
            requestPayload,
            random.split(),
            () -> {});
    clientSides.put(conv, clientSide);
    serverSides.put(conv, serverSide);
    client.open(serverAddress, config, clientSide);
    if (random.nextInt(5) == 0) {
      time.after(random.nextInt(5000), () -> abandon(client, clientSide));
    }
  }

  private KcpConfig drawConfig() {
    KcpMode[] modes = KcpMode.values();
    return KcpConfig.builder()
        .mode(modes[random.nextInt(modes.length)])
        .sendWindow(1 + random.nextInt(300))
        .receiveWindow(1 + random.nextInt(300))
        .mtuBytes(100 + random.nextInt(1400))
        .congestionControl(random.nextBoolean() ? CongestionControl.NONE : CongestionControl.RENO)
        .ackNoDelay(random.nextBoolean())
        .writeDelay(random.nextBoolean())
        .deadLink(0)
        .progressTimeoutMs(0)
        .build();
  }

  private final class Server implements SimulatedEndpoint.Owner {

    @Override
    public SimulatedConversation accept(InetSocketAddress remote, int conv) {
      Check.that(
          conv == guestConv || serverSides.containsKey(conv), "accepts what nobody has begun");
      return serverSides.get(conv);
    }

    @Override
    public void ended(int conv, EndReason reason) {
      boolean alone = clientSides.get(conv).isClosed();
      Check.that(
          alone && reason == EndReason.PEER_SILENT, () -> "conv " + conv + " ended: " + reason);
      long afterMs = time.nowMs() - abandonedAtMs.getOrDefault(conv, time.nowMs());
      Check.that(
          afterMs < SILENCE_FOUND_OUT_WITHIN_MS, () -> "silence was found out after " + afterMs);
    }
  }

  private final class Client implements SimulatedEndpoint.Owner {

    @Override
    public SimulatedConversation accept(InetSocketAddress remote, int conv) {
      throw new AssertionError("a client accepts");
    }

    @Override
    public void ended(int conv, EndReason reason) {
      boolean alone = serverSides.get(conv).isClosed();
      Check.that(
          alone && reason == EndReason.PEER_SILENT, () -> "conv " + conv + " ended: " + reason);
    }
  }

  /** The client vanishes in the middle. */
  private void abandon(SimulatedEndpoint client, SimulatedConversation clientSide) {
    if (!clientSide.isDone()) {
      abandonedAtMs.put(clientSide.conv(), time.nowMs());
      client.close(clientSide.session());
    }
  }

  /** All the client's bytes are acknowledged and so the server has them; it has no more to say. */
  private void clientIsDone(SimulatedEndpoint client, int conv, boolean closesAtOnce) {
    int lingerMs = 0;
    if (closesAtOnce) {
      closeOnClient(client, conv);
    } else {
      lingerMs = random.nextInt(3) == 0 ? random.nextInt(LONG_LINGER_MS) : 0;
      time.after(lingerMs + random.nextInt(LINGER_MS), () -> closeOnClient(client, conv));
    }
    time.after(lingerMs + random.nextInt(LINGER_MS), () -> closeOnServer(client, conv));
  }

  private void closeOnClient(SimulatedEndpoint client, int conv) {
    SimulatedConversation clientSide = clientSides.get(conv);
    if (!clientSide.isClosed()) {
      client.close(clientSide.session());
    }
  }

  private void closeOnServer(SimulatedEndpoint client, int conv) {
    SimulatedConversation serverSide = serverSides.get(conv);
    if (serverSide.isClosed()) {
      return;
    }
    server.close(serverSide.session());
    time.after(random.nextInt(REPLAYED_WITHIN_MS), () -> replay(client, conv));
  }

  /** The server remembers the session, or {@link SimulatedConversation#attach} will complain. */
  private void replay(SimulatedEndpoint client, int conv) {
    replays++;
    server.arrived(client.address(), firstDatagrams.get(conv));
  }

  // The network

  private void send(InetSocketAddress from, InetSocketAddress to, byte[] datagram) {
    digest.update(to.getPort());
    digest.update(datagram);
    if (to.equals(strangerAddress)) {
      answered(datagram);
      return;
    }
    if (to.equals(serverAddress)) {
      ByteBuf buffer = Unpooled.wrappedBuffer(datagram);
      if (Segment.cmd(buffer, 0) == Segment.PUSH && Segment.sn(buffer, 0) == 0) {
        firstDatagrams.putIfAbsent(Segment.conv(buffer, 0), datagram);
      }
    }
    links.computeIfAbsent(new Path(from, to), this::link).send(datagram);
  }

  private SimulatedLink link(Path path) {
    SimulatedEndpoint target = endpoints.get(path.to);
    LinkProfile profile = LinkProfile.draw(random, 100_000);
    return network.connect(profile, bytes -> target.arrived(path.from, bytes));
  }

  // Strangers

  private void knock() {
    ByteBuf datagram = Unpooled.buffer(2048);
    int sn = 1 + random.nextInt(100);
    switch (random.nextInt(6)) {
      case 0 -> {
        probesOfStrangers++;
        Segment.write(datagram, guestConv, Segment.WASK, 0, 9, 0, 0, 0, 0);
      }
      case 1 -> {
        unknownOfStrangers++;
        Segment.write(datagram, guestConv, Segment.ACK, 0, 9, 0, 0, 0, 0);
      }
      case 2 -> {
        unknownOfStrangers++;
        Segment.write(datagram, guestConv, Segment.PUSH, 0, 9, 0, sn, 0, 5);
        datagram.writeZero(5);
      }
      case 3 -> {
        Segment.write(datagram, guestConv, Segment.PUSH, 0, 9, 0, 0, 0, 5);
        datagram.writeZero(5);
      }
      case 4 -> {
        oversizeOfStrangers++;
        Segment.write(datagram, guestConv, Segment.PUSH, 0, 9, 0, 0, 0, 1477);
        datagram.writeZero(1477);
      }
      default -> {
        byte[] garbage = new byte[random.nextInt(100)];
        Arrays.fill(garbage, (byte) random.nextInt(Segment.PUSH));
        datagram.writeBytes(garbage);
      }
    }
    server.arrived(strangerAddress, Arrays.copyOf(datagram.array(), datagram.writerIndex()));
  }

  private void answered(byte[] bytes) {
    ByteBuf datagram = Unpooled.wrappedBuffer(bytes);
    boolean onlyWins =
        bytes.length == Segment.HEADER_BYTES
            && Segment.cmd(datagram, 0) == Segment.WINS
            && Segment.conv(datagram, 0) == guestConv;
    Check.that(onlyWins, () -> "a stranger was sent" + WireMonitor.describe(datagram, 0));
    answersToStrangers++;
  }

  // The end

  private List<String> unfinished() {
    List<String> unfinished = new ArrayList<>();
    clientSides.forEach(
        (conv, client) -> {
          SimulatedConversation server = serverSides.get(conv);
          boolean allHeard = client.hasHeardAll() && server.hasHeardAll();
          boolean serverIsClosed = server.isClosed() || server.session() == null;
          if (!client.isClosed()
              || !serverIsClosed
              || (!allHeard && !abandonedAtMs.containsKey(conv))) {
            unfinished.add(conv + ": " + client + " and " + server);
          }
        });
    return unfinished;
  }

  private void finish() {
    if (!unfinished().isEmpty()) {
      throw new AssertionError("stuck: " + unfinished());
    }
    endpoints.values().forEach(SimulatedEndpoint::finish);
    int sessions = clientSides.size();
    checkCounter(KcpCounter.SESSIONS_OPENED, sessions - abandonedAtMs.size(), sessions);
    checkCounter(KcpCounter.SESSIONS_CLOSED, sessions - abandonedAtMs.size(), sessions);
    checkCounter(KcpCounter.CLOSED_SESSION, replays, Long.MAX_VALUE);
    checkCounter(KcpCounter.UNKNOWN_SESSION, unknownOfStrangers, Long.MAX_VALUE);
    checkCounter(KcpCounter.OVERSIZE, oversizeOfStrangers, Long.MAX_VALUE);
    // A socket that is blocked swallows the answer.
    Check.that(answersToStrangers <= probesOfStrangers, "more answers to strangers than probes");
  }

  private void checkCounter(KcpCounter counter, long min, long max) {
    long value = server.counters().get(counter);
    Check.that(
        value >= min && value <= max,
        () -> counter + " is " + value + " (expected: " + min + " to " + max + ")");
  }

  private SimulationReport report() {
    long fromClients = 0;
    for (SimulatedEndpoint endpoint : endpoints.values()) {
      fromClients += endpoint.counters().get(KcpCounter.SEGMENTS_OUT);
    }
    long fromServer = server.counters().get(KcpCounter.SEGMENTS_OUT);
    return new SimulationReport(
        fromClients - fromServer,
        fromServer,
        server.counters().get(KcpCounter.RETRANSMITTED),
        time.nowMs(),
        digest.getValue(),
        network.faults());
  }

  private static InetSocketAddress address(int host) {
    try {
      byte[] bytes = {10, 0, 0, (byte) (host + 1)};
      return new InetSocketAddress(InetAddress.getByAddress(bytes), 4000 + host);
    } catch (UnknownHostException e) {
      throw new AssertionError(e);
    }
  }
}
