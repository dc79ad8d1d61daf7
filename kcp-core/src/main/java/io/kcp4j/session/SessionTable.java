package io.kcp4j.session;

import io.kcp4j.CloseReason;
import io.kcp4j.DatagramOutput;
import io.kcp4j.EndReason;
import io.kcp4j.Kcp;
import io.kcp4j.KcpContext;
import io.kcp4j.KcpCounter;
import io.kcp4j.KcpCounters;
import io.kcp4j.crypto.HashSeed;
import io.kcp4j.crypto.PacketCipher;
import io.kcp4j.crypto.PacketKey;
import io.kcp4j.fec.FecContext;
import io.kcp4j.lanes.Lanes;
import io.kcp4j.lanes.LanesConfig;
import io.netty.buffer.ByteBuf;
import java.net.InetSocketAddress;
import java.util.List;
import java.util.Objects;
import java.util.function.LongConsumer;
import java.util.function.Predicate;

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
 * <p><b>Parts.</b> {@link PacketDecrypter} opens packets, {@link PacketDemux} classifies them,
 * {@link SessionIndex} finds sessions, {@link Admission} decides on packets of unknown peers,
 * {@link FlushQueue} drives sessions that have received something or have something to send, and
 * {@link KeepAlive.Schedule} ends those of unresponsive peers.
 *
 * <p><b>Admission.</b> Nothing is kept for an unknown peer before a PUSH with sequence number 0 has
 * been received from it, and nothing for a session that was closed within the last minute. A window
 * probe of an unknown peer is answered by one WINS: protocol.md 8.2 and 8.3. The driver decides on
 * each attempt to begin a session: see {@link Incoming}.
 */
public final class SessionTable {

  /**
   * What the table asks of its driver. Called on the table's thread, from within the table's
   * methods, unless noted otherwise.
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
     * A session has received datagrams, has obtained memory that it waited for, or has sent all
     * that was queued: there may be something to read, or room to write.
     *
     * @param nowUs the time that the table was given, in microseconds
     */
    void progressed(Session session, long nowUs);

    /**
     * A session has been flushed: there may be room to write. What is written now leaves in the
     * same batch. So an owner that always writes is told only so often in a turn.
     *
     * @return whether the owner was told that something has left
     */
    default boolean flushed(Session session) {
      return false;
    }

    /**
     * A peer has answered neither keep-alive probes nor segments in flight for {@link
     * Session#keepAliveProbeIntervalMs}. Called once, until something is received from it again,
     * which {@link #progressed} reports.
     */
    default void unresponsive(Session session) {}

    /** The address of the peer of a session has changed: see {@link Session#remote}. */
    default void moved(Session session) {}

