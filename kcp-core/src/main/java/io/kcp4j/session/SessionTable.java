package io.kcp4j.session;

import io.kcp4j.DatagramOutput;
import io.kcp4j.InputResult;
import io.kcp4j.Kcp;
import io.kcp4j.KcpContext;
import io.kcp4j.KcpCounter;
import io.kcp4j.KcpCounters;
import io.kcp4j.Origin;
import io.kcp4j.Segment;
import io.kcp4j.crypto.PacketBatch;
import io.kcp4j.crypto.PacketCipher;
import io.kcp4j.fec.FecContext;
import io.kcp4j.fec.FecPacket;
import io.netty.buffer.ByteBuf;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;

/**
 * The sessions of one socket: opens each packet, finds the session that it belongs to, lets new
 * ones begin, and drives them. No I/O and no clock; one thread.
 *
 * <p><b>How to drive it.</b> {@link #receive} for each datagram and {@link #endBatch} after a batch
 * of them; {@link #scheduleFlush} after writing to a session; {@link #flushPending} when the
 * handler has been asked for it; {@link #sweep} about once a second while there are sessions, and
 * again soon if it says so. Deadlines come from the {@link TimerWheel}, which other tables on the
 * thread may share.
 *
 * <p><b>Admission.</b> Nothing is kept for a stranger before a PUSH with sequence number 0 has
 * arrived from it, and nothing for a session that was closed within the last minute. A stranger's
 * window probe is answered by one WINS: protocol.md 8.2 and 8.3. A driver that accepts on another
 * thread calls {@link #deferAccept}, and {@link #completeAccept} when it knows; what the stranger
 * sends meanwhile waits in a small backlog.
 */
public final class SessionTable {

  /**
   * What the table asks of its driver. Called on the table's thread, from within its methods,
   * unless noted.
   */
  public interface Handler {

    /**
     * A stranger's first datagram has arrived.
     *
     * @return a new session, which the table adds; or null to turn it away, so that the peer will
     *     try again, or after {@link #deferAccept}
     */
    Session accept(InetSocketAddress remote, int conv, long nowMs);

    /**
     * A session has taken in datagrams, or memory that it waited for, or has sent all that was
     * queued: there may be something to receive, or room to send again.
     */
    void progressed(Session session, long nowMs);

    /** A session cannot go on. It has been removed from the table, and is not closed yet. */
    void ended(Session session, EndReason reason);

    /**
     * Where packets for {@code remote} are written. Asked again for every flush. They come with
     * room for the table's cipher before and behind, and the driver seals them before they leave.
     * Only where the cipher {@linkplain PacketCipher#isUnencrypted is none} do some come by {@link
     * DatagramOutput#send}.
     */
    DatagramOutput output(InetSocketAddress remote);

    /** All that was written to outputs since the last call should leave now. */
    void flushOutput();

    /**
     * A packet of this table's has come in at another table, which has opened it. Called on the
     * other's thread: the driver copies the packet and has its own thread call {@link
     * #receiveOpened} and {@link #endBatch}, or drops it. The other table counts what this throws
     * as an allocation that failed. A driver of one table is never called.
     */
    default void forward(InetSocketAddress remote, ByteBuf packet) {}

    /**
     * A datagram was refused that tells of a peer with other settings. Called for each: the driver
     * limits what it logs.
     *
     * @param counter what has counted it: {@link KcpCounter#OPEN_FAILED}, {@link
     *     KcpCounter#UNSEALED} or {@link KcpCounter#NOT_KCP}
     */
    default void mismatched(KcpCounter counter, InetSocketAddress remote) {}

    /** Whether the socket takes more; while it does not, no session is flushed. */
    boolean isOutputWritable();

    /**
     * The time, in milliseconds: asked for before sessions are flushed, once for each batch, since
     * what the driver has done for {@link #accept}, {@link #progressed} and {@link #ended} may have
     * taken some. A segment that were said to have left before it did would soon count as lost.
     *
     * @param nowMs what the driver has said last: in virtual time, the default, it still is
     */
    default long readNowMs(long nowMs) {
      return nowMs;
    }

