package io.kcp4j.sim;

import io.kcp4j.CongestionControl;
import io.kcp4j.Delivery;
import io.kcp4j.EndReason;
import io.kcp4j.KcpConfig;
import io.kcp4j.KcpCounter;
import io.kcp4j.KcpCounters;
import io.kcp4j.KcpMode;
import io.kcp4j.fec.FecConfig;
import io.kcp4j.internal.crypto.PacketBatch;
import io.kcp4j.internal.crypto.PacketCipher;
import io.kcp4j.internal.fec.FecPacket;
import io.kcp4j.internal.memory.MemoryBudget;
import io.kcp4j.internal.memory.MemoryLimit;
import io.kcp4j.internal.session.SessionTable;
import io.kcp4j.internal.wire.Segment;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.Unpooled;
import io.netty.buffer.UnpooledByteBufAllocator;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.UnknownHostException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.function.Consumer;
import java.util.function.Supplier;
import java.util.stream.Stream;
import java.util.zip.CRC32C;

/**
 * Some clients, each with several sessions, and their server: {@link SessionTable}s in virtual
 * time. Sessions begin and end at all times, in order, by an abort or without a word; sides have
 * the extension, or not; unknown peers attack; the first datagram of a closed session is replayed
 * and must not begin it a second time; some clients vanish, which the server has to detect; in some
 * runs a {@link SimulatedFlood} takes the place of other attacks, in some the server restarts. It
 * may be short of memory. Packets are sealed, or not, and protected by FEC, or not; keys and FEC
 * settings change meanwhile.
 */
public final class SimulatedEndpoints {

  private static final CongestionControl.Factory[] CONTROLS = {
    CongestionControl.NONE, CongestionControl.RENO, CongestionControl.BBR
  };

  private static final long MEMORY_RANDOM = 0x4d45_4d4fL;

  /** So many sessions more begin if the server is short of memory. */
  private static final int MORE_SESSIONS = 40;

  private static final int OPENING_MS = 20_000;
  private static final int LINGER_MS = 30_000;

  /** Long enough for idle peers to be probed several times. */
  private static final int LONG_LINGER_MS = 300_000;

  /** A keep-alive interval of 60 s, seven unanswered probes, and what the network has delayed. */
  private static final int KEEP_ALIVE_TIMEOUT_WITHIN_US = 120_000_000;

  /** Less than the 60 s for which a closed session is remembered. */
  private static final int REPLAYED_WITHIN_MS = 50_000;

  /** An hour; the longest timeout passes once for each session that waits for room. */
  private static final long LATEST_END_US = 3_600_000_000L;

  private static final int MIN_MTU_BYTES = 100;

  /** Lanes need 92 bytes of payload beside the headers of all layers. */
  private static final int MIN_LANES_MTU_BYTES = 160;

  /** When FEC is switched on, segments that exist get its header on top. */
  private static final int MAX_MTU_BYTES = 1500 - FecPacket.DATA_HEADER_BYTES;

  /** Shorter parity does not have a conv: protocol.md 12.4. */
  private static final int PARITY_BYTES_UP_TO_CONV = FecPacket.DATA_HEADER_BYTES + Integer.BYTES;

  private record Path(InetSocketAddress from, InetSocketAddress to) {}

  private final long seed;
  private final double allocationFailures;
  private final SplittableRandom random;
  private final VirtualTime time = new VirtualTime();
  private final SimulatedNetwork network;
  private final InetSocketAddress serverAddress = address(0);
  private final InetSocketAddress attackerAddress = address(99);
  private final Map<InetSocketAddress, SimulatedEndpoint> endpoints = new HashMap<>();
  private final Map<Path, SimulatedLink> links = new HashMap<>();
  private final Map<Integer, SimulatedConversation> clientSides = new HashMap<>();
  private final Map<Integer, SimulatedConversation> serverSides = new HashMap<>();
  private final Map<Integer, SimulatedEndpoint> clientsOf = new HashMap<>();
  private final Map<Integer, Long> abandonedAtUs = new HashMap<>();
  private final Map<Integer, byte[]> firstDatagrams = new HashMap<>();
  private final CRC32C digest = new CRC32C();
  private final int guestConv;
  private boolean hasGuestTried;
  private boolean asksClients;
  private final SimulatedLayers layers;
  private final PacketCipher attackerCipher;