    /**
     * A session has ended. The driver closes it before this method returns, by {@link
     * #closeGracefully}, {@link #abort} or {@link Session#close}. Only a session that has ended as
     * {@linkplain EndReason#isToldToPeer one that the peer is told} is still in the table, so that
     * its peer can be told.
     *
     * @param reason why it has ended
     */
    void ended(Session session, EndReason reason);

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
     * @param counter the counter that has counted it: {@link KcpCounter#OPEN_FAILED}, {@link
     *     KcpCounter#UNSEALED}, {@link KcpCounter#NOT_KCP} or {@link
     *     KcpCounter#DELIVERY_MISMATCHED}
     */
    default void mismatched(KcpCounter counter, InetSocketAddress remote) {}

    /** Whether the socket takes more packets. While it does not, no session is flushed. */
    boolean isOutputWritable();

    /**
     * Returns the time, in microseconds. Called once for each batch, before sessions are flushed,
     * since {@link #incoming}, {@link #progressed} and {@link #ended} may have run for long. A
     * segment with an earlier send time than its real one would soon count as lost.
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

  /** The default of {@link #openFailuresPerSecond}. */
  public static final int DEFAULT_OPEN_FAILURES_PER_SECOND =
      PacketDecrypter.DEFAULT_FAILURES_PER_SECOND;

  /** The largest value of {@link #openFailuresPerSecond}. */
  public static final int MAX_OPEN_FAILURES_PER_SECOND = 1_000_000;

  /** What a session itself takes of the heap, approximately: objects, channel and pipeline. */
  public static final int SESSION_BYTES = UnvalidatedSessions.SESSION_BYTES;

  /** The default of {@link #unvalidatedLimit}. */
  public static final int DEFAULT_UNVALIDATED_LIMIT = UnvalidatedSessions.DEFAULT_LIMIT;

  /** How many attempts to begin a session wait for their answer at most. */
  public static final int MAX_PENDING_ATTEMPTS = Backlog.MAX_PENDING_ACCEPTS;

  private final Handler handler;
  private final KcpContext context;
  private final KcpCounters counters;
  private final FecContext fecContext;

  /** Of sessions without FEC, and of what is sent for no session. */
  private final FecLayer unprotected;

  /** The same for sessions whose sequence numbers would begin at 0. */
  private final FecLayer unprotectedFromZero;

  private final SessionDirectory directory;
  private final int maxDatagramBytes;
  private final PacketOutput output;
  private final SessionIndex index;
  private final TimerWheel deadlines;
  private final FlushQueue flushQueue;
  private final KeepAlive.Schedule keepAlives;
  private final UnvalidatedSessions unvalidated;
  private final MemoryReclaim reclaim;
  private final MemoryPressure pressure;
  private final PacketForwarder forwarder;
  private final Successors successors;
  private final Admission admission;
  private final PacketDemux demux;
  private final ClosingSessions closing;
  private final DuplicateSessions duplicates;
  private final StatelessResponder responder;
  private final CandidatePaths candidates;
  private final PacketDecrypter decrypter;
  private ResetTokens resetTokens;

  /** How many validated sessions a remote address may have; 0 for any number. */
  private int convsPerAddress;

  private final SessionKey.Hash networks;

  private final long laneHashSeed = HashSeed.next();

  private final PendingEnds pendingEnds;

  private PacketCipher cipher;
  private boolean isClosed;

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
    this.counters = context.total();
    this.fecContext = fecContext;
    this.directory = Objects.requireNonNull(directory, "directory");
    this.maxDatagramBytes = maxDatagramBytes;
    this.cipher = Objects.requireNonNull(cipher, "cipher");
    output = new PacketOutput(cipher);
    index = new SessionIndex(this, directory);
    keepAlives = new KeepAlive.Schedule(this, nowUs);
    this.deadlines = Objects.requireNonNull(deadlines, "deadlines");
    flushQueue = new FlushQueue(this, handler, deadlines, output);
    unprotected = new FecLayer(fecContext, counters);
    unprotectedFromZero = new FecLayer(fecContext, counters);
    unprotectedFromZero.firstSeqid(0);
    responder =
        new StatelessResponder(
            handler, flushQueue, output, unprotected, maxDatagramBytes, counters);
    candidates = new CandidatePaths(this, index, responder, deadlines, counters);
    unvalidated = new UnvalidatedSessions(this, context.budget());
    reclaim = new MemoryReclaim(this, context.budget(), counters);
    pressure = new MemoryPressure(this, context.budget(), unvalidated, reclaim);
    networks =
        new SessionKey.Hash(context.budget().limit().networkParts().hashSeed(HashSeed.next()));
    pendingEnds = new PendingEnds(this, flushQueue);
    forwarder = new PacketForwarder(index, counters);
    AttemptFilter filter =
        new AttemptFilter(responder, () -> directory.replayFilter(context.budget()));
    successors = new Successors(handler, filter, pendingEnds);
    admission =
        new Admission(
            this,
            handler,
            context,
            index,
            directory,
            responder,
            candidates,
            forwarder,
            unvalidated,
            filter,
            successors);
    demux =
        new PacketDemux(
            handler,
            context,
            cipherBytes(),
            index,
            admission,
            flushQueue,
            pressure,
            pendingEnds,
            successors,
            this::validated);
    decrypter = new PacketDecrypter(handler, this::receive, context, cipher, index);
    closing = new ClosingSessions(this, deadlines, reclaim);
    duplicates = new DuplicateSessions(this, counters);
  }

