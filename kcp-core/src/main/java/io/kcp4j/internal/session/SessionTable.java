package io.kcp4j.internal.session;

import io.kcp4j.CloseReason;
import io.kcp4j.EndReason;
import io.kcp4j.KcpCounter;
import io.kcp4j.KcpCounters;
import io.kcp4j.crypto.PacketKey;
import io.kcp4j.internal.admission.Admission;
import io.kcp4j.internal.admission.CandidatePaths;
import io.kcp4j.internal.admission.Incoming;
import io.kcp4j.internal.admission.StatelessResponder;
import io.kcp4j.internal.admission.UnclaimedPackets;
import io.kcp4j.internal.admission.UnvalidatedSessions;
import io.kcp4j.internal.arq.Kcp;
import io.kcp4j.internal.arq.KcpContext;
import io.kcp4j.internal.crypto.PacketCipher;
import io.kcp4j.internal.crypto.SipHash;
import io.kcp4j.internal.extension.CloseHandshake;
import io.kcp4j.internal.extension.ExtensionMessage;
import io.kcp4j.internal.extension.LanesExtension;
import io.kcp4j.internal.fec.FecContext;
import io.kcp4j.internal.lanes.Lanes;
import io.kcp4j.internal.path.Path;
import io.kcp4j.internal.path.SessionKey;
import io.kcp4j.internal.wire.DatagramOutput;
import io.kcp4j.lanes.LanesConfig;
import io.netty.buffer.ByteBuf;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.security.GeneralSecurityException;
import java.security.InvalidKeyException;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;

/**
 * The sessions of one socket. Opens each packet, finds its session, lets peers begin new sessions,
 * and drives them. No I/O and no clock. Used by one thread.
 *
 * <p><b>How to drive it.</b> Call {@link #receive} for each datagram and {@link #endBatch} after a
 * batch of them; {@link #scheduleFlush} after a write to a session; {@link #flushPending} after
 * {@link Handler#requestFlush}; {@link #sweep} once a second while there are sessions, and again
 * soon if it says so. The deadlines of sessions are on the {@link TimerWheel}, which other tables
 * on the thread may share.
 *
 * <p><b>Parts.</b> {@link PacketDecrypter} opens packets, {@link PacketDemux} finds their sessions
 * by the {@link SessionIndex}, {@link Admission} decides on attempts to begin a session, {@link
 * FlushQueue} and {@link SessionDriver} drive sessions that have received something or have
 * something to send, and {@link SessionLifecycle} knows how they begin, close and end.
 *
 * <p><b>Admission.</b> Nothing is kept for an unknown peer before a PUSH with sequence number 0 has
 * been received from it, and nothing for a session that was closed within the last minute. A window
 * probe of an unknown peer is answered by one WINS: protocol.md 8.2 and 8.3. The driver decides on
 * each attempt to begin a session: see {@link Incoming}.
 */
public final class SessionTable {

  /**
   * What the table asks of its driver, which has the socket. Called on the table's thread, from
   * within the table's methods, unless noted otherwise. What concerns one session, its {@link
   * Session.Owner} is told.
   */
  public interface Handler {

    /**
     * A peer attempts to begin a session. The driver answers the attempt in this method or later.
     * This is called as the last thing in {@link #receive} or {@link #receiveOpened}, and may call
     * any method of the table. An attempt for which it throws is refused.
     *
     * @param nowUs the time that the table was given, in microseconds
     */
    void incoming(Incoming incoming, long nowUs);

    /**
     * Whether an attempt of a peer to begin a session would be accepted now, as far as is known. If
     * not, window probes of unknown peers are not answered.
     *
     * @param remote the address of the peer, which may be forged
     * @param conv the conversation id
     */
    default boolean isAccepting(InetSocketAddress remote, int conv) {
      return true;
    }

    /**
     * What a peer is told whose attempt is refused, if it can be told.
     *
     * @param remote the address of the peer, which may be forged
     * @param conv the conversation id
     * @return null, the default, for nothing
     */
    default CloseReason refusal(InetSocketAddress remote, int conv) {
      return null;
    }