  /** Null in most runs. */
  private final SimulatedFlood flood;

  /** Null in most runs. */
  private final SimulatedRestart restart;

  /** The sessions of clients that gave way to others. */
  private final Set<Integer> evicted = new HashSet<>();

  private SimulatedEndpoint server;

  /** The server before it restarted, or null. */
  private SimulatedEndpoint killed;

  /** Whether some sessions have lanes. */
  private boolean hasLanes;

  /** Of the server; null unless that is short of memory. */
  private MemoryLimit memoryLimit;

  private Consumer<String> trace;
  private boolean mayBeFull;
  private int attackerProbes;
  private int attackerAnswers;

  /** Makes the endpoints of the seed; nothing happens before {@link #run}. */
  public SimulatedEndpoints(long seed) {
    this.seed = seed;
    allocationFailures = FailingAllocator.drawRate(seed);
    random = new SplittableRandom(seed);
    network = new SimulatedNetwork(time, random.split());
    guestConv = random.nextInt();
    layers = new SimulatedLayers(random);
    attackerCipher = layers.firstKey().newCipher();
    flood = SimulatedFlood.draw(seed);
    restart = flood == null ? SimulatedRestart.draw(seed) : null;
    if (layers.isSealed()) {
      network.dropChecksum();
    }
  }

  /** Reports every datagram as one line, which begins with the time in microseconds. */
  public SimulatedEndpoints trace(Consumer<String> trace) {
    this.trace = trace;
    return this;
  }

  /** Gives most of the sessions lanes. */
  public SimulatedEndpoints withLanes() {
    hasLanes = true;
    return this;
  }

  /** Makes the server short of memory, with many sessions, most of which have lanes. */
  public SimulatedEndpoints withLittleMemory() {
    SplittableRandom own = new SplittableRandom(seed ^ MEMORY_RANDOM);
    memoryLimit = MemoryLimit.shared((long) LinkProfile.logUniform(own, 1 << 18, 1 << 21));
    return withLanes();
  }

  /**
   * Runs until all sessions are closed and nothing is left to happen.
   *
   * @throws AssertionError if a check fails
   */
  public SimulationReport run() {
    int sessions = 5 + random.nextInt(25) + (memoryLimit == null ? 0 : MORE_SESSIONS);
    int maxSessions = random.nextInt(3) == 0 ? 3 + random.nextInt(3) : sessions;
    mayBeFull = maxSessions < sessions || flood != null || memoryLimit != null;
    int room = flood == null ? maxSessions : flood.drawMaxSessions(maxSessions);
    server = endpoint(serverAddress, room, new Server());
    int clients = 1 + random.nextInt(4);
    for (int i = 1; i <= clients; i++) {
      endpoint(address(i), 0, new Client());
    }
    for (int i = 0; i < sessions; i++) {
      SimulatedEndpoint client = endpoints.get(address(1 + random.nextInt(clients)));
      time.afterMs(random.nextInt(OPENING_MS), () -> open(client));
    }
    if (flood == null) {
      for (int i = random.nextInt(50); i >= 0; i--) {
        time.afterMs(random.nextInt(2 * OPENING_MS), this::attack);
      }
    } else {
      server.table().unvalidatedLimit(flood.drawUnvalidatedLimit());
      flood.schedule(time, OPENING_MS, this::flood);
    }
    boolean changesKey = layers.hasKeys() && random.nextInt(4) == 0;
    if (restart != null) {
      time.afterMs(restart.drawTimeMs(OPENING_MS), () -> restart(room));
    } else if (changesKey) {
      changeKey();
    }
    time.afterMs(OPENING_MS + random.nextInt(OPENING_MS), network::heal);
    while (time.step()) {
      if (time.nowUs() > LATEST_END_US) {
        throw new AssertionError("not done in time: " + unfinished());
      }
    }
    finish();
    return report();
  }

