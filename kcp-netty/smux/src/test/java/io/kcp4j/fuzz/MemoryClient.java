package io.kcp4j.fuzz;

import io.kcp4j.Delivery;
import io.kcp4j.EndReason;
import io.kcp4j.internal.arq.Kcp;
import io.kcp4j.internal.lanes.Lane;
import io.kcp4j.internal.lanes.OutboundMessage;
import io.kcp4j.internal.session.Session;
import io.kcp4j.internal.session.TestDriver;
import io.kcp4j.lanes.LanesConfig;
import io.kcp4j.netty.internal.ConnectionMemory;
import io.kcp4j.smux.SmuxException;
import io.kcp4j.smux.SmuxStream;
import io.kcp4j.smux.SmuxStreamListener;
import io.kcp4j.smux.SmuxStreamSource;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.net.InetSocketAddress;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Queue;
import java.util.Set;

/**
 * A client of {@link MemoryPeers} at an address of its own, with one session. It sends requests, as
 * messages, in a stream, or each in a smux stream of its own, and receives answers.
 */
final class MemoryClient {

  static final int MESSAGE_HEADER_BYTES = 8;

  /** A number, the size and the size of the answer. */
  static final int STREAM_HEADER_BYTES = 10;

  private static final int MAX_OPEN_STREAMS = 12;

  /**
   * A stream from whose peer nothing arrives for so long is given up: its SYN may have been
   * ignored.
   */
  private static final long STREAM_PATIENCE_US = 60_000_000;

  /** More than by default: networks that lose 15 % lose all of those now and then. */
  private static final int KEEP_ALIVE_PROBES = 11;

  /** Keeps what a conv says: see {@link MemoryPeers}. */
  private static final int NEXT_CONV = 3 << 20;

  private record Request(int lane, int bytes, int answerBytes) {}

  final InetSocketAddress address;
  final boolean isHonest;
  final int conv;

  /** What the server expects next, as far as the client has been told. */
  int rcvNxt;

  /** Whether it is gone, without a word. */
  boolean isSilent;

  /** Why its session ended at the server; null if it has not. */
  EndReason serverEnd;

  /** Why its session ended here; null if it has not. */
  EndReason end;

  /** Whether its session at the server has made room for others. It may have begun again. */
  boolean wasEvicted;

  final TestDriver driver;

  private final MemoryPeers peers;
  private final Session session;
  private final List<Request> requests = new ArrayList<>();
  private final Queue<Request> toSend = new ArrayDeque<>();
  private final List<Integer> arrived = new ArrayList<>();
  private boolean hasBegun;

  /** Of a session with streams; else null. */
  private final SmuxLink link;

  private final Set<OpenStream> streams = new LinkedHashSet<>();

  private ByteBuf unsent;
  private int messages;
  private long sentBytes;
  private long arrivedBytes;
  private long askedBytes;
  private long answeredBytes;

  MemoryClient(MemoryPeers peers, InetSocketAddress address, int conv, boolean isHonest) {
    this.peers = peers;
    this.address = address;
    this.isHonest = isHonest;
    this.conv = conv;
    driver =
        TestDriver.builder(peers.clientContext)
            .deadlines(peers.deadlines)
            .nowUs(peers.nowUs)
            .build();
    driver.output = remote -> peers.new Output(address, remote);
    driver.onProgress = ignored -> progressed();
    driver.onEnd = (ended, reason) -> ended(reason);
    Kcp kcp = new Kcp(conv, MemoryPeers.config(conv), peers.clientContext, conv);
    session = driver.newSession(MemoryPeers.SERVER, kcp);
    TestDriver.configure(session, config -> config.keepAliveProbes(KEEP_ALIVE_PROBES));
    if (MemoryPeers.delivery(conv) == Delivery.LANES) {
      driver.table.offerLanes(session, LanesConfig.DEFAULT, conv | 1L << 41);
    } else if (MemoryPeers.hasExtension(conv)) {
      session.offerExtension(conv | 1L << 41);
    }
    driver.table.add(session, peers.nowUs);
    link =
        peers.hasStreams(conv)
            ? new SmuxLink(
                session,
                MemoryPeers.smuxConfig(conv),
                true,
                ConnectionMemory.UNLIMITED,
                peers.clientContext.allocator(),
                stream -> null,
                peers.nowUs)
            : null;
  }

