package io.kcp4j.fuzz;

import io.kcp4j.Delivery;
import io.kcp4j.EndReason;
import io.kcp4j.internal.arq.Kcp;
import io.kcp4j.internal.lanes.Lane;
import io.kcp4j.internal.memory.MemoryAccount;
import io.kcp4j.internal.memory.NetworkParts;
import io.kcp4j.internal.session.Session;
import io.kcp4j.internal.session.TestDriver;
import io.kcp4j.lanes.LanesConfig;
import io.kcp4j.smux.SmuxException;
import io.kcp4j.smux.SmuxStream;
import io.kcp4j.smux.SmuxStreamListener;
import io.kcp4j.smux.SmuxStreamSource;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.net.InetSocketAddress;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.Set;

/**
 * The server of {@link MemoryPeers}: reads what arrives, answers what asks for it, and checks that
 * sessions end only by the rules of protocol.md 8.12.
 */
final class MemoryServer {

  private static final int MAX_SESSIONS = 10_000;

  /** The memory of a stream's channel, as kcp-netty charges it. */
  private static final int CHANNEL_BYTES = 4 * 1024;

  /** A turn to use the reserve is over after a second without growth; time passes in steps. */
  private static final long STALLED_US = 900_000;

  /** A session may have the reserve for so long while others wait. */
  private static final long MAX_TURN_US = 15_000_000;

  /** By this part of what it holds a session with the reserve has to grow. */
  private static final int GROWTH_PART = 16;

  final TestDriver driver;

  /** The sessions whose application does not read. */
  final Set<InetSocketAddress> unread = new HashSet<>();

  private final MemoryPeers peers;
  private final Map<Session, Served> sessions = new LinkedHashMap<>();

  /** Those of them of clients. */
  private final Set<Served> ofClients = new LinkedHashSet<>();

  /** Those of them whose streams or memory have no room. */
  private final Set<Served> blocked = new LinkedHashSet<>();

  MemoryServer(MemoryPeers peers) {
    this.peers = peers;
    driver =
        TestDriver.builder(peers.context)
            .deadlines(peers.deadlines)
            .maxSessions(MAX_SESSIONS)
            .nowUs(peers.nowUs)
            .build();
    driver.acceptor = this::accept;
    driver.output = remote -> peers.new Output(MemoryPeers.SERVER, remote);
    driver.onProgress = session -> sessions.get(session).progressed();
    driver.onEnd = (session, reason) -> sessions.remove(session).ended(reason);
  }

  private Session accept(InetSocketAddress remote, int conv) {
    Kcp kcp = new Kcp(conv, MemoryPeers.config(conv), peers.context, conv * 31);
    Session session = driver.newSession(remote, kcp);
    if (MemoryPeers.delivery(conv) == Delivery.LANES) {
      driver.table.answerLanes(session, LanesConfig.DEFAULT, conv | 1L << 40, conv);
    } else if (MemoryPeers.hasExtension(conv)) {
      session.answerExtension(conv | 1L << 40, conv);
    }
    MemoryClient client = peers.client(remote, conv);
    if (client != null) {
      client.beginsAtServer();
    }
    sessions.put(session, new Served(session, client));
    return session;
  }

  int validatedSessions() {
    int validated = 0;
    for (Session session : sessions.keySet()) {
      validated += session.path().isValidated() ? 1 : 0;
    }
    return validated;
  }

  /** The open streams of sessions whose paths are validated. */
  int validatedStreams() {
    int streams = 0;
    for (Served served : sessions.values()) {
      boolean isCounted = served.link != null && served.session.path().isValidated();
      streams += isCounted ? served.link.smux.openStreams() : 0;
    }
    return streams;
  }

  boolean hasBlocked() {
    return !blocked.isEmpty();
  }

  /** Streams that have had no room look for it. */
  void recheckBlocked() {
    for (Served served : List.copyOf(blocked)) {
      served.runTimers();
    }
  }

  /** To be called once a second. */
  void sweep() {
    driver.table.sweep(peers.nowUs);
    for (Served served : List.copyOf(sessions.values())) {
      served.runTimers();
    }
  }

  /** Notes which sessions have the reserve and do not grow. */
  void watchReserve() {
    for (Served served : ofClients) {
      served.watchReserve();
    }
  }

  /** Lets the application read again. */
  void readAll() {
    unread.clear();
    for (Served served : List.copyOf(sessions.values())) {
      served.progressed();
    }
    driver.table.flushPending(peers.nowUs);
  }