  private ByteBufAllocator failing(UnpooledByteBufAllocator allocator) {
    FailingAllocator failing =
        new FailingAllocator(
            allocator, allocationFailures, seed ^ endpoints.size(), network.faults());
    network.onHealed(failing::heal);
    return failing;
  }

  private SimulatedEndpoint endpoint(
      InetSocketAddress address, int maxSessions, SimulatedEndpoint.Owner owner) {
    SimulatedEndpoint endpoint =
        new SimulatedEndpoint(
            address,
            time,
            random.split(),
            this::failing,
            this::send,
            layers.firstKey(),
            maxSessions > 0 && memoryLimit != null
                ? new MemoryBudget(memoryLimit)
                : MemoryBudget.unlimited(),
            maxSessions,
            owner,
            trace);
    endpoints.put(address, endpoint);
    return endpoint;
  }

  /** First all open with the new key, then each seals with it, so that every packet opens. */
  private void changeKey() {
    int halfMs = OPENING_MS / 2;
    for (SimulatedEndpoint endpoint : endpoints.values()) {
      time.afterMs(random.nextInt(halfMs), () -> endpoint.rekey(layers.bothKeys()));
      time.afterMs(halfMs + random.nextInt(halfMs), () -> endpoint.rekey(layers.newKey()));
    }
  }

  private void restart(int room) {
    restart.forget(serverSides.values());
    killed = server;
    killed.kill();
    server = endpoint(serverAddress, room, new Server());
    if (restart.keepsSecret()) {
      server.table().resetTokens(killed.resetTokens());
    }
    clientSides.forEach(
        (conv, clientSide) -> {
          if (restart.hasForgotten(conv) && !clientSide.isClosed()) {
            abandonedAtUs.putIfAbsent(conv, time.nowUs());
            // A user timeout would do so, which is off here: its probes are answered.
            time.afterMs(LONG_LINGER_MS, () -> closeForgotten(conv));
          }
        });
  }

  private void closeForgotten(int conv) {
    Check.that(
        clientSides.get(conv).isClosed() || !restart.isNoticed(conv),
        () -> "conv " + conv + " has not noticed the restart");
    closeOnClient(clientsOf.get(conv), conv);
  }

  private boolean hasForgotten(int conv) {
    return restart != null && restart.hasForgotten(conv);
  }

  // Sessions

  private void open(SimulatedEndpoint client) {
    int conv = random.nextInt();
    if (clientSides.containsKey(conv) || conv == guestConv) {
      return;
    }
    boolean isLanes = hasLanes && random.nextInt(4) > 0;
    KcpConfig config = isLanes ? drawLanesConfig() : drawConfig();
    long request = 1 + (long) LinkProfile.logUniform(random, 1, 100_000);
    long response = (long) LinkProfile.logUniform(random, 1, 100_000);
    Payload requestPayload = new Payload(random.split());
    Payload responsePayload = new Payload(random.split());
    boolean closesAtOnce = random.nextBoolean();
    SimulatedLayers.FecSides fec = SimulatedLayers.drawFecSides(random);
    UnreliableTraffic requestsBeside = new UnreliableTraffic(conv, 0);
    UnreliableTraffic responsesBeside = new UnreliableTraffic(conv, 1);
    SimulatedConversation clientSide =
        new SimulatedConversation(
            conv,
            config,
            fec.client(),
            drawUnreliableLimit(),
            requestsBeside,
            responsesBeside,
            request,
            requestPayload,
            response,
            responsePayload,
            random.split(),
            () -> clientIsDone(client, conv, closesAtOnce));
    SimulatedConversation serverSide =
        new SimulatedConversation(
            conv,
            isLanes ? drawLanesConfig() : drawConfig(),
            fec.server(),
            drawUnreliableLimit(),
            responsesBeside,
            requestsBeside,
            response,
            responsePayload,
            request,
            requestPayload,
            random.split(),
            () -> {});
    clientSide.connect(serverSide);
    serverSide.connect(clientSide);
    clientsOf.put(conv, client);
    clientSides.put(conv, clientSide);
    serverSides.put(conv, serverSide);
    client.open(serverAddress, config, clientSide);
    if (random.nextInt(4) == 0) {
      changeFec(random.nextBoolean() ? clientSide : serverSide);
    }
    if (random.nextInt(5) == 0) {
      time.afterMs(random.nextInt(5000), () -> abandon(client, clientSide));
    }
  }