    /**
     * {@link #flushPending} should be called soon. Asked once until that has been called; when the
     * output is not writable the call has to wait until it is.
     */
    void requestFlush();
  }

  /** What a stranger's probe is told: the reference's receive window. */
  private static final int UNKNOWN_PEER_WINDOW = 128;

  /** All data of a group have the conv at one place, and so has their parity: protocol.md 11.2. */
  private static final int PARITY_CONV_OFFSET = FecPacket.DATA_HEADER_BYTES;

  /**
   * What every packet has after opening that has any effect: an unreliable datagram's headers, or
   * parity up to the conv. Plain datagrams are longer.
   */
  private static final int MIN_PACKET_BYTES = FecPacket.DATA_HEADER_BYTES + Integer.BYTES;

  private final Handler handler;
  private final KcpContext context;
  private final KcpCounters counters;
  private final FecContext fecContext;
  private final TimerWheel deadlines;
  private final SessionDirectory directory;
  private final int maxDatagramBytes;

  private final Map<SessionKey, Session> sessions = new HashMap<>();
  private final SessionKey lookup = new SessionKey(null, 0);
  private final FecLayer unprotected;
  private final ClosedSessions closed;
  private final Backlog backlog;
  private final KeepAliveSchedule keepAlives;

  /** The sessions that have taken something in since the batch began. */
  private final List<Session> arrived = new ArrayList<>();

  /**
   * The sessions that have to be flushed, in the order in which that was scheduled. While the
   * output takes nothing they may be many, so that nothing but a flush goes through them.
   */
  private final List<Session> pendingFlushes = new ArrayList<>();

  private final PacketBatch opening = new PacketBatch();
  private final PacketOutput output;

  private PacketCipher cipher;
  private boolean acceptOnProbe;
  private Session lastFound;
  private boolean inBatch;
  private boolean flushRequested;
  private boolean outputPending;

  /**
   * Makes a table.
   *
   * @param handler the driver
   * @param context what the sessions share; its total counts what belongs to no session, too
   * @param cipher opens packets; the driver seals them with it or with one of the same keys
   * @param fecContext what FEC on this thread shares
   * @param deadlines where the sessions' deadlines are kept
   * @param directory what this table shares with others; one that admits no unprotected answers no
   *     probe of a session that it has forgotten
   * @param maxDatagramBytes larger datagrams are counted and not parsed
   * @param nowMs the time, in milliseconds
   */
  public SessionTable(
      Handler handler,
      KcpContext context,
      PacketCipher cipher,
      FecContext fecContext,
      TimerWheel deadlines,
      SessionDirectory directory,
      int maxDatagramBytes,
      long nowMs) {
    this.handler = Objects.requireNonNull(handler, "handler");
    this.context = context;
    this.counters = context.total();
    this.fecContext = fecContext.withBudget(context.budget());
    this.unprotected = new FecLayer(fecContext, counters);
    this.backlog = new Backlog(context);
    this.closed = new ClosedSessions(name -> directory.release(name, this));
    this.cipher = Objects.requireNonNull(cipher, "cipher");
    this.output = new PacketOutput(cipher);
    this.deadlines = Objects.requireNonNull(deadlines, "deadlines");
    this.directory = Objects.requireNonNull(directory, "directory");
    this.maxDatagramBytes = maxDatagramBytes;
    this.keepAlives = new KeepAliveSchedule(this, nowMs);
  }

  /**
   * Whether a stranger's window probe begins a session. If not, the default, it is answered and
   * forgotten.
   */
  public void acceptOnProbe(boolean accept) {
    acceptOnProbe = accept;
  }

  /**
   * Changes the keys. Sessions go on: their packets are sealed and opened with the new ones.
   *
   * @param cipher one that adds as many bytes to a packet as the one before
   * @throws IllegalArgumentException if it adds more or fewer
   */
  public void cipher(PacketCipher cipher) {
    if (cipherBytes(cipher) != cipherBytes(this.cipher)) {
      throw new IllegalArgumentException(
          "cipher: adds "
              + cipherBytes(cipher)
              + " bytes (expected: "
              + cipherBytes(this.cipher)
              + " as before)");
    }
    this.cipher = cipher;
    output.cipher(cipher);
  }