    /**
     * A session that {@link #closeGracefully} or {@link #abort} has left in the table is no longer
     * there. It has been closed.
     */
    default void closed(Session session) {}

    /**
     * Returns where packets for {@code remote} are written. Called for every flush of a session.
     * Packets have room for the table's cipher at both ends; the driver seals them before it sends
     * them. Only where packets are {@linkplain PacketCipher#isUnencrypted unencrypted} are some
     * passed to {@link DatagramOutput#send}.
     */
    DatagramOutput output(InetSocketAddress remote);

    /** Sends all packets that were written to outputs since the last call. */
    void flushOutput();

    /**
     * Another table has received and opened a packet of a session of this table. Called on the
     * thread of the other table. The driver copies the packet and has its own thread call {@link
     * #receiveOpened} and {@link #endBatch}, or drops the packet. An exception is counted by the
     * other table as a failed allocation. Never called where there is only one table.
     *
     * @param packet the nonce by which an AEAD has opened it, and the opened packet
     * @param nonceBytes the length of the nonce, 0 if the packet was opened by no AEAD
     */
    default void forward(InetSocketAddress remote, ByteBuf packet, int nonceBytes) {}

    /**
     * Has the thread of this table run a task. Called on the thread of another table; never where
     * there is only one table. By default the task is dropped.
     *
     * @return false if the task does not run, as when the thread has ended
     */
    default boolean execute(Runnable task) {
      return false;
    }

    /**
     * A datagram was refused whose peer seems to have other settings, or a peer has said that its
     * session has another delivery. Called for each such datagram and session: the driver limits
     * what it logs.
     *
     * @param counter the counter that has counted it: {@link KcpCounter#DECRYPT_FAILED}, {@link
     *     KcpCounter#PLAINTEXT_RECEIVED}, {@link KcpCounter#NOT_KCP} or {@link
     *     KcpCounter#DELIVERY_MISMATCHED}
     */
    default void mismatched(KcpCounter counter, InetSocketAddress remote) {}

    /** Whether the socket takes more packets. While it does not, no session is flushed. */
    boolean isOutputWritable();

    /**
     * Returns the time, in microseconds. Called once for each batch, before sessions are flushed,
     * since {@link #incoming} and the owners of sessions may have run for long. A segment with an
     * earlier send time than its real one would soon count as lost.
     *
     * @param nowUs the time that the table was given last, in microseconds; returned by default,
     *     which is right for virtual time
     */
    default long readNowUs(long nowUs) {
      return nowUs;
    }

    /**
     * Asks for a call of {@link #flushPending} soon, or once the output is writable. Not called
     * again before that.
     */
    void requestFlush();
  }

  /** The default of {@link #decryptFailuresPerSecond}. */
  public static final int DEFAULT_DECRYPT_FAILURES_PER_SECOND =
      PacketDecrypter.DEFAULT_FAILURES_PER_SECOND;

  /** The largest value of {@link #decryptFailuresPerSecond}. */
  public static final int MAX_DECRYPT_FAILURES_PER_SECOND = 1_000_000;

  /** What a session itself takes of the heap, approximately: objects, channel and pipeline. */
  public static final int SESSION_BYTES = UnvalidatedSessions.SESSION_BYTES;

  /** The default of {@link #unvalidatedLimit}. */
  public static final int DEFAULT_UNVALIDATED_LIMIT = UnvalidatedSessions.DEFAULT_LIMIT;

  /** How many attempts to begin a session wait for their answer at most. */
  public static final int MAX_PENDING_ATTEMPTS = Incoming.Backlog.MAX_PENDING_ACCEPTS;

  public final Handler handler;
  private final KcpContext context;
  private final FecContext fecContext;

  /** Of sessions without FEC, and of what is sent for no session. */
  private final FecLayer unprotected;