  private void changeFec(SimulatedConversation side) {
    FecConfig next = random.nextInt(4) == 0 ? FecConfig.NONE : SimulatedLayers.drawFec(random);
    time.afterMs(random.nextInt(OPENING_MS / 2), () -> side.changeFec(next));
  }

  /** None are taken, or so few that some are dropped. */
  private int drawUnreliableLimit() {
    return random.nextInt(4) == 0 ? 0 : 1 + random.nextInt(6);
  }

  private KcpConfig drawLanesConfig() {
    KcpConfig drawn = drawConfig();
    return drawn.toBuilder()
        .delivery(Delivery.LANES)
        .mtuBytes(Math.max(drawn.mtuBytes(), MIN_LANES_MTU_BYTES))
        .build();
  }

  private KcpConfig drawConfig() {
    KcpMode[] modes = KcpMode.values();
    return KcpConfig.builder()
        .mode(modes[random.nextInt(modes.length)])
        .sendWindow(1 + random.nextInt(300))
        .receiveWindow(1 + random.nextInt(300))
        .mtuBytes(MIN_MTU_BYTES + random.nextInt(MAX_MTU_BYTES - MIN_MTU_BYTES + 1))
        .congestionControl(CONTROLS[random.nextInt(CONTROLS.length)])
        .ackNoDelay(random.nextBoolean())
        .userTimeoutMs(0)
        .build();
  }

  private final class Server implements SimulatedEndpoint.Owner {

    @Override
    public SimulatedConversation accept(InetSocketAddress remote, int conv) {
      if (flood != null && flood.contains(conv)) {
        return flood.accept(conv, drawConfig());
      }
      Check.that(
          conv == guestConv || serverSides.containsKey(conv), "accepts what nobody has begun");
      return evicted.contains(conv) || hasForgotten(conv) ? null : serverSides.get(conv);
    }

    @Override
    public void ended(int conv, EndReason reason) {
      if (flood != null && flood.contains(conv)) {
        flood.ended(reason);
        return;
      }
      if (isEndedForOthers(reason)) {
        boolean isValidated = serverSides.get(conv).session().path().isValidated();
        boolean isEvicted = reason == EndReason.EVICTED;
        Check.that(!isValidated || !isEvicted, "a validated session was evicted");
        evicted.add(conv);
        abandonedAtUs.put(conv, time.nowUs());
        // Else its user timeout would do so, which is off here: its probes are answered.
        time.afterMs(LONG_LINGER_MS, () -> closeOnClient(clientsOf.get(conv), conv));
        return;
      }
      boolean mayEnd = clientSides.get(conv).mayEndPeer(reason);
      Check.that(mayEnd, () -> "conv " + conv + " ended: " + reason);
      long afterUs = time.nowUs() - abandonedAtUs.getOrDefault(conv, time.nowUs());
      Check.that(
          afterUs < KEEP_ALIVE_TIMEOUT_WITHIN_US,
          () -> "the peer of conv " + conv + " was found unresponsive after " + afterUs + " us");
    }

    private boolean isEndedForOthers(EndReason reason) {
      return switch (reason) {
        case EVICTED -> flood != null || memoryLimit != null;
        case MEMORY_SHORTAGE -> memoryLimit != null;
        default -> false;
      };
    }

    /** The first datagram of the session is repeated, and must not begin it again. */
    @Override
    public void left(int conv) {
      time.afterMs(random.nextInt(REPLAYED_WITHIN_MS), () -> replay(clientsOf.get(conv), conv));
    }
  }

  private final class Client implements SimulatedEndpoint.Owner {

    @Override
    public SimulatedConversation accept(InetSocketAddress remote, int conv) {
      throw new AssertionError("a client accepts");
    }