  private static int cipherBytes(PacketCipher cipher) {
    return cipher.headroom() + cipher.tailroom();
  }

  /**
   * Makes a session for this table, which is not in it yet.
   *
   * @param remote where its peer is
   * @param kcp its state machine; closed with the session
   * @param owner whatever the driver wants to find again, such as a channel
   * @throws IllegalArgumentException if the MTU has no room for the cipher's headers
   */
  public Session newSession(InetSocketAddress remote, Kcp kcp, Object owner) {
    return new Session(remote, kcp, owner, fecContext, context.budget(), cipherBytes(cipher));
  }

  /** How many sessions there are. */
  public int size() {
    return sessions.size();
  }

  /**
   * Adds a session that no stranger has begun: a client's.
   *
   * @throws IllegalArgumentException if there is one of the same address and conversation
   */
  public void add(Session session, long nowMs) {
    insert(session, nowMs);
    directory.enter();
  }

  private void insert(Session session, long nowMs) {
    if (sessions.putIfAbsent(session.key(), session) != null) {
      throw new IllegalArgumentException(
          "session: conv " + session.conv() + " at " + session.remote() + " exists already");
    }
    session.added(this, keepAlives, nowMs);
    counters.add(KcpCounter.SESSIONS_OPENED, 1);
  }

  /**
   * Removes a session and remembers it as closed for 60 s. Does not close it. Nothing happens if it
   * is not in the table.
   */
  public void remove(Session session, long nowMs) {
    if (!session.isIn(this)) {
      return;
    }
    sessions.remove(session.key());
    closed.add(session.key(), nowMs);
    deadlines.cancel(session);
    session.removed();
    directory.leave();
    if (lastFound == session) {
      lastFound = null;
    }
    counters.add(KcpCounter.SESSIONS_CLOSED, 1);
  }

  void end(Session session, EndReason reason, long nowMs) {
    remove(session, nowMs);
    handler.ended(session, reason);
  }

  // Input

  /**
   * Takes in one datagram, which is opened in place; the buffer stays the caller's, its content and
   * indices change.
   */
  public void receive(InetSocketAddress remote, ByteBuf datagram, long nowMs) {
    if (datagram.readableBytes() > maxDatagramBytes) {
      counters.add(KcpCounter.OVERSIZE, 1);
      return;
    }
    if (!open(remote, datagram)) {
      openFailed(remote, datagram);
      return;
    }
    receiveOpened(remote, datagram, nowMs);
  }

  /**
   * Takes in a packet that has been opened, by this table or by the one that has passed it on: see
   * {@link Handler#forward}. The buffer stays the caller's.
   */
  public void receiveOpened(InetSocketAddress remote, ByteBuf packet, long nowMs) {
    inBatch = true;
    switch (fecType(packet)) {
      case FecPacket.DATA -> receiveFecData(remote, packet, nowMs);
      case FecPacket.PARITY -> receiveParity(remote, packet, nowMs);
      case FecPacket.OUT_OF_BAND -> receiveUnreliable(remote, packet, nowMs);
      default -> receiveSegments(remote, packet, packet.readerIndex(), nowMs);
    }
  }

  private boolean open(InetSocketAddress remote, ByteBuf datagram) {
    if (cipher.isUnencrypted()) {
      return true;
    }
    opening.reset(datagram).add(datagram.readerIndex(), datagram.writerIndex());
    cipher.open(opening, MIN_PACKET_BYTES, remote);
    if (opening.isRefused(0)) {
      return false;
    }
    datagram.setIndex(opening.start(0), opening.end(0));
    return true;
  }

  private void openFailed(InetSocketAddress remote, ByteBuf packet) {
    counters.add(KcpCounter.OPEN_FAILED, 1);
    boolean unsealed = isUnsealed(packet);
    if (unsealed) {
      counters.add(KcpCounter.UNSEALED, 1);
    }
    handler.mismatched(unsealed ? KcpCounter.UNSEALED : KcpCounter.OPEN_FAILED, remote);
  }