  /** The same for sessions whose sequence numbers would begin at 0. */
  private final FecLayer unprotectedFromZero;

  private final SessionDirectory directory;
  private final int maxDatagramBytes;
  private final SessionIndex index;
  private final TimerWheel deadlines;
  public final SessionLifecycle lifecycle;
  private final FlushQueue flushQueue;
  private final StatelessResponder responder;
  private final CandidatePaths candidates;
  private final UnclaimedPackets.Forwarder forwarder;
  private final Admission admission;
  private final UnclaimedPackets unclaimed;
  private final PacketDemux demux;
  private final PacketDecrypter decrypter;
  private final SessionKey.Hash networks;
  private final long laneHashSeed = SipHash.newSeed();
  private ResetTokens resetTokens;
  private PacketCipher cipher;

  /**
   * Makes a table.
   *
   * @param handler the driver
   * @param context what the sessions share; its total also counts what belongs to no session
   * @param cipher opens packets; the driver seals them with it or with one of the same keys
   * @param fecContext what FEC on this thread shares
   * @param deadlines the wheel for the deadlines of sessions
   * @param directory what this table shares with others; with one that lets peers begin no
   *     sessions, window probes of unknown peers are not answered
   * @param maxDatagramBytes the largest datagram that is parsed, in bytes; larger ones are counted
   * @param nowUs the time, in microseconds
   */
  public SessionTable(
      Handler handler,
      KcpContext context,
      PacketCipher cipher,
      FecContext fecContext,
      TimerWheel deadlines,
      SessionDirectory directory,
      int maxDatagramBytes,
      long nowUs) {
    this.handler = Objects.requireNonNull(handler, "handler");
    this.context = context;
    this.fecContext = fecContext;
    this.directory = Objects.requireNonNull(directory, "directory");
    this.maxDatagramBytes = maxDatagramBytes;
    this.cipher = Objects.requireNonNull(cipher, "cipher");
    this.deadlines = Objects.requireNonNull(deadlines, "deadlines");
    KcpCounters counters = context.total();
    networks =
        new SessionKey.Hash(context.budget().limit().networkParts().hashSeed(SipHash.newSeed()));
    unprotected = new FecLayer(fecContext, counters);
    unprotectedFromZero = new FecLayer(fecContext, counters);
    unprotectedFromZero.firstSeqid(0);
    index = new SessionIndex(this, directory);
    lifecycle =
        new SessionLifecycle(
            handler,
            context,
            directory,
            index,
            deadlines,
            cipher,
            unprotected,
            maxDatagramBytes,
            nowUs);
    SessionDriver driver = lifecycle.driver();
    flushQueue = driver.queue();
    responder = new StatelessResponder(driver, counters);
    candidates = new CandidatePaths(lifecycle, index, responder, deadlines, counters);
    forwarder = new UnclaimedPackets.Forwarder(index, counters);
    admission =
        new Admission(
            this, handler, context, lifecycle, index, directory, responder, candidates, forwarder);
    unclaimed =
        new UnclaimedPackets(handler, counters, index, responder, candidates, admission, forwarder);
    demux = new PacketDemux(counters, index, driver, admission, unclaimed, cipherBytes());
    decrypter = new PacketDecrypter(handler, this::receive, context, cipher, index);
  }

  /**
   * Sets whether a window probe of an unknown peer begins a session. If not, the default, the probe
   * is answered and nothing is kept.
   */
  public void acceptOnProbe(boolean accept) {
    unclaimed.acceptOnProbe(accept);
  }

  /**
   * Sets how many accepted sessions there may be whose paths are not validated. If there are more
   * than half as many, peers have to repeat their first datagram to begin a session; if there are
   * more, the oldest of them ends.
   *
   * @param sessions at least 1; default {@value #DEFAULT_UNVALIDATED_LIMIT}
   */
  public void unvalidatedLimit(int sessions) {
    lifecycle.unvalidated().limit(sessions);
  }