    @Override
    public void ended(int conv, EndReason reason) {
      boolean isLeftOut = mayBeFull && isUnanswered(conv, reason);
      if (isLeftOut) { // There was no room for it.
        abandonedAtUs.put(conv, time.nowUs());
      }
      boolean mayEnd = isLeftOut || serverSides.get(conv).mayEndPeer(reason);
      Check.that(mayEnd, () -> "conv " + conv + " ended: " + reason);
      Check.that(
          restart == null || !restart.isNoticed(conv) || reason == EndReason.SESSION_UNKNOWN,
          () -> "conv " + conv + " has not noticed the restart: " + reason);
    }

    /** Whether a client has ended since none of its segments was ever acknowledged. */
    private boolean isUnanswered(int conv, EndReason reason) {
      boolean isUnanswered =
          reason == EndReason.HANDSHAKE_TIMEOUT
              || reason == EndReason.KEEP_ALIVE_TIMEOUT
              || reason == EndReason.REFUSED;
      return isUnanswered && clientSides.get(conv).session().kcp().srttUs() == 0;
    }

    /** Until now it may have retransmitted what it had sent before it was closed. */
    @Override
    public void left(int conv) {
      abandonedAtUs.computeIfPresent(conv, (same, atUs) -> time.nowUs());
    }
  }

  /** The client vanishes in the middle. */
  private void abandon(SimulatedEndpoint client, SimulatedConversation clientSide) {
    if (!clientSide.isDone() && !clientSide.isClosed()) {
      abandonedAtUs.put(clientSide.conv(), time.nowUs());
      client.close(clientSide.session());
    }
  }

  /** All bytes of the client are acknowledged, and those of the server were read. */
  private void clientIsDone(SimulatedEndpoint client, int conv, boolean closesAtOnce) {
    int lingerMs = 0;
    if (closesAtOnce) {
      closeOnClient(client, conv);
    } else {
      lingerMs = random.nextInt(3) == 0 ? random.nextInt(LONG_LINGER_MS) : 0;
      time.afterMs(lingerMs + random.nextInt(LINGER_MS), () -> closeOnClient(client, conv));
    }
    time.afterMs(lingerMs + random.nextInt(LINGER_MS), () -> closeOnServer(conv));
  }

  private void closeOnClient(SimulatedEndpoint client, int conv) {
    SimulatedConversation clientSide = clientSides.get(conv);
    if (!clientSide.isClosed()) {
      client.close(clientSide.session());
    }
  }

  private void closeOnServer(int conv) {
    SimulatedConversation serverSide = serverSides.get(conv);
    if (serverSide.isClosed()) {
      return;
    }
    server.close(serverSide.session());
  }

  /** The server remembers the session, or {@link SimulatedConversation#attach} will complain. */
  private void replay(SimulatedEndpoint client, int conv) {
    if (!hasForgotten(conv)) {
      server.receiveUnclaimed(
          client.address(), firstDatagrams.get(conv), KcpCounter.CLOSED_SESSION);
    }
  }

  // The network

  /** Whether the server has sent a retry or a challenge to a client that begins a session. */
  private boolean hasAskedClients() {
    KcpCounters counters = server.counters();
    asksClients |=
        counters.get(KcpCounter.RETRIES_OUT) + counters.get(KcpCounter.ADDRESS_CHALLENGES_OUT) > 0;
    return asksClients;
  }

  private void send(InetSocketAddress from, InetSocketAddress to, byte[] plain, byte[] sealed) {
    for (int shift = 0; shift < Long.SIZE; shift += 8) {
      digest.update((int) (time.nowMs() >>> shift));
    }
    digest.update(to.getPort());
    if (flood == null && !hasAskedClients()) {
      digest.update(plain);
    } else { // The tokens of retries are those of no other run.
      digest.update(plain.length);
    }
    PlainPacket packet = new PlainPacket(plain);
    if (flood != null && flood.takes(to, packet, sealed.length)) {
      return;
    }
    if (to.equals(attackerAddress)) {
      answered(packet);
      return;
    }
    if (to.equals(serverAddress) && packet.isFirst()) {
      firstDatagrams.putIfAbsent(packet.conv(), sealed);
    }
    links.computeIfAbsent(new Path(from, to), this::link).send(sealed);
  }