  /** Whether streams of a client may stay unanswered that have arrived. */
  boolean mayIgnoreStreams(MemoryClient client) {
    Served served = served(client);
    return served == null || served.memory.hasRefused || served.link.isBlocked();
  }

  String describe(MemoryClient client) {
    Served served = served(client);
    return served == null ? "no session" : served.session.kcp().stats().toString();
  }

  private Served served(MemoryClient client) {
    return ofClients.stream().filter(s -> s.client == client).findFirst().orElse(null);
  }

  void close() {
    for (Served served : List.copyOf(sessions.values())) {
      served.close();
    }
    driver.table.close();
    Check.that(driver.table.size() == 0, "sessions left");
  }

  /** A session, and what the server still has to send by it. */
  private final class Served {

    private final Session session;

    /** Null if the session is none of a client: its datagrams were forged. */
    private final MemoryClient client;

    private final Queue<ByteBuf> toSend = new ArrayDeque<>();
    private int lane;

    // Of a session with streams; null without:

    private final AccountMemory memory;
    private final SmuxLink link;
    private final List<ServedStream> streams = new ArrayList<>();

    // Whether it had the reserve when it was last looked at, and since when it has not grown:

    private boolean hadReserve;
    private boolean hasStalled;
    private long grownAtUs;
    private int grownBytes;
    private long turnAtUs;

    Served(Session session, MemoryClient client) {
      this.session = session;
      this.client = client;
      if (client != null) {
        ofClients.add(this);
      }
      if (peers.hasStreams(session.conv())) {
        memory = new AccountMemory(session, () -> driver.table.scheduleFlush(session));
        link =
            new SmuxLink(
                session,
                MemoryPeers.smuxConfig(session.conv()),
                false,
                memory,
                peers.allocator,
                this::accept,
                peers.nowUs);
      } else {
        memory = null;
        link = null;
      }
    }

    private boolean isReading() {
      return !unread.contains(session.remote());
    }

    void progressed() {
      if (link != null) {
        progressStreams();
      } else {
        if (isReading()) {
          read();
        }
        write();
      }
      driver.table.scheduleFlush(session);
    }

    private void read() {
      if (session.lanes() != null) {
        for (Lane next; (next = session.lanes().nextNews()) != null; ) {
          for (ByteBuf message; (message = next.receive()) != null; message.release()) {
            received(message, next.id());
          }
          next.takeInputEnd();
        }
      }
      for (ByteBuf part; (part = session.kcp().receive()) != null; part.release()) {
        received(part, 0);
      }
    }

    private void received(ByteBuf data, int lane) {
      int answerBytes = 0;
      if (client != null) {
        answerBytes = client.arrived(data);
      } else if (data.readableBytes() >= MemoryClient.MESSAGE_HEADER_BYTES) {
        answerBytes = data.getUnsignedShort(data.readerIndex() + Integer.BYTES);
      }
      if (answerBytes > 0) {
        this.lane = lane;
        toSend.add(Unpooled.wrappedBuffer(new byte[answerBytes]));
      }
    }

    private void write() {
      while (!toSend.isEmpty()) {
        ByteBuf next = toSend.element();
        if (session.kcp().config().delivery() == Delivery.MESSAGE) { // The peer may be forged.
          int maxBytes = session.kcp().maxMessageBytes();
          next.writerIndex(Math.min(next.writerIndex(), maxBytes));
        }
        if (session.lanes() != null) {
          session.lanes().lane(lane).send(new MemoryClient.IgnoredSend(next));
        } else if (!session.kcp().send(next)) {
          return;
        }
        toSend.remove();
      }
    }

    // Streams

    private SmuxStreamListener accept(SmuxStream stream) {
      if (!memory.tryReserveChannel(CHANNEL_BYTES)) {
        return null;
      }
      ServedStream served = new ServedStream(this, stream);
      streams.add(served);
      return served;
    }

    void runTimers() {
      if (link != null && !link.hasFailed()) {
        link.runTimers(peers.nowUs);
        progressed();
      }
    }

    private void progressStreams() {
      if (isReading()) {
        List.copyOf(streams).forEach(ServedStream::read);
      }
      link.progress(peers.nowUs);
      if (link.hasFailed()) {
        boolean mayFail = client == null || !client.isHonest || client.wasEvicted;
        Check.that(mayFail, () -> "streams failed: " + client);
        close();
      } else if (link.isBlocked()) {
        blocked.add(this);
      } else {
        blocked.remove(this);
      }
    }