  /**
   * Sets how many sessions a remote address may have whose paths are validated. When another one is
   * validated, the one that was validated first ends as {@link EndReason#SUPERSEDED}. To be called
   * before there are sessions.
   *
   * @param convs 0, the default, for any number
   */
  public void convsPerAddress(int convs) {
    lifecycle.convsPerAddress(convs);
  }

  /**
   * Sets how many packets may fail to open in a second, of all peers together; a sixteenth of it of
   * each network: 24 bits of an IPv4 address, 56 of an IPv6 address. Beyond that, only packets from
   * the addresses of validated sessions are opened, at the end of their batch, until as many again
   * of these have failed; others are counted as {@link KcpCounter#DECRYPT_SKIPPED}.
   *
   * @param perSecond 1 to a million; default {@value #DEFAULT_DECRYPT_FAILURES_PER_SECOND}
   */
  public void decryptFailuresPerSecond(int perSecond) {
    decrypter.failuresPerSecond(perSecond);
  }

  /**
   * Sets the reset tokens, by which peers that have the extension learn that their sessions are
   * unknown here, as after a restart; null, the default, for none.
   */
  public void resetTokens(ResetTokens tokens) {
    resetTokens = tokens;
    responder.tokens(tokens);
  }

  ResetTokens resetTokens() {
    return resetTokens;
  }

  /**
   * Changes the keys. Packets of all sessions are opened with the new cipher from now on, and are
   * given room for it.
   *
   * @param cipher adds as many bytes to a packet as the one before
   * @throws IllegalArgumentException if it adds more or fewer bytes
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
    lifecycle.driver().cipher(cipher);
    decrypter.cipher(cipher);
  }

  Path.AddressExcess addressExcess() {
    return directory.addressExcess();
  }

  /** How its sessions begin, close and end. */
  public SessionLifecycle lifecycle() {
    return lifecycle;
  }

  /** The wheel for the deadlines of sessions. */
  TimerWheel deadlines() {
    return deadlines;
  }

  /** What FEC on this thread shares. */
  FecContext fecContext() {
    return fecContext;
  }

  /** What stands for the FEC of sessions without any, so that their flushes touch no own one. */
  FecLayer unprotected(int firstSeqid) {
    return firstSeqid == 0 ? unprotectedFromZero : unprotected;
  }

  /** What the cipher adds to each packet, in bytes. */
  int cipherBytes() {
    return cipherBytes(cipher);
  }

  private static int cipherBytes(PacketCipher cipher) {
    return cipher.headroom() + cipher.tailroom();
  }

  /**
   * Makes a session for this table. It is not in the table until {@link #add} or {@link
   * Incoming#accept}.
   *
   * @param remote the address of the peer
   * @param kcp the state machine, which is closed with the session
   * @param owner is told what happens to it
   * @throws IllegalArgumentException if the MTU has no room for the cipher's headers
   */
  public Session newSession(InetSocketAddress remote, Kcp kcp, Session.Owner owner) {
    return new Session(this, remote, kcp, owner);
  }

  /**
   * Gives a session lanes that begins here, as a client, and offers them to the peer with the
   * extension: see {@link Session#offerExtension}. It ends as {@link EndReason#LANES_UNSUPPORTED}
   * if the peer does not take part.
   *
   * @param token a random number that others cannot guess
   * @throws IllegalStateException if its delivery is not {@link io.kcp4j.Delivery#LANES}
   * @throws IllegalArgumentException if the MTU has no room for the messages of the extension
   */
  public Lanes offerLanes(Session session, LanesConfig config, long token) {
    Lanes lanes = new Lanes(session.kcp(), config, true, laneHashSeed);
    session.use(LanesExtension.offering(session.kcp(), session.unreliable(), lanes, token));
    return lanes;
  }