  /** Whether a packet that no key opens, and which is as it came, begins a session in plaintext. */
  private static boolean isUnsealed(ByteBuf packet) {
    int index = packet.readerIndex();
    if (fecType(packet) == FecPacket.DATA && isSizeTrue(packet)) {
      packet.readerIndex(index + FecPacket.DATA_HEADER_BYTES);
    }
    FirstDatagram first = FirstDatagram.judge(packet);
    packet.readerIndex(index);
    return first == FirstDatagram.BEGINS || first == FirstDatagram.PROBES;
  }

  /** The type of an FEC packet, or something else for plain datagrams. */
  private static int fecType(ByteBuf packet) {
    return packet.readableBytes() < FecPacket.HEADER_BYTES
        ? 0
        : FecPacket.type(packet, packet.readerIndex());
  }

  /** Whether the size that a data or out-of-band packet tells is its own. */
  private static boolean isSizeTrue(ByteBuf packet) {
    int bytes = packet.readableBytes();
    return bytes >= FecPacket.DATA_HEADER_BYTES
        && FecPacket.size(packet, packet.readerIndex()) == bytes - FecPacket.HEADER_BYTES;
  }

  /**
   * Takes in a datagram, whose packet begins at {@code index}.
   *
   * @return the session that took it in, or null if it was refused
   */
  private Session receiveSegments(
      InetSocketAddress remote, ByteBuf datagram, int index, long nowMs) {
    if (datagram.readableBytes() < Segment.HEADER_BYTES) {
      counters.add(KcpCounter.MALFORMED, 1);
      return null;
    }
    Session session = find(remote, Segment.conv(datagram, datagram.readerIndex()));
    if (session == null) {
      session = admit(remote, datagram, index, nowMs);
    }
    return session != null && input(session, datagram, Origin.NETWORK, nowMs) ? session : null;
  }

  private void receiveFecData(InetSocketAddress remote, ByteBuf packet, long nowMs) {
    int index = packet.readerIndex();
    if (!isSizeTrue(packet)) {
      counters.add(KcpCounter.FEC_REFUSED, 1);
      return;
    }
    packet.readerIndex(index + FecPacket.DATA_HEADER_BYTES);
    Session session = receiveSegments(remote, packet, index, nowMs);
    if (session == null) {
      return;
    }
    if (session.fec().mayDecode()) {
      session.fec().startDecoding();
    }
    if (session.fec().isDecoding()) {
      recover(session, packet, index, nowMs);
    }
  }

  private void receiveParity(InetSocketAddress remote, ByteBuf packet, long nowMs) {
    int index = packet.readerIndex();
    if (packet.readableBytes() < PARITY_CONV_OFFSET + Integer.BYTES) {
      counters.add(KcpCounter.FEC_REFUSED, 1);
      return;
    }
    Session session = find(remote, packet.getIntLE(index + PARITY_CONV_OFFSET));
    if (session == null) {
      unknown(packet, index);
      return;
    }
    session.kcp().counters().add(KcpCounter.FEC_PARITY_IN, 1);
    if (session.fec().isDecoding()) {
      recover(session, packet, index, nowMs);
    }
  }

  private void recover(Session session, ByteBuf packet, int index, long nowMs) {
    FecLayer fec = session.fec();
    fec.input(packet, index, nowMs);
    for (ByteBuf recovered; (recovered = fec.nextRecovered()) != null; ) {
      if (input(session, recovered, Origin.RECOVERED, nowMs)) {
        session.kcp().counters().add(KcpCounter.FEC_RECOVERED, 1);
      }
    }
  }