  private SimulatedLink link(Path path) {
    LinkProfile profile = LinkProfile.draw(random, 100_000);
    return network.connect(profile, bytes -> endpoints.get(path.to).received(path.from, bytes));
  }

  // Unknown peers

  private void attack() {
    ByteBuf datagram = Unpooled.buffer(2048);
    int headroom = layers.firstKey().headroom();
    datagram.writeZero(headroom);
    if (layers.isSealed() && random.nextInt(3) == 0) {
      // Without the key: it is not parsed.
      byte[] noise = new byte[random.nextInt(1500)];
      random.nextBytes(noise);
      server.receiveUnclaimed(attackerAddress, noise, KcpCounter.DECRYPT_FAILED);
      return;
    }
    Supplier<KcpCounter> countedAs = writeAttack(datagram);
    if (layers.isSealed()
        && datagram.writerIndex() - headroom < FecPacket.DATA_HEADER_BYTES + Integer.BYTES) {
      countedAs = () -> KcpCounter.DECRYPT_FAILED; // Too short for a packet: not opened.
    }
    server.receiveUnclaimed(attackerAddress, seal(datagram), countedAs);
  }

  /** Seals a packet with room for the header of the cipher. */
  private byte[] seal(ByteBuf packet) {
    packet.writeZero(layers.firstKey().tailroom());
    PacketBatch batch = new PacketBatch().reset(packet);
    batch.add(0, packet.writerIndex());
    attackerCipher.seal(batch);
    return Arrays.copyOf(packet.array(), packet.writerIndex());
  }

  private void flood(InetSocketAddress from, ByteBuf plain) {
    ByteBuf packet = Unpooled.buffer(2048).writeZero(layers.firstKey().headroom());
    byte[] sealed = seal(packet.writeBytes(plain));
    flood.arrives(from, sealed.length);
    server.received(from, sealed);
  }

  /** Returns what the server must count it as, whose value is null if it is to answer. */
  private Supplier<KcpCounter> writeAttack(ByteBuf datagram) {
    int start = datagram.writerIndex();
    int sn = 1 + random.nextInt(100);
    switch (random.nextInt(9)) {
      case 0 -> {
        attackerProbes++;
        Segment.write(datagram, guestConv, Segment.WASK, 0, 9, 0, 0, 0, 0);
        return () -> server.hasRoom() ? null : KcpCounter.UNKNOWN_SESSION;
      }
      case 1 -> {
        Segment.write(datagram, guestConv, Segment.ACK, 0, 9, 0, 0, 0, 0);
        return () -> KcpCounter.UNKNOWN_SESSION;
      }
      case 2 -> {
        Segment.write(datagram, guestConv, Segment.PUSH, 0, 9, 0, sn, 0, 5);
        datagram.writeZero(5);
        return () -> KcpCounter.UNKNOWN_SESSION;
      }
      case 3 -> {
        boolean begins = !hasGuestTried; // A second time it would be challenged, under an AEAD.
        hasGuestTried = true;
        Segment.write(datagram, guestConv, Segment.PUSH, 0, 9, 0, begins ? 0 : sn, 0, 5);
        datagram.writeZero(5);
        return () -> begins ? KcpCounter.ACCEPT_REFUSED : KcpCounter.UNKNOWN_SESSION;
      }
      case 4 -> {
        Segment.write(datagram, guestConv, Segment.PUSH, 0, 9, 0, 0, 0, 1477);
        datagram.writeZero(1477);
        return () -> KcpCounter.OVERSIZE;
      }
      case 5 -> {
        datagram.writeIntLE(random.nextInt()).writeShortLE(FecPacket.PARITY).writeZero(sn);
        boolean showsConv = FecPacket.HEADER_BYTES + sn >= PARITY_BYTES_UP_TO_CONV;
        return () -> showsConv ? KcpCounter.UNKNOWN_SESSION : KcpCounter.FEC_REFUSED;
      }
      case 6 -> {
        datagram.writeZero(FecPacket.DATA_HEADER_BYTES).writeIntLE(guestConv).writeZero(sn);
        FecPacket.write(datagram, start, datagram.writerIndex(), -1, FecPacket.OUT_OF_BAND);
        return () -> KcpCounter.UNKNOWN_SESSION;
      }
      case 7 -> {
        int type = random.nextBoolean() ? FecPacket.DATA : FecPacket.OUT_OF_BAND;
        datagram.writeIntLE(sn).writeShortLE(type).writeShortLE(sn + 3).writeZero(sn);
        return () -> KcpCounter.FEC_REFUSED;
      }
      default -> {
        byte[] garbage = new byte[random.nextInt(100)];
        Arrays.fill(garbage, (byte) random.nextInt(Segment.PUSH));
        datagram.writeBytes(garbage);
        boolean hasHeader = garbage.length >= Segment.HEADER_BYTES;
        return () -> hasHeader ? KcpCounter.NOT_KCP : KcpCounter.MALFORMED;
      }
    }
  }