  /**
   * Gives a session lanes that the peer begins: see {@link Session#answerExtension}. It ends as
   * {@link EndReason#LANES_UNSUPPORTED} if the peer does not offer them.
   *
   * @param token a random number that others cannot guess
   * @param sessionId another one
   * @throws IllegalStateException as {@link #offerLanes}
   * @throws IllegalArgumentException as {@link #offerLanes}
   */
  public Lanes answerLanes(Session session, LanesConfig config, long token, long sessionId) {
    Lanes lanes = new Lanes(session.kcp(), config, false, laneHashSeed);
    session.use(
        LanesExtension.listening(
            session.kcp(), session.unreliable(), lanes, token, sessionId, resetTokens));
    return lanes;
  }

  /** How many sessions there are. */
  public int size() {
    return index.size();
  }

  /**
   * How many packets have been for a session of this table or of another one. All others have been
   * refused, kept or answered.
   */
  public long packetsOfSessions() {
    return demux.packetsOfSessions() + forwarder.forwarded();
  }

  /**
   * Adds a session that this side begins, as a client. Its path counts as validated.
   *
   * @param nowUs the time, in microseconds
   * @throws IllegalArgumentException if there is one of the same address and conversation id
   */
  public void add(Session session, long nowUs) {
    session.validatePath();
    lifecycle.insert(session, nowUs);
    directory.enter();
    directory.validated();
  }

  /**
   * Removes a session and remembers it as closed for 60 s: what its peer sends is dropped. Does not
   * close the session. Nothing happens if it is not in the table.
   *
   * @param nowUs the time, in microseconds
   */
  public void remove(Session session, long nowUs) {
    lifecycle.remove(session, nowUs);
  }

  /** What waits to be written to peers whose addresses may be forged has changed. */
  void countWaiting(int bytes) {
    lifecycle.unvalidated().countWaiting(bytes);
  }

  /**
   * Lets a session linger, whose owner writes no more and closes it when the peer has acknowledged
   * everything: protocol.md 7.7. It ends as {@link EndReason#CLOSE_TIMEOUT} if the peer is
   * unresponsive, although it is probed, or after some time in any case.
   *
   * @param timeoutMs how long the peer may be unresponsive, in milliseconds, at least 1
   * @param maxMs how long the session lingers at most, in milliseconds
   * @param nowUs the time, in microseconds
   */
  public void linger(Session session, int timeoutMs, int maxMs, long nowUs) {
    lifecycle.linger(session, 1_000L * timeoutMs, nowUs + 1_000L * maxMs, nowUs);
  }

  /**
   * The system has reported by ICMP that nobody listens at the port of a client's peer. ICMP is not
   * authenticated, so the peer is probed first: protocol.md 7.8. The session ends as {@link
   * EndReason#PORT_UNREACHABLE}, at once or later, if the peer does not answer and the system goes
   * on reporting. Nothing happens if the session is not in the table, or is closing.
   *
   * @param nowUs the time, in microseconds
   */
  public void portUnreachable(Session session, long nowUs) {
    if (lifecycle.contains(session) && !session.isClosing()) {
      lifecycle.keepAlives().onPortUnreachable(session, nowUs);
    }
  }

  /**
   * Closes a session whose owner reads and writes no more. A peer that has the extension is told
   * so, and of the sequence number behind the last segment: the session then stays in the table
   * without an owner until the peer has answered, for at most three probe timeouts. If the peer has
   * closed it before, it stays for these to answer again, and sends nothing more. Any other session
   * is removed and closed at once.
   *
   * @param nowUs the time, in microseconds
   * @return whether the session stays in the table; {@link Handler#closed} is called at its end
   */
  public boolean closeGracefully(Session session, long nowUs) {
    return lifecycle.close(session, ExtensionMessage.CLOSE, 0, nowUs);
  }

  /**
   * Closes a session like {@link #closeGracefully}, but tells the peer that it was aborted: the
   * peer gives up at once, whatever it has not read.
   *
   * @param code what the peer can read by {@link Session#peerReason}
   * @param nowUs the time, in microseconds
   * @return whether the session stays in the table; {@link Handler#closed} is called at its end
   */
  public boolean abort(Session session, int code, long nowUs) {
    return lifecycle.close(session, ExtensionMessage.RESET, code, nowUs);
  }

