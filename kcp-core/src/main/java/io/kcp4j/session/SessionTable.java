package io.kcp4j.session;

import io.kcp4j.DatagramOutput;
import io.kcp4j.Kcp;
import io.kcp4j.KcpContext;
import io.kcp4j.KcpCounter;
import io.kcp4j.KcpCounters;
import io.kcp4j.crypto.PacketCipher;
import io.kcp4j.fec.FecContext;
import io.netty.buffer.ByteBuf;
import java.net.InetSocketAddress;
import java.util.List;
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
 * <p><b>Admission.</b> Nothing is kept for an unknown peer before a PUSH with sequence number 0 has
 * been received from it, and nothing for a session that was closed within the last minute. A window
 * probe of an unknown peer is answered by one WINS: protocol.md 8.2 and 8.3. The driver decides on
 * each attempt to begin a session: see {@link Incoming}.
 */
public final class SessionTable {

  /**
   * What the table asks of its driver. Called on the table's thread, from within its methods,
   * unless noted.
   */
  public interface Handler {

    /**
     * A peer attempts to begin a session. The driver answers the attempt in this method or later.
     * It is called as the last thing in {@link #receive} or {@link #receiveOpened}, and may call
     * any method of the table. An attempt for which it throws is refused.
     */
    void incoming(Incoming incoming, long nowMs);

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
     * what the driver has done for {@link #incoming}, {@link #progressed} and {@link #ended} may
     * have taken some. A segment that were said to have left before it did would soon count as
     * lost.
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

  private final Handler handler;
  private final KcpContext context;
  private final KcpCounters counters;
  private final FecContext fecContext;
  private final SessionDirectory directory;
  private final int maxDatagramBytes;
  private final PacketOutput output;
  private final SessionIndex index;
  private final FlushQueue flushQueue;
  private final KeepAliveSchedule keepAlives;
  private final Admission admission;
  private final PacketDemux demux;
  private PacketCipher cipher;

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
    this.directory = Objects.requireNonNull(directory, "directory");
    this.maxDatagramBytes = maxDatagramBytes;
    this.cipher = Objects.requireNonNull(cipher, "cipher");
    output = new PacketOutput(cipher);
    index = new SessionIndex(this, directory);
    keepAlives = new KeepAliveSchedule(this, nowMs);
    flushQueue =
        new FlushQueue(this, handler, Objects.requireNonNull(deadlines, "deadlines"), output);
    FecLayer unprotected = new FecLayer(fecContext, counters);
    ProbeResponder probeResponder =
        new ProbeResponder(handler, flushQueue, output, unprotected, maxDatagramBytes);
    admission = new Admission(this, handler, context, index, directory, probeResponder);
    demux = new PacketDemux(handler, context, cipher, index, admission, flushQueue);
  }

  /**
   * Whether a stranger's window probe begins a session. If not, the default, it is answered and
   * forgotten.
   */
  public void acceptOnProbe(boolean accept) {
    admission.acceptOnProbe(accept);
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
    demux.cipher(cipher);
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
    return index.size();
  }

  /**
   * Adds a session that no stranger has begun: a client's.
   *
   * @throws IllegalArgumentException if there is one of the same address and conversation
   */
  public void add(Session session, long nowMs) {
    insert(session, nowMs);
    session.path().validate();
    directory.enter();
  }

  void insert(Session session, long nowMs) {
    index.add(session);
    flushQueue.add(session);
    session.keepAlive().start(keepAlives, nowMs);
    counters.add(KcpCounter.SESSIONS_OPENED, 1);
  }

  /**
   * Removes a session and remembers it as closed for 60 s. Does not close it. Nothing happens if it
   * is not in the table.
   */
  public void remove(Session session, long nowMs) {
    if (!contains(session)) {
      return;
    }
    index.remove(session, nowMs);
    flushQueue.remove(session);
    session.keepAlive().stop();
    directory.leave();
    counters.add(KcpCounter.SESSIONS_CLOSED, 1);
  }

  boolean contains(Session session) {
    return flushQueue.contains(session);
  }

  Handler handler() {
    return handler;
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
    if (demux.open(remote, datagram)) {
      receiveOpened(remote, datagram, nowMs);
    }
  }

  /**
   * Takes in a packet that has been opened, by this table or by the one that has passed it on: see
   * {@link Handler#forward}. The buffer stays the caller's.
   */
  public void receiveOpened(InetSocketAddress remote, ByteBuf packet, long nowMs) {
    flushQueue.beginBatch();
    int start = packet.readerIndex();
    demux.receive(remote, packet, nowMs);
    if (admission.hasBegun() && admission.offer(packet.readerIndex(start), nowMs)) {
      demux.receive(remote, packet, nowMs);
    }
  }

  /** Takes in what has waited for a session to be accepted. */
  void receiveDeferred(Session session, List<ByteBuf> packets, long nowMs) {
    flushQueue.beginBatch();
    flushQueue.schedule(session); // Its owner may have written before it was in the table.
    packets.forEach(packet -> demux.receive(session.remote(), packet, nowMs));
  }

  /**
   * Turns away all who wait, and lets other tables begin sessions of the names that are known here.
   * To be called at the end; sessions are their owners' to close, now or later.
   */
  public void close() {
    admission.close();
    index.close();
  }

  /**
   * Ends a batch of {@link #receive}: first every session that has taken something in may deliver
   * it and be answered, then, at the time that it is after that, every session that has something
   * to send is flushed.
   */
  public void endBatch(long nowMs) {
    flushQueue.endBatch(nowMs);
  }

  /**
   * Notes that the owner has sent to a session, received from it outside of {@link
   * Handler#progressed}, or asked for a probe: it will be flushed.
   */
  public void scheduleFlush(Session session) {
    flushQueue.onWrite(session);
  }

  /** Flushes every session with a pending flush, as long as the output takes it. */
  public void flushPending(long nowMs) {
    flushQueue.flushPending(nowMs);
  }

  /** Flushes a session that is about to be closed, whatever it was that it waited for. */
  public void flushNow(Session session, long nowMs) {
    flushQueue.flushNow(session, nowMs);
  }

  /**
   * Probes peers that have been silent for long, and ends the sessions of dead and idle ones. To be
   * called about once a second while there are sessions.
   *
   * @return whether that was not all: then to be called again a millisecond later
   */
  public boolean sweep(long nowMs) {
    index.forgetClosed(nowMs);
    return keepAlives.sweep(nowMs);
  }
}