  private void receiveUnreliable(InetSocketAddress remote, ByteBuf packet, long nowMs) {
    int index = packet.readerIndex();
    int payload = index + FecPacket.DATA_HEADER_BYTES + Integer.BYTES;
    if (!isSizeTrue(packet) || packet.writerIndex() < payload) {
      counters.add(KcpCounter.FEC_REFUSED, 1);
      return;
    }
    Session session = find(remote, packet.getIntLE(payload - Integer.BYTES));
    if (session == null) {
      unknown(packet, index);
      return;
    }
    session.unreliable().receive(packet, payload, context.allocator());
    session.keepAlive().updateIdle(nowMs);
    session.keepAlive().onReceived(nowMs);
    arrived(session);
    if (!session
        .kcp()
        .isQuiescent()) { // Its owner may read what else there is, and open the window.
      session.hasInput = true;
      enqueue(session);
    }
  }

  private boolean input(Session session, ByteBuf datagram, Origin origin, long nowMs) {
    if (session.kcp().input(datagram, origin, nowMs) != InputResult.ACCEPTED) {
      return false;
    }
    if (!session.kcp().isLastInputStale()) {
      session.keepAlive().onReceived(nowMs);
    }
    arrived(session);
    if (session.kcp().isQuiescent()) { // A last acknowledgement, for example, or a probe's answer.
      deadlines.cancel(session);
    } else {
      session.hasInput = true;
      enqueue(session);
    }
    return true;
  }

  private void arrived(Session session) {
    if (!session.hasArrived) {
      session.hasArrived = true;
      arrived.add(session);
    }
  }

  private Session find(InetSocketAddress remote, int conv) {
    Session last = lastFound;
    if (last != null && last.conv() == conv && last.remote().equals(remote)) {
      return last;
    }
    lookup.set(remote, conv);
    Session found = sessions.get(lookup);
    if (found != null) {
      lastFound = found;
    }
    return found;
  }

  /** A packet of none of our sessions, which {@link #lookup} names, and of none to begin here. */
  private void unknown(ByteBuf packet, int index) {
    SessionTable home = directory.otherHome(lookup, this);
    if (home != null) {
      counters.add(KcpCounter.FORWARDED, 1);
      int bytes = packet.writerIndex() - index;
      try {
        home.handler.forward(lookup.remote(), packet.slice(index, bytes));
      } catch (RuntimeException | OutOfMemoryError e) { // whatever an allocator throws
        counters.add(KcpCounter.ALLOCATION_FAILED, 1);
      }
    } else if (!backlog.keep(lookup, packet, index)) {
      counters.add(KcpCounter.UNKNOWN_SESSION, 1);
    }
  }

  /** Judges a datagram of no session; {@link #lookup} still names it. */
  private Session admit(InetSocketAddress remote, ByteBuf datagram, int index, long nowMs) {
    FirstDatagram first = FirstDatagram.judge(datagram);
    if (backlog.contains(lookup) || directory.otherHome(lookup, this) != null) {
      unknown(datagram, index);
    } else if (closed.contains(lookup, nowMs)) {
      counters.add(KcpCounter.CLOSED_SESSION, 1);
    } else if (first == FirstDatagram.BEGINS || (first == FirstDatagram.PROBES && acceptOnProbe)) {
      return accept(remote, datagram, index, nowMs);
    } else if (first == FirstDatagram.PROBES && directory.acceptsSessions()) {
      answerProbe(remote, Segment.conv(datagram, datagram.readerIndex()));
    } else {
      counters.add(KcpCounter.UNKNOWN_SESSION, 1);
      if (first == FirstDatagram.NOT_KCP) {
        counters.add(KcpCounter.NOT_KCP, 1);
        handler.mismatched(KcpCounter.NOT_KCP, remote);
      }
    }
    return null;
  }

  private Session accept(InetSocketAddress remote, ByteBuf datagram, int index, long nowMs) {
    if (!directory.tryEnter()) {
      counters.add(KcpCounter.ACCEPT_REFUSED, 1);
      return null;
    }
    if (!directory.claim(lookup, this)) {
      directory.leave();
      unknown(datagram, index); // It has just begun elsewhere.
      return null;
    }
    closed.remove(lookup);
    int conv = Segment.conv(datagram, datagram.readerIndex());
    Session accepted;
    try {
      accepted = handler.accept(remote, conv, nowMs);
    } catch (Throwable e) { // Whatever it is: handlers are others' code.
      SessionKey stranger = new SessionKey(remote, conv);
      if (!backlog.contains(stranger)) {
        refuse(stranger, nowMs);
      }
      throw e;
    }
    if (accepted != null) {
      insert(accepted, nowMs);
    } else if (backlog.contains(lookup)) {
      unknown(datagram, index);
    } else {
      refuse(lookup, nowMs);
    }
    return accepted;
  }