  /**
   * Sets whether a window probe of an unknown peer begins a session. If not, the default, the probe
   * is answered and nothing is kept.
   */
  public void acceptOnProbe(boolean accept) {
    admission.acceptOnProbe(accept);
  }

  /**
   * Sets how many accepted sessions there may be whose paths are not validated. If there are more
   * than half as many, peers have to repeat their first datagram to begin a session; if there are
   * more, the oldest of them ends.
   *
   * @param sessions at least 1; default {@value #DEFAULT_UNVALIDATED_LIMIT}
   */
  public void unvalidatedLimit(int sessions) {
    unvalidated.limit(sessions);
  }

  /**
   * Sets how many sessions a remote address may have whose paths are validated. When another one is
   * validated, the one that was validated first ends as {@link EndReason#REPLACED}. To be called
   * before there are sessions.
   *
   * @param convs 0, the default, for any number
   */
  public void convsPerAddress(int convs) {
    convsPerAddress = convs;
    if (convs > 0) {
      index.trackAddresses();
    }
  }

  /**
   * Sets how many packets may fail to open in a second, of all peers together; a sixteenth of it of
   * each network: 24 bits of an IPv4 address, 56 of an IPv6 address. Beyond that, only packets from
   * the addresses of validated sessions are opened, at the end of their batch, until as many again
   * of these have failed; others are counted as {@link KcpCounter#OPEN_SKIPPED}.
   *
   * @param perSecond 1 to a million; default {@value #DEFAULT_OPEN_FAILURES_PER_SECOND}
   */
  public void openFailuresPerSecond(int perSecond) {
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
    output.cipher(cipher);
    decrypter.cipher(cipher);
  }