  /** The same client begins another session, and sends all requests again. */
  MemoryClient again() {
    InetSocketAddress next = new InetSocketAddress(address.getAddress(), address.getPort() + 100);
    MemoryClient client = new MemoryClient(peers, next, conv + NEXT_CONV, isHonest);
    peers.replace(this, client);
    requests.forEach(client::send);
    client.flush();
    return client;
  }

  /** Sends a request. */
  void send(int lane, int bytes, int answerBytes) {
    if (end == null) {
      int headerBytes = link == null ? MESSAGE_HEADER_BYTES : STREAM_HEADER_BYTES;
      int leastAnswerBytes = link == null ? 0 : 1;
      send(
          new Request(lane, Math.max(bytes, headerBytes), Math.max(answerBytes, leastAnswerBytes)));
      flush();
    }
  }

  private void send(Request request) {
    requests.add(request);
    if (session.lanes() != null) {
      Lane lane = session.lanes().lane(request.lane);
      lane.send(new IgnoredSend(message(request, Integer.MAX_VALUE)));
    } else {
      toSend.add(request);
      write();
    }
  }

  /** Sends bytes between whole frames, whatever streams expect. */
  void sendRaw(ByteBuf bytes) {
    if (end == null && isStream() && session.kcp().isSendable()) {
      session.kcp().send(bytes);
      flush();
    }
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
    driver.table.flushPending(peers.nowUs);
  }

  private void progressed() {
    if (link != null) {
      link.progress(peers.nowUs);
      if (link.hasFailed()) {
        // Two sessions of the server may have sent to this one.
        Check.that(!isHonest || wasEvicted, () -> "streams failed: " + this);
        return;
      }
    } else {
      read();
    }
    write();
    driver.table.scheduleFlush(session);
  }

  private void read() {
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
  }