  private void refuse(SessionKey stranger, long nowMs) {
    directory.leave();
    counters.add(KcpCounter.ACCEPT_REFUSED, 1);
    if (!closed.contains(stranger, nowMs)) { // Its session may have come and gone.
      directory.release(stranger, this);
    }
  }

  /**
   * Has a stranger wait for {@link #completeAccept}; called by {@link Handler#accept}, which
   * returns null then.
   *
   * @return false if too many wait already, and this one is to be turned away
   */
  public boolean deferAccept(InetSocketAddress remote, int conv) {
    if (backlog.isFull()) {
      return false;
    }
    backlog.add(new SessionKey(remote, conv));
    return true;
  }

  /**
   * Answers a stranger that was told to wait: adds its session, which takes in what has come
   * meanwhile, or turns it away. To be followed by {@link #endBatch}. Nothing happens after {@link
   * #close}.
   *
   * @param session null to turn it away
   */
  public void completeAccept(InetSocketAddress remote, int conv, Session session, long nowMs) {
    SessionKey stranger = new SessionKey(remote, conv);
    List<ByteBuf> packets = backlog.remove(stranger);
    if (packets == null) {
      return;
    }
    if (session == null) {
      refuse(stranger, nowMs);
      backlog.release(packets);
      return;
    }
    insert(session, nowMs);
    inBatch = true;
    enqueue(session); // Its owner may have written already, when no flush would find it.
    try {
      packets.forEach(packet -> receiveOpened(remote, packet, nowMs));
    } finally {
      backlog.release(packets);
    }
  }

  /**
   * Turns away all who wait, and lets other tables begin sessions of the names that are known here.
   * To be called at the end; sessions are their owners' to close, now or later.
   */
  public void close() {
    for (SessionKey stranger : backlog.clear()) {
      directory.release(stranger, this);
      directory.leave();
    }
    sessions.keySet().forEach(name -> directory.release(name, this));
    closed.clear();
  }

  private void answerProbe(InetSocketAddress remote, int conv) {
    if (!handler.isOutputWritable()) {
      return;
    }
    output.to(handler.output(remote), unprotected, maxDatagramBytes, 0);
    ByteBuf out = output.begin(Segment.HEADER_BYTES);
    Segment.write(out, conv, Segment.WINS, 0, UNKNOWN_PEER_WINDOW, 0, 0, 0, 0);
    output.end();
    outputPending = true;
  }

  /**
   * Ends a batch of {@link #receive}: first every session that has taken something in may deliver
   * it and be answered, then, at the time that it is after that, every session that has something
   * to send is flushed.
   */
  public void endBatch(long nowMs) {
    deliver(nowMs);
    flushPending(handler.readNowMs(nowMs));
  }

  /** If the handler throws, those after the session for which it did come with the next flush. */
  private void deliver(long nowMs) {
    int delivered = 0;
    boolean isDone = false;
    inBatch = true;
    try {
      while (delivered < arrived.size()) {
        Session session = arrived.get(delivered++);
        session.hasArrived = false;
        if (session.isIn(this)) {
          handler.progressed(session, nowMs);
        }
      }
      isDone = true;
    } finally {
      arrived.subList(0, delivered).clear();
      inBatch = false;
      if (!isDone) {
        requestFlush();
      }
    }
  }

  // Output

  /**
   * Notes that the owner has sent to a session, received from it outside of {@link
   * Handler#progressed}, or asked for a probe: it will be flushed.
   */
  public void scheduleFlush(Session session) {
    session.hasWritten = true;
    enqueue(session);
  }

  void due(Session session) {
    session.isDue = true;
    enqueue(session);
  }