  Path.AddressExcess addressExcess() {
    return directory.addressExcess();
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
   * @param owner an object of the driver's, such as a channel; may be null
   * @throws IllegalArgumentException if the MTU has no room for the cipher's headers
   */
  public Session newSession(InetSocketAddress remote, Kcp kcp, Object owner) {
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
    insert(session, nowUs);
    directory.enter();
    directory.validated();
  }

  void insert(Session session, long nowUs) {
    index.add(session);
    flushQueue.add(session);
    session.keepAlive().start(keepAlives, nowUs);
    counters.add(KcpCounter.SESSIONS_OPENED, 1);
  }

  /**
   * Removes a session and remembers it as closed for 60 s: what its peer sends is dropped. Does not
   * close the session. Nothing happens if it is not in the table.
   *
   * @param nowUs the time, in microseconds
   */
  public void remove(Session session, long nowUs) {
    if (!contains(session)) {
      return;
    }
    index.remove(session, nowUs);
    leave(session, nowUs);
  }

  private void leave(Session session, long nowUs) {
    unvalidated.remove(session);
    duplicates.remove(session);
    forgetAuthenticated(session, nowUs);
    pressure.remove(session);
    flushQueue.remove(session);
    if (!session.isClosing()) {
      session.keepAlive().stop();
      if (session.path().isValidated()) {
        directory.validatedLeaves();
      }
    }
    closing.remove(session);
    directory.leave();
    counters.add(KcpCounter.SESSIONS_CLOSED, 1);
  }

  /**
   * A session ends that an authenticated packet may have begun. The filter takes the packet over
   * before the session is forgotten, so that a replay finds one of them.
   */
  private void forgetAuthenticated(Session session, long nowUs) {
    FirstPacket first = directory.authenticated().first(session);
    if (first != null) {
      if (!isClosed) {
        directory.replayFilter(context.budget()).renew(session.conv(), first.nonce(), nowUs);
      }
      directory.authenticated().remove(session);
    }
  }

  /** Ends a session to make room for another. Its peer may begin it again at once. */
  void evict(Session session, long nowUs) {
    counters.add(KcpCounter.SESSIONS_EVICTED, 1);
    if (session.isClosing()) {
      endClosing(session, nowUs);
      return;
    }
    index.forget(session);
    leave(session, nowUs);
    session.waitingToBeWritten(0);
    handler.ended(session, EndReason.EVICTED);
  }

  /** The path of a session has been validated. */
  void validated(Session session, long nowUs) {
    session.validatePath();
    if (!session.isClosing()) {
      directory.validated();
    }
    moveToCommon(session, nowUs);
    index.validated(session);
    Session oldest =
        convsPerAddress == 0 ? null : index.oldestBeyond(session.remote(), convsPerAddress);
    if (oldest != null) {
      pendingEnds.add(oldest, EndReason.REPLACED);
    }
  }

  /**
   * Moves a session whose path was never validated to an address at which its peer has shown that
   * it receives.
   *
   * @return false if no session may begin there now, or if there is another one of that address and
   *     conversation id
   */
  boolean move(Session session, InetSocketAddress remote, long nowUs) {
    if (!handler.isAccepting(remote, session.conv())
        || !index.addKey(session, new SessionKey(remote, session.conv()))) {
      return false;
    }
    session.moveTo(remote);
    validated(session, nowUs);
    counters.add(KcpCounter.SESSIONS_MOVED, 1);
    handler.moved(session);
    scheduleFlush(session);
    return true;
  }

  DuplicateSessions duplicates() {
    return duplicates;
  }

  /** The other sessions of the client of a session, at all tables of the server. */
  List<Session> othersOfClient(Session session) {
    return directory.authenticated().othersOfClient(session);
  }

  /**
   * Runs a task on the thread of this table: at once if that is the caller.
   *
   * @param task is given the time, in microseconds
   */
  void run(SessionTable caller, LongConsumer task, long nowUs) {
    if (caller == this) {
      task.accept(nowUs);
    } else {
      handler.execute(() -> task.accept(handler.readNowUs(nowUs)));
    }
  }

  /** What waits to be written to peers whose addresses may be forged has changed. */
  void countWaiting(int bytes) {
    unvalidated.countWaiting(bytes);
  }

  /**
   * Counts what a session with a validated path holds in the common part of the memory. As long as
   * that has no room, the session stays with those that are not validated, and may give way.
   */
  void moveToCommon(Session session, long nowUs) {
    if (session.kcp().memory().validated()) {
      unvalidated.validated(session, nowUs);
    }
  }

  /** Ends sessions that have to end by what was received. User code may run. */
  void endPending(long nowUs) {
    pendingEnds.run(nowUs);
  }

  boolean contains(Session session) {
    return flushQueue.contains(session);
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
    if (contains(session)) {
      closing.linger(session, 1_000L * timeoutMs, nowUs + 1_000L * maxMs, nowUs);
    }
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
    if (contains(session) && !session.isClosing()) {
      keepAlives.onPortUnreachable(session, nowUs);
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
    return beginClosing(session, ExtensionMessage.CLOSE, 0, nowUs);
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
    return beginClosing(session, ExtensionMessage.RESET, code, nowUs);
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
    session.kcp().forgetStall();
    int type = session.closeFailedType();
    boolean isFailedClose = type == ExtensionMessage.CLOSE_FAILED;
    return beginClosing(session, type, isFailedClose ? session.kcp().sendEnd(hasMore) : 0, nowUs);
  }

  private boolean beginClosing(Session session, int type, int code, long nowUs) {
    boolean stays = contains(session) && session.beginClosing(type, code, nowUs);
    if (stays) {
      if (session.path().isValidated()) {
        directory.validatedLeaves();
      }
      session.keepAlive().stop();
      closing.add(session, nowUs);
      flushQueue.onWrite(session);
    } else {
      remove(session, nowUs);
      session.close();
    }
    return stays;
  }

  /** A session that is closing has received something, which nobody reads. */
  void closingProgressed(Session session, long nowUs) {
    if (session.isCloseAnswered() || session.hasPeerReset()) {
      flushQueue.answerEnd(session, nowUs);
      endClosing(session, nowUs);
    }
  }

  /** The peer has answered, or there is no more time for that. */
  void endClosing(Session session, long nowUs) {
    remove(session, nowUs);
    session.close();
    handler.closed(session);
  }

  Handler handler() {
    return handler;
  }

  /** The sessions for which a condition holds. Slow. */
  List<Session> sessions(Predicate<Session> condition) {
    return index.sessions(condition);
  }

  /** By what the memory of sessions of one host, or of one network of IPv6, is counted together. */
  int network(InetSocketAddress remote) {
    return networks.host(remote);
  }

  void end(Session session, EndReason reason, long nowUs) {
    if (reason == EndReason.MEMORY_SHORTAGE) {
      counters.add(KcpCounter.SESSIONS_SHORT_OF_MEMORY, 1);
    }
    if (session.isClosing()) {
      endClosing(session, nowUs);
      return;
    }
    if (!reason.isToldToPeer()) {
      remove(session, nowUs);
    }
    boolean isUnanswered = reason.isTimeout() && !session.hasPeerAnswered();
    try {
      handler.ended(session, isUnanswered ? EndReason.NEVER_ANSWERED : reason);
    } finally {
      if (!session.isClosing()) {
        remove(session, nowUs);
      }
    }
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
      counters.add(KcpCounter.OVERSIZE, 1);
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
    successors.takeReplaced(); // User code may have thrown before that.
    int start = packet.readerIndex();
    do {
      demux.receive(remote, packet.readerIndex(start), nonceBytes, key, nowUs);
      if (admission.hasBegun() && admission.offer(packet.readerIndex(start), nonceBytes, nowUs)) {
        demux.receive(remote, packet, nonceBytes, key, nowUs);
      }
      pendingEnds.run(nowUs);
    } while (successors.takeReplaced()); // The packet begins another session.
  }

  /** Takes in packets that have waited until the session was accepted. */
  void receiveDeferred(Session session, List<ByteBuf> packets, long nowUs) {
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
    isClosed = true;
    closing.endAll();
    candidates.close();
    admission.close();
    index.close();
    decrypter.close();
    directory.close(context.budget());
  }

  /**
   * Ends a batch of {@link #receive}. Calls {@link Handler#progressed} for every session that has
   * received something, and then flushes every session that has something to send.
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
    if (unvalidated.isMemoryShort() || pressure.isActive() || reclaim.isActive()) {
      unvalidated.reclaim(nowUs);
      pressure.update(nowUs);
      reclaim.update(nowUs);
      flushQueue.flushPending(nowUs);
    }
  }

  /**
   * Schedules a flush of a session. To be called when the owner has written to it, has read from it
   * outside of {@link Handler#progressed}, or has asked for a probe.
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
    flushQueue.flushNow(session, nowUs);
  }

  /**
   * Flushes a session that stays after it was closed, with all copies of what it has to say: the
   * driver ends, and nothing can follow.
   *
   * @param nowUs the time, in microseconds
   */
  public void flushLast(Session session, long nowUs) {
    for (int copy = 0; copy <= CloseHandshake.COPIES; copy++) {
      flushQueue.flushNow(session, nowUs + (long) copy * CloseHandshake.COPY_DELAY_US);
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
    duplicates.sweep(nowUs);
    relieve(nowUs);
    return keepAlives.sweep(nowUs);
  }
}