  /**
   * Closes a session like {@link #closeGracefully}, but before the peer has received everything.
   * The peer can read what has arrived in order, and is told that more is missing. One of an
   * earlier version is told that the session was aborted.
   *
   * @param hasMore whether the owner has more to write than the session has
   * @param nowUs the time, in microseconds
   * @return whether the session stays in the table; {@link Handler#closed} is called at its end
   */
  public boolean giveUpClosing(Session session, boolean hasMore, long nowUs) {
    session.kcp().forgetZeroWindow();
    int type = session.closeFailedType();
    boolean isFailedClose = type == ExtensionMessage.CLOSE_FAILED;
    return lifecycle.close(
        session, type, isFailedClose ? session.kcp().sendEnd(hasMore) : 0, nowUs);
  }

  public Handler handler() {
    return handler;
  }

  /** By what the memory of sessions of one host, or of one network of IPv6, is counted together. */
  int network(InetSocketAddress remote) {
    return networks.host(remote);
  }

  // Input

  /**
   * Takes in one datagram, which is opened in place. The buffer stays the caller's; its content and
   * indices change.
   *
   * @param remote the address that it has come from
   * @param nowUs the time, in microseconds
   */
  public void receive(InetSocketAddress remote, ByteBuf datagram, long nowUs) {
    if (datagram.readableBytes() > maxDatagramBytes) {
      context.total().add(KcpCounter.OVERSIZE, 1);
      return;
    }
    decrypter.receive(remote, datagram, nowUs);
  }

  /**
   * Takes in a packet that was opened by the table that has forwarded it: see {@link
   * Handler#forward}. The buffer stays the caller's; its indices change.
   *
   * @param remote the address that it has come from
   * @param packet its nonce and the packet, as they were forwarded
   * @param nonceBytes the length of the nonce, 0 if the packet was opened by no AEAD
   * @param nowUs the time, in microseconds
   */
  public void receiveOpened(InetSocketAddress remote, ByteBuf packet, int nonceBytes, long nowUs) {
    forwarder.receivesForwarded(true);
    try {
      receive(remote, packet.skipBytes(nonceBytes), nonceBytes, null, nowUs);
    } finally {
      forwarder.receivesForwarded(false);
    }
  }

  private void receive(
      InetSocketAddress remote, ByteBuf packet, int nonceBytes, PacketKey key, long nowUs) {
    flushQueue.beginBatch();
    lifecycle.endPending(nowUs); // What user code has left that has thrown.
    int start = packet.readerIndex();
    do {
      packet.readerIndex(start);
      Incoming incoming = demux.receive(remote, packet, nonceBytes, key, nowUs);
      if (incoming != null
          && admission.offer(incoming, packet.readerIndex(start), nonceBytes, nowUs)) {
        demux.receive(remote, packet, nonceBytes, key, nowUs);
      }
    } while (lifecycle.endPending(nowUs)); // The packet begins another session.
  }

  /** Takes in packets that have waited until the session was accepted. */
  public void receiveDeferred(Session session, List<ByteBuf> packets, long nowUs) {
    flushQueue.beginBatch();
    flushQueue.schedule(session); // Its owner may have written before it was in the table.
    for (ByteBuf packet : packets) {
      demux.receive(session.remote(), packet, packet.readerIndex(), null, nowUs);
    }
  }

  /**
   * Ends the use of the table: drops attempts that were not answered and sessions that are closing,
   * and lets other tables begin sessions of the keys of this one. Other sessions are closed by the
   * driver, now or later.
   */
  public void close() {
    lifecycle.closeTable();
    candidates.close();
    admission.close();
    index.close();
    decrypter.close();
    directory.close(context.budget());
  }