  private void enqueue(Session session) {
    if (!session.isFlushPending) {
      session.isFlushPending = true;
      pendingFlushes.add(session);
    }
    if (!inBatch) {
      requestFlush();
    }
  }

  private void requestFlush() {
    if (!flushRequested) {
      flushRequested = true;
      handler.requestFlush();
    }
  }

  /** Flushes every session with a pending flush, as long as the output takes it. */
  public void flushPending(long nowMs) {
    flushRequested = false;
    long timeMs = nowMs;
    if (!arrived.isEmpty() && !inBatch) {
      deliver(nowMs);
      timeMs = handler.readNowMs(nowMs);
    }
    if (pendingFlushes.isEmpty() && !outputPending) {
      return;
    }
    inBatch = true;
    int flushed = 0;
    try {
      while (flushed < pendingFlushes.size() && handler.isOutputWritable()) {
        Session session = pendingFlushes.get(flushed++);
        session.isFlushPending = false;
        if (session.isIn(this)) {
          timeMs = flush(session, timeMs);
        }
      }
    } finally {
      pendingFlushes.subList(0, flushed).clear();
      inBatch = false;
      outputPending = false;
      if (!pendingFlushes.isEmpty()) {
        requestFlush();
      }
      handler.flushOutput();
    }
  }

  /** Returns the time after it, which is another only if the driver has been called. */
  private long flush(Session session, long nowMs) {
    Kcp kcp = session.kcp();
    boolean receivable = kcp.isReceivable();
    boolean sendHeldUp = kcp.isSendHeldUp();
    try {
      write(session, nowMs);
    } catch (RuntimeException | Error e) { // for want of memory: the session will be tried again
      deadlines.arm(session, nowMs + kcp.config().intervalMs());
      throw e;
    }
    session.keepAlive().onFlushed(nowMs);
    session.isDue = false;
    session.hasWritten = false;
    session.hasInput = false;
    if (kcp.failure() != null) {
      end(session, EndReason.of(kcp.failure()), nowMs);
      return handler.readNowMs(nowMs);
    }
    rearm(session);
    boolean delivers = !receivable && kcp.isReceivable();
    if (delivers || (sendHeldUp && kcp.isSendable()) || kcp.takeSendWanted()) {
      handler.progressed(session, nowMs); // What moves on was held up, mostly for want of memory.
      if (delivers && session.isIn(this)) {
        scheduleFlush(session); // Its window may have opened.
      }
      return handler.readNowMs(nowMs);
    }
    return nowMs;
  }

  private void write(Session session, long nowMs) {
    Kcp kcp = session.kcp();
    outputTo(session, nowMs);
    session.unreliable().flush(session.conv(), output);
    if (session.isDue) {
      kcp.flush(nowMs, output);
    }
    if (session.hasWritten) {
      kcp.afterSend(nowMs, output);
    }
    if (session.hasInput) {
      kcp.afterInput(nowMs, output);
    }
    kcp.charge(output.nonArqBytes(), nowMs);
  }

  private void outputTo(Session session, long nowMs) {
    int mtuBytes = session.kcp().config().mtuBytes();
    output.to(handler.output(session.remote()), session.fec(), mtuBytes, nowMs);
  }

  /** Flushes a session that is about to be closed, whatever it was that it waited for. */
  public void flushNow(Session session, long nowMs) {
    outputTo(session, nowMs);
    session.unreliable().flush(session.conv(), output);
    session.kcp().flush(nowMs, output);
    handler.flushOutput();
  }

  private void rearm(Session session) {
    long deadlineMs = session.kcp().nextDeadline();
    if (deadlineMs == Kcp.NO_DEADLINE) {
      deadlines.cancel(session);
    } else {
      deadlines.arm(session, deadlineMs);
    }
  }

  /**
   * Probes peers that have been silent for long, and ends the sessions of dead and idle ones. To be
   * called about once a second while there are sessions.
   *
   * @return whether that was not all: then to be called again a millisecond later
   */
  public boolean sweep(long nowMs) {
    closed.forget(nowMs);
    return keepAlives.sweep(nowMs);
  }
}