  private void write() {
    if (link != null) {
      openStreams();
      return;
    }
    while (unsent != null || !toSend.isEmpty()) {
      if (unsent == null) {
        int maxBytes = isStream() ? Integer.MAX_VALUE : session.kcp().maxMessageBytes();
        unsent = message(toSend.remove(), maxBytes);
      }
      // What a peer takes can become less when it advertises its window for the first time.
      int tooManyBytes = isStream() ? 0 : unsent.readableBytes() - session.kcp().maxMessageBytes();
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

  private void ended(EndReason reason) {
    end = reason;
    if (link != null) {
      link.end();
    }
  }

  // Streams

  private void openStreams() {
    try {
      while (!link.hasFailed() && !toSend.isEmpty() && streams.size() < MAX_OPEN_STREAMS) {
        new OpenStream(toSend.element()).open();
        toSend.remove();
      }
    } catch (SmuxException e) {
      return; // Too many are closing.
    }
    link.progress(peers.nowUs);
  }

  /** To be called once a second. */
  void sweep() {
    driver.table.sweep(peers.nowUs);
    if (link != null && end == null && !link.hasFailed()) {
      link.runTimers(peers.nowUs);
      List.copyOf(streams).forEach(OpenStream::giveUpIfSilent);
      openStreams();
      driver.table.scheduleFlush(session);
    }
  }

  /** The byte at an offset of a request, which its header precedes. */
  private static byte content(int offset) {
    return (byte) (offset * 7);
  }

  static void checkContent(ByteBuf part, int offset) {
    int at = offset;
    for (int i = part.readerIndex(); i < part.writerIndex(); i++, at++) {
      if (at >= STREAM_HEADER_BYTES) {
        Check.that(part.getByte(i) == content(at), "altered");
      }
    }
  }

  /** A request in a stream of its own. */
  private final class OpenStream implements SmuxStreamListener, SmuxStreamSource {

    private final Request request;
    private final ByteBuf content;
    private SmuxStream stream;
    private int answeredBytes;
    private long progressAtUs = peers.nowUs;

    OpenStream(Request request) {
      this.request = request;
      content = Unpooled.buffer(request.bytes);
      content.writeInt(messages++).writeInt(request.bytes).writeShort(request.answerBytes);
      while (content.isWritable()) {
        content.writeByte(content(content.writerIndex()));
      }
    }

    void open() throws SmuxException {
      stream = link.smux.open(this, this);
      stream.shutdownOutput();
      streams.add(this);
    }

    @Override
    public boolean isEmpty() {
      return !content.isReadable();
    }

    @Override
    public ByteBuf take(int maxBytes) {
      progressAtUs = peers.nowUs;
      return content.readRetainedSlice(Math.min(maxBytes, content.readableBytes()));
    }

    @Override
    public void inputReady(SmuxStream stream) {
      for (ByteBuf piece; (piece = stream.read()) != null; piece.release()) {
        answeredBytes += piece.readableBytes();
        progressAtUs = peers.nowUs;
      }
      if (stream.isInputEnded()) {
        over();
        stream.close();
      }
    }

    void giveUpIfSilent() {
      if (peers.nowUs - progressAtUs > STREAM_PATIENCE_US) {
        boolean hasArrived = session.kcp().sendUna() == session.kcp().sendNext();
        Check.that(
            !isHonest
                || wasEvicted
                || !hasArrived
                || peers.server.mayIgnoreStreams(MemoryClient.this),
            () -> "not answered: " + MemoryClient.this);
        over();
        stream.close();
      }
    }

    @Override
    public void outputStopped(SmuxStream stream, SmuxException cause) {}

    @Override
    public void outputEnded(SmuxStream stream) {}

    @Override
    public void failed(SmuxStream stream, Throwable cause) {
      over();
    }

    /** It is sent again, unless it was answered: the server may have refused or cut the stream. */
    private void over() {
      streams.remove(this);
      if (isHonest && answeredBytes != request.answerBytes) {
        toSend.add(request);
      }
    }
  }

  // What the server says

  void beginsAtServer() {
    Check.that(!hasBegun || wasEvicted, () -> "begun twice: " + this);
    hasBegun = true;
    serverEnd = null;
  }

  void endsAtServer(EndReason reason) {
    serverEnd = reason;
    wasEvicted |= reason == EndReason.EVICTED;
  }

  /** A part of a stream, or a message, has arrived; returns how large an answer it asks for. */
  int arrived(ByteBuf data) {
    arrivedBytes += data.readableBytes();
    if (!isHonest || isStream()) {
      return isHonest ? 0 : data.readableBytes();
    }
    arrived.add(data.readInt());
    return data.readInt();
  }

  // Checks

  /** Whether its session has ended here, or it says nothing more. */
  boolean isGone() {
    return end != null || isSilent;
  }

  /** Whether the server has ended its session for want of memory. */
  boolean isEndedByName() {
    return wasEvicted || serverEnd == EndReason.MEMORY_SHORTAGE;
  }

  /** Whether all that it has sent has arrived once, and so have the answers. */
  boolean isDone() {
    boolean isSent = toSend.isEmpty() && unsent == null && streams.isEmpty();
    return isSent && arrivedBytes >= sentBytes && answeredBytes == askedBytes;
  }

  void check() {
    Check.that(end == null || isEndedByName(), () -> "ended: " + this);
    if (wasEvicted) {
      return; // What has arrived before its session was evicted arrives again.
    }
    Check.that(arrivedBytes <= sentBytes, "received more than was sent");
    Check.that(answeredBytes <= askedBytes, "received more answers than were sent");
    Check.that(arrived.stream().distinct().count() == arrived.size(), "received twice");
  }

  void close() {
    driver.table.remove(session, peers.nowUs);
    if (link != null) {
      link.end();
    }
    if (end == null) {
      session.close();
    }
    driver.table.close();
  }

  @Override
  public String toString() {
    return String.format(
        "%s conv %d %s: %d of %d bytes arrived, %d of %d answered, %d streams, %d to open,"
            + " ended %s, at the server %s, %s",
        address,
        conv,
        MemoryPeers.delivery(conv),
        arrivedBytes,
        sentBytes,
        answeredBytes,
        askedBytes,
        streams.size(),
        toSend.size(),
        end,
        serverEnd,
        peers.server.describe(this));
  }

  static final class IgnoredSend extends OutboundMessage {

    IgnoredSend(ByteBuf content) {
      super(content);
    }

    @Override
    protected void sent() {}

    @Override
    protected void dropped(Drop reason) {}
  }
}