  private void answered(PlainPacket packet) {
    Check.that(packet.isWins(guestConv), () -> "an unknown peer was sent " + packet);
    attackerAnswers++;
  }

  // The end

  private List<String> unfinished() {
    List<String> unfinished = new ArrayList<>();
    clientSides.forEach(
        (conv, client) -> {
          SimulatedConversation server = serverSides.get(conv);
          // A peer that has been told of an abort drops what it has not read.
          boolean allReceived =
              (client.hasReceivedAll() || server.isAborted())
                  && (server.hasReceivedAll() || client.isAborted());
          boolean serverIsClosed = server.isClosed() || server.session() == null;
          if (!client.isClosed()
              || !serverIsClosed
              || (!allReceived && !abandonedAtUs.containsKey(conv))) {
            unfinished.add(conv + ": " + client + " and " + server);
          }
        });
    return unfinished;
  }

  private void finish() {
    if (!unfinished().isEmpty()) {
      throw new AssertionError("stuck: " + unfinished());
    }
    all().forEach(SimulatedEndpoint::finish);
    int ofFlood = flood == null ? 0 : flood.sessions();
    int sessions = clientSides.size() + ofFlood;
    checkCounter(KcpCounter.SESSIONS_OPENED, sessions - abandonedAtUs.size(), sessions);
    checkCounter(KcpCounter.SESSIONS_CLOSED, sessions - abandonedAtUs.size(), sessions);
    // A blocked socket drops the answer.
    Check.that(attackerAnswers <= attackerProbes, "more answers than probes");
  }

  private void checkCounter(KcpCounter counter, long min, long max) {
    long value = count(counter, servers());
    Check.that(
        value >= min && value <= max,
        () -> counter + " is " + value + " (expected: " + min + " to " + max + ")");
  }

  private SimulationReport report() {
    long segments = count(KcpCounter.SEGMENTS_OUT, all());
    long fromServer = count(KcpCounter.SEGMENTS_OUT, servers());
    return new SimulationReport(
        segments - fromServer,
        fromServer,
        count(KcpCounter.RETRANSMITTED, servers()),
        time.nowUs(),
        digest.getValue(),
        counters(),
        network.faults());
  }

  private KcpCounters counters() {
    KcpCounters counters = new KcpCounters();
    for (KcpCounter counter : KcpCounter.values()) {
      counters.add(counter, count(counter, all()));
    }
    return counters;
  }

  private static long count(KcpCounter counter, Stream<SimulatedEndpoint> endpoints) {
    return endpoints.mapToLong(endpoint -> endpoint.counters().get(counter)).sum();
  }

  /** The server, and the one before it restarted. */
  private Stream<SimulatedEndpoint> servers() {
    return Stream.of(server, killed).filter(Objects::nonNull);
  }

  private Stream<SimulatedEndpoint> all() {
    return Stream.concat(endpoints.values().stream(), Stream.ofNullable(killed));
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