  /**
   * Ends a batch of {@link #receive}. Calls {@link Session.Owner#progressed} for every session that
   * has received something, and then flushes every session that has something to send.
   *
   * @param nowUs the time, in microseconds
   */
  public void endBatch(long nowUs) {
    try {
      decrypter.endBatch(nowUs);
    } finally {
      flushQueue.endBatch(nowUs);
    }
    relieve(nowUs);
  }

  /** Sessions that wait for memory get some, or others end for them, or for want of room. */
  private void relieve(long nowUs) {
    admission.giveWay(nowUs);
    lifecycle.relieveMemory(nowUs);
  }

  /**
   * Schedules a flush of a session. To be called when the owner has written to it, has read from it
   * outside of {@link Session.Owner#progressed}, or has asked for a probe.
   */
  public void scheduleFlush(Session session) {
    flushQueue.onWrite(session);
  }

  /**
   * Flushes every session with a pending flush, as long as the output takes packets.
   *
   * @param nowUs the time, in microseconds
   */
  public void flushPending(long nowUs) {
    flushQueue.flushPending(nowUs);
  }

  /**
   * Flushes a session that is about to be closed, without regard to delays and pending flushes.
   *
   * @param nowUs the time, in microseconds
   */
  public void flushNow(Session session, long nowUs) {
    lifecycle.driver().flushNow(session, nowUs);
  }

  /**
   * Flushes a session that stays after it was closed, with all copies of what it has to say: the
   * driver ends, and nothing can follow.
   *
   * @param nowUs the time, in microseconds
   */
  public void flushLast(Session session, long nowUs) {
    for (int copy = 0; copy <= CloseHandshake.COPIES; copy++) {
      lifecycle.driver().flushNow(session, nowUs + (long) copy * CloseHandshake.COPY_DELAY_US);
    }
  }

  /**
   * Probes peers from which nothing has been received for the keep-alive interval, and ends
   * sessions that are idle or whose peers do not respond. To be called once a second while there
   * are sessions.
   *
   * @param nowUs the time, in microseconds
   * @return whether some sessions are left for another call, a millisecond later
   */
  public boolean sweep(long nowUs) {
    index.sweep(nowUs);
    admission.sweep(nowUs);
    lifecycle.duplicates().sweep(nowUs);
    relieve(nowUs);
    return lifecycle.keepAlives().sweep(nowUs);
  }

  /**
   * Reset tokens, by which a server proves that it does not know a session any more, though it has
   * forgotten everything about it (RFC 9000 §10.3): HMAC-SHA256 of the session id. Used by one
   * thread.
   */
  public static final class ResetTokens {

    /** The least size of a secret, in bytes. */
    public static final int MIN_SECRET_BYTES = 16;

    /** The size of a token, in bytes. */
    public static final int BYTES = 16;

    private static final String ALGORITHM = "HmacSHA256";

    private final Mac mac;

    /**
     * Makes the tokens of a server.
     *
     * @param secret bytes that others cannot guess, 16 or more; if a server keeps them when it
     *     restarts, its clients learn of that at once
     * @throws IllegalArgumentException if there are fewer
     */
    public ResetTokens(byte[] secret) {
      if (secret.length < MIN_SECRET_BYTES) {
        throw new IllegalArgumentException(
            "secret: " + secret.length + " bytes (expected: >= " + MIN_SECRET_BYTES + ")");
      }
      try {
        mac = Mac.getInstance(ALGORITHM);
        mac.init(new SecretKeySpec(secret, ALGORITHM));
      } catch (InvalidKeyException e) {
        throw new AssertionError(e); // HMAC takes keys of any length.
      } catch (GeneralSecurityException e) {
        throw new IllegalStateException(e); // Every JDK has it.
      }
    }

    /** The token of a session id. */
    public byte[] of(long sessionId) {
      byte[] message =
          ByteBuffer.allocate(Long.BYTES).order(ByteOrder.LITTLE_ENDIAN).putLong(sessionId).array();
      return Arrays.copyOf(mac.doFinal(message), BYTES);
    }
  }
}