    // The end

    /** The application closes the session. */
    void close() {
      sessions.remove(session);
      forget();
      driver.table.remove(session, peers.nowUs);
      session.close();
      Check.that(session.kcp().memory().heldBytes() == 0, "a closed session holds memory");
    }

    void ended(EndReason reason) {
      if (client != null) {
        checkEnd(reason);
        client.endsAtServer(reason);
      }
      if (memory != null) {
        memory.end = reason;
      }
      forget();
    }

    private void forget() {
      ofClients.remove(this);
      blocked.remove(this);
      if (link != null) {
        link.end();
      }
    }

    private void checkEnd(EndReason reason) {
      switch (reason) {
        case EVICTED ->
            Check.that(
                session.kcp().memory().isUnvalidated(), () -> "evicted, but validated: " + client);
        case MEMORY_SHORTAGE -> {
          watchReserve();
          int network = session.kcp().memory().network();
          NetworkParts parts = peers.budget.limit().networkParts();
          boolean isResting = parts.isSendAwaited() && session.kcp().memory().sendBytes() > 0;
          Check.that(
              hasStalled || isResting || parts.isOver(network),
              () -> "ended, but not stalled: " + client);
        }
        default ->
            Check.that(
                !client.isHonest || client.isGone() || client.wasEvicted,
                () -> "ended as " + reason + ": " + client);
      }
    }

    void watchReserve() {
      MemoryAccount account = session.kcp().memory();
      boolean hasReserve = account.hasReserve();
      if (!hasReserve && !hadReserve) {
        return;
      }
      int takenBytes = session.kcp().acceptedBytes();
      int leastBytes = Math.max(1, account.receiveBytes() / GROWTH_PART);
      if (!hadReserve || takenBytes - grownBytes >= leastBytes) {
        hasStalled &= !hadReserve;
        grownAtUs = peers.nowUs;
        grownBytes = takenBytes;
      }
      turnAtUs = hadReserve ? turnAtUs : peers.nowUs;
      boolean isTurnOver = peers.nowUs - turnAtUs >= MAX_TURN_US;
      hasStalled |= peers.nowUs - grownAtUs >= STALLED_US || isTurnOver;
      hadReserve = hasReserve;
    }
  }

  /** A stream that a peer has opened: a request, which is answered when all of it has arrived. */
  private static final class ServedStream implements SmuxStreamListener, SmuxStreamSource {

    private final Served served;
    private final SmuxStream stream;
    private final ByteBuf header = Unpooled.buffer(MemoryClient.STREAM_HEADER_BYTES);
    private int receivedBytes;
    private int answerBytes;
    private boolean isAnswering;

    ServedStream(Served served, SmuxStream stream) {
      this.served = served;
      this.stream = stream;
    }

    @Override
    public void inputReady(SmuxStream stream) {
      if (served.isReading()) {
        read();
      }
    }

    void read() {
      for (ByteBuf piece; (piece = stream.read()) != null; piece.release()) {
        receivedBytes += piece.readableBytes();
        header.writeBytes(piece, Math.min(header.writableBytes(), piece.readableBytes()));
        if (served.client != null && served.client.isHonest) {
          MemoryClient.checkContent(piece, receivedBytes - piece.readableBytes());
        }
      }
      if (stream.isInputEnded() && !isAnswering) {
        isAnswering = true;
        answerBytes = isComplete() ? header.getUnsignedShort(2 * Integer.BYTES) : 0;
        stream.source(this);
        stream.shutdownOutput();
      }
    }

    private boolean isComplete() {
      return !header.isWritable() && header.getInt(Integer.BYTES) == receivedBytes;
    }

    @Override
    public boolean isEmpty() {
      return answerBytes == 0;
    }

    @Override
    public ByteBuf take(int maxBytes) {
      int bytes = Math.min(maxBytes, answerBytes);
      answerBytes -= bytes;
      return Unpooled.wrappedBuffer(new byte[bytes]);
    }

    @Override
    public void outputStopped(SmuxStream stream, SmuxException cause) {
      stream.close();
      over();
    }

    @Override
    public void outputEnded(SmuxStream stream) {
      over();
    }

    @Override
    public void failed(SmuxStream stream, Throwable cause) {
      over();
    }

    private void over() {
      if (served.streams.remove(this)) {
        served.memory.release(CHANNEL_BYTES);
      }
    }
  }
}
