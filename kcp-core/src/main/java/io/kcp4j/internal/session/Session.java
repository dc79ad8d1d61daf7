package io.kcp4j.internal.session;

import io.kcp4j.CloseReason;
import io.kcp4j.EndReason;
import io.kcp4j.KcpConfig;
import io.kcp4j.crypto.PacketKey;
import io.kcp4j.fec.FecConfig;
import io.kcp4j.internal.admission.Incoming;
import io.kcp4j.internal.admission.UnvalidatedSessions;
import io.kcp4j.internal.arq.Kcp;
import io.kcp4j.internal.extension.CloseHandshake;
import io.kcp4j.internal.extension.Extension;
import io.kcp4j.internal.extension.ExtensionMessage;
import io.kcp4j.internal.extension.LanesExtension;
import io.kcp4j.internal.extension.Offers;
import io.kcp4j.internal.extension.Parameters;
import io.kcp4j.internal.fec.FecPacket;
import io.kcp4j.internal.lanes.Lanes;
import io.kcp4j.internal.lanes.OutboundMessage;
import io.kcp4j.internal.path.Path;
import io.kcp4j.internal.path.SessionKey;
import io.netty.buffer.ByteBuf;
import java.net.InetSocketAddress;
import java.util.Objects;

/**
 * One conversation with a peer: a {@link Kcp} with forward error correction, unreliable datagrams
 * and keep-alive. Made by {@link SessionTable#newSession} and driven by that table. Its owner
 * closes it. Used by the table's thread.
 */
public final class Session extends FlushQueue.Entry {

  /**
   * The channel of a session: the table tells it what happens to the session. Called on the thread
   * of the table, from within the table's methods.
   */
  public interface Owner {

    /**
     * The session has received datagrams, has obtained memory that it waited for, or has sent all
     * that was queued: there may be something to read, or room to write.
     */
    void progressed(Session session);

    /**
     * The session has been flushed: there may be room to write. What is written now leaves in the
     * same batch. So an owner that always writes is told only so often in a turn.
     *
     * @return whether the owner has told its user that something has left
     */
    default boolean flushed(Session session) {
      return false;
    }

    /**
     * The peer has answered neither keep-alive probes nor segments in flight for {@code
     * keepAliveProbeIntervalMs}. Called once, until something is received from it again, which
     * {@link #progressed} reports.
     */
    default void unresponsive(Session session) {}

    /** The address of the peer has changed: see {@link Session#remote}. */
    default void moved(Session session) {}

    /**
     * The session has ended. The owner closes it before this method returns, by {@link
     * SessionTable#closeGracefully}, {@link SessionTable#abort} or {@link Session#close}. Only a
     * session that has ended as {@linkplain EndReason#isToldToPeer one that the peer is told} is
     * still in the table, so that its peer can be told.
     *
     * @param reason why it has ended
     */
    void ended(Session session, EndReason reason);
  }

  public final SessionTable table;
  public final SessionKey key;
  private Path path;
  private final Kcp kcp;
  private final Owner owner;

  /** Null until it is used. */
  private UnreliableQueues unreliable;

  /** That of the table, which other sessions share, until this one uses FEC. */
  private FecLayer fec;

  public final KeepAlive keepAlive = new KeepAlive(this);

  /** Null unless the session offers the extension, has received a message, or sends an end. */
  private Extension extension;

  /** Whether the session itself counts as memory that is held. */
  private boolean isCharged;

  /** What waits to be written, as it is counted, in bytes. */
  private int waitingBytes;

  /** See {@link #packetKey()}. */
  private PacketKey packetKey;

  private boolean isClosing;
  private boolean hasPeerAnswered;

  Session(SessionTable table, InetSocketAddress remote, Kcp kcp, Owner owner) {
    this.table = table;
    this.key = new SessionKey(Objects.requireNonNull(remote, "remote"), kcp.conv());
    this.path = new Path(remote);
    this.kcp = kcp;
    this.owner = Objects.requireNonNull(owner, "owner");
    this.fec = table.unprotected(FecPacket.UPPER_SEQID);
    kcp.memory().network(table.network(remote));
    kcp.memory().unvalidated();
    kcp.limitSending(path.allowance(table.addressExcess()));
    kcp.reconfigure(kcp.config(), table.cipherBytes());
    limitUnreliable();
  }

  /** The address of the peer. */
  public InetSocketAddress remote() {
    return path.remote();
  }

  /** The path to the peer. */
  public Path path() {
    return path;
  }

  /** Whether the peer has proven that it receives at its address. */
  boolean isPeerProven() {
    return kcp.isPeerProven() || isExtensionEstablished();
  }

  /** The peer has begun the session: as long as its address may be forged, that counts. */
  public void charge() {
    if (kcp.memory().isUnvalidated()) {
      isCharged = true;
      kcp.memory().charge(UnvalidatedSessions.SESSION_BYTES);
    }
  }

  private void uncharge() {
    if (isCharged) {
      isCharged = false;
      kcp.memory().release(UnvalidatedSessions.SESSION_BYTES);
    }
  }

  /**
   * Tells how much the owner holds that waits to be written. As long as the address of the peer may
   * be forged, that counts, and the session may have to give way for it.
   *
   * @param bytes 0 or more
   */
  public void waitingToBeWritten(long bytes) {
    boolean isCounted = kcp.memory().isUnvalidated() && !path.isValidated();
    int before = waitingBytes;
    waitingBytes = isCounted ? (int) Math.min(bytes, Integer.MAX_VALUE / 2) : 0;
    if (waitingBytes != before) {
      table.countWaiting(waitingBytes - before);
    }
  }

  /** What the session holds, with what waits to be written as it is counted, in bytes. */
  public int heldBytes() {
    return kcp.memory().heldBytes() + waitingBytes;
  }

  /** It is known that the peer receives at its address: what is sent is not limited any more. */
  void validatePath() {
    uncharge();
    path.validate();
    waitingToBeWritten(0);
    kcp.endSendLimit();
  }

  /** The peer is at another address. The old one was never validated. */
  void moveTo(InetSocketAddress remote) {
    path = new Path(remote);
    kcp.memory().network(table.network(remote));
  }

  /** The table that it is made for. From any thread. */
  public SessionTable table() {
    return table;
  }

  /** The conversation id. */
  public int conv() {
    return kcp.conv();
  }

  /** The state machine. */
  public Kcp kcp() {
    return kcp;
  }

  /** The channel that the table tells what happens to the session. */
  public Owner owner() {
    return owner;
  }

  public SessionKey key() {
    return key;
  }

  /**
   * Changes the settings, as far as {@link Kcp#reconfigure} allows, and those of FEC. If those of
   * FEC differ, the packets that FEC keeps are dropped.
   *
   * @throws IllegalArgumentException if {@link Kcp#reconfigure} does, or if the MTU has no room for
   *     the headers; nothing has changed then
   * @throws IllegalStateException if the sequence numbers of FEC do not allow another ratio now;
   *     nothing has changed then
   */
  public void reconfigure(KcpConfig config, FecConfig fecConfig) {
    fec.checkSuccessor(fecConfig);
    int overheadBytes = overheadBytes(table.cipherBytes(), fecConfig);
    KcpConfig before = kcp.config();
    kcp.reconfigure(config, overheadBytes);
    keepAlive.reconfigured(before);
    limitUnreliable();
    if (fecConfig != fec.config()) {
      ownFec().configure(fecConfig);
    }
  }

  // The peer

  /** A datagram that proves the peer alive has been received. */
  void onReceived(long nowUs) {
    keepAlive.onReceived(nowUs);
    hasPeerAnswered |= path.isValidated();
  }

  /**
   * The key that opened the last packet of the peer that could not be a replay; null if it is not
   * known.
   */
  PacketKey packetKey() {
    return packetKey;
  }

  void packetKey(PacketKey key) {
    packetKey = key;
  }

  /**
   * Whether the peer has shown that it receives what is sent to it: a client's, by anything that
   * was received from it; a server's, by an acknowledgement that validates the path.
   */
  public boolean hasPeerAnswered() {
    return hasPeerAnswered;
  }

  /**
   * Whether the peer has not answered for {@link KcpConfig#keepAliveProbeIntervalMs()}, and nothing
   * was received from it since that was reported by {@link Owner#unresponsive}.
   */
  public boolean isPeerUnresponsive() {
    return keepAlive.isUnresponsive();
  }

  // The extension

  /**
   * Offers the extension to the peer, as a client: protocol.md 13. To be called before anything is
   * sent. Nothing is offered if the MTU has no room for the messages.
   *
   * @param token a random number that others cannot guess
   */
  public void offerExtension(long token) {
    use(Extension.offering(kcp, unreliable(), token));
  }

  /**
   * Answers the peer if it offers the extension, as a server. To be called before anything is sent.
   *
   * @param token a random number that others cannot guess
   * @param sessionId another one
   */
  public void answerExtension(long token, long sessionId) {
    kcp.answerExtension(
        () -> {
          extension = Extension.listening(kcp, unreliable(), token, sessionId, table.resetTokens());
          extension.fit(kcp.mssBytes());
          return extension;
        });
  }

  void use(Extension extension) {
    this.extension = extension;
    kcp.extension(extension);
  }

  /** The lanes, or null if the delivery is not {@link io.kcp4j.Delivery#LANES}. */
  public Lanes lanes() {
    return extension instanceof LanesExtension lanes ? lanes.lanes() : null;
  }

  /** How the peer delivers, and how this side does; empty if that is the same, or not known. */
  public String deliveryMismatch() {
    return extension == null ? "" : extension.parameters().mismatch();
  }

  /** Whether both sides have the extension, and know that of each other. */
  public boolean isExtensionEstablished() {
    return extension != null && extension.isEstablished();
  }

  /**
   * Tells the peer, if it has the extension, that nothing follows what has been queued. The caller
   * schedules a flush by {@link SessionTable#scheduleFlush}, and queues nothing more.
   *
   * @param nowUs the time, in microseconds
   */
  public void shutdownOutput(long nowUs) {
    end(ExtensionMessage.FIN, nowUs);
  }

  /**
   * Tells the peer the same, and that this side reads no more. {@link SessionTable#closeGracefully}
   * follows when the peer has acknowledged everything.
   *
   * @param nowUs the time, in microseconds
   */
  public void sendClose(long nowUs) {
    end(ExtensionMessage.CLOSE, nowUs);
  }

  private void end(int type, long nowUs) {
    kcp.makeExtension();
    if (extension != null) {
      extension.items().closeHandshake().end(type, 0, nowUs);
    }
  }

  /** What the next acknowledgement takes with an answer that is not confirmed; 0 for no answer. */
  int unconfirmedAnswerBytes() {
    return extension == null ? 0 : extension.unconfirmedAnswerBytes();
  }

  /** Whether the peer does not have the extension, as far as is known. */
  public boolean isExtensionUnsupported() {
    return extension == null || extension.isUnsupported();
  }

  /**
   * Whether the peer has finished sending, and all that it has sent has been received and taken.
   */
  public boolean isInputFinished() {
    CloseHandshake closeHandshake = closeHandshake();
    return closeHandshake != null
        && closeHandshake.hasPeerFinished()
        && kcp.isReceivedBelow(closeHandshake.peerValue());
  }

  /** Whether the peer has given up closing before all that it has sent has arrived. */
  public boolean isInputIncomplete() {
    CloseHandshake closeHandshake = closeHandshake();
    return closeHandshake != null && closeHandshake.hasPeerGivenUp();
  }

  /** Whether the peer has said that it takes nothing more from this side. */
  public boolean hasPeerClosed() {
    CloseHandshake closeHandshake = closeHandshake();
    return closeHandshake != null && closeHandshake.hasPeerClosed();
  }

  /**
   * What the peer's application has said: about its abort, about its close, once everything that
   * precedes that has been received, or about the refusal of a client's session; else null.
   */
  public CloseReason peerReason() {
    CloseHandshake closeHandshake = closeHandshake();
    if (closeHandshake != null && closeHandshake.peerReason() != null) {
      return closeHandshake.peerReason();
    }
    Offers offers = extension == null ? null : extension.offers();
    return offers == null ? null : offers.refusal();
  }

  /**
   * Sets what the peer is told about a close that follows, if it has the extension, and if the MTU
   * has room for it.
   */
  public void closeReason(CloseReason reason) {
    kcp.makeExtension();
    if (extension != null) {
      extension.items().closeHandshake().reason(reason);
    }
  }

  /** The item by which this side gives up closing: RESET for a peer of an earlier version. */
  public int closeFailedType() {
    return extension != null && extension.parameters().hasPeer(Parameters.CLOSE_FAILED)
        ? ExtensionMessage.CLOSE_FAILED
        : ExtensionMessage.RESET;
  }

  boolean hasPeerReset() {
    CloseHandshake closeHandshake = closeHandshake();
    return closeHandshake != null && closeHandshake.hasPeerReset();
  }

  private CloseHandshake closeHandshake() {
    return extension == null ? null : extension.items().closeHandshakeOrNull();
  }

  /**
   * The session ends, and its owner is no longer concerned.
   *
   * @param type of what the peer is told
   * @param code that of an abort
   * @return whether the peer is to be told, or to be answered again, so that the session has to
   *     stay in the table
   */
  boolean beginClosing(int type, int code, long nowUs) {
    if (extension == null || !extension.isUnderstood() || hasPeerReset()) {
      return false;
    }
    if (hasPeerClosed()) {
      closeHandshake().drain(nowUs);
    } else {
      extension.items().closeHandshake().end(type, code, nowUs);
    }
    isClosing = !isCloseAnswered();
    return isClosing;
  }

  /** Whether what the peer says about the end has to be answered. */
  boolean isEndAnswerDue() {
    return closeHandshake() != null && closeHandshake().isAnswerDue();
  }

  /** Whether the session stays in the table only because of how it has ended. */
  boolean isClosing() {
    return isClosing;
  }

  /** Whether the peer knows how the session has ended, and has all that it still wants. */
  boolean isCloseAnswered() {
    return closeHandshake().isAnswered();
  }

  /** The incarnation of the client of this server, 0 if it is not known. */
  public int peerIncarnation() {
    Parameters peer = extension == null ? null : extension.parameters().peer();
    return peer == null ? 0 : peer.incarnation();
  }

  /** What messages to the peer have to show after the end; 0 if it does not understand any. */
  long closedPeerToken() {
    return isExtensionEstablished() ? extension.peerToken() : 0;
  }

  public Extension extension() {
    return extension;
  }

  /** The settings of FEC in force. */
  public FecConfig fecConfig() {
    return fec.config();
  }

  /** The bytes that cipher and FEC add to each datagram. */
  public static int overheadBytes(int cipherBytes, FecConfig fecConfig) {
    return cipherBytes + fecConfig.headerBytes();
  }

  /** The FEC in force, to read from and to send by; shared as long as there is none. */
  public FecLayer fec() {
    return fec;
  }

  /** The FEC of this session alone, which is made on first use. */
  FecLayer ownFec() {
    if (!hasOwnFec()) {
      int firstSeqid = fec.firstSeqid();
      fec = new FecLayer(table.fecContext().withMemory(kcp.memory()), kcp.counters());
      fec.firstSeqid(firstSeqid);
    }
    return fec;
  }

  private boolean hasOwnFec() {
    return fec != table.unprotected(fec.firstSeqid());
  }

  /**
   * The peer has begun the session: this side keeps its timestamps, and the sequence numbers of its
   * FEC, apart from those of the peer. To be called before anything is sent.
   */
  public void keepApart(Incoming incoming, long nowUs) {
    kcp.keepTimestampsApart(incoming.first().ts(), nowUs);
    int firstSeqid = incoming.first().isFecUpper() ? 0 : FecPacket.UPPER_SEQID;
    if (hasOwnFec()) {
      fec.firstSeqid(firstSeqid);
    } else {
      fec = table.unprotected(firstSeqid);
    }
  }

  // Unreliable datagrams

  /**
   * The largest unreliable datagram, in bytes; 0 while none can be sent: {@link
   * KcpConfig#datagramQueue()} has to be set, and either the peer have the extension or FEC be on,
   * since kcp-go takes them from sessions with FEC only. While it is not known whether the peer has
   * the extension, they wait.
   */
  public int maxUnreliableBytes() {
    return unreliable == null ? 0 : unreliable.maxBytes(this);
  }

  /**
   * Queues an unreliable datagram, which leaves with the next flush. The session takes over the
   * buffer. The caller schedules the flush by {@link SessionTable#scheduleFlush}.
   *
   * @throws IllegalArgumentException if it is larger than {@link #maxUnreliableBytes}, or if that
   *     is 0; the buffer stays the caller's
   */
  public void sendUnreliable(ByteBuf datagram) {
    sendUnreliable(OutboundMessage.unobserved(datagram));
  }

  /**
   * Queues an unreliable datagram that is notified of its fate. The notification may come from
   * within this method, if there is no memory for the datagram.
   *
   * @throws IllegalArgumentException as {@link #sendUnreliable(ByteBuf)}
   */
  public void sendUnreliable(OutboundMessage datagram) {
    unreliable().check(this, datagram.content());
    unreliable.send(datagram);
  }

  /** The oldest unreliable datagram that was received, which becomes the caller's, or null. */
  public ByteBuf receiveUnreliable() {
    return unreliable == null ? null : unreliable.poll();
  }

  /** Whether {@link #receiveUnreliable} would return a datagram. */
  public boolean isUnreliableReceivable() {
    return unreliable != null && unreliable.isReceivable();
  }

  /** Whether an unreliable datagram waits to be sent. */
  public boolean hasUnreliableToSend() {
    return unreliable != null && unreliable.hasDatagramsToSend();
  }

  /** Writes the unreliable datagrams that wait, as far as the path allows. */
  void flushUnreliable(PacketOutput output) {
    if (unreliable != null) {
      unreliable.flush(this, output);
    }
  }

  /** Whether any has been received since the last call. */
  boolean takeUnreliableReceived() {
    return unreliable != null && unreliable.takeReceived();
  }

  private void limitUnreliable() {
    int datagrams = kcp.config().datagramQueue();
    if (unreliable != null || datagrams > 0) {
      unreliable().limit(datagrams);
    }
  }

  /** The queues, which are made on first use. */
  UnreliableQueues unreliable() {
    if (unreliable == null) {
      unreliable = new UnreliableQueues(kcp.memory(), kcp.counters());
    }
    return unreliable;
  }

  /** Releases every buffer, the state machine's too. */
  public void close() {
    if (lanes() != null) {
      lanes().close();
    }
    kcp.close();
    fec.close();
    if (unreliable != null) {
      unreliable.close();
    }
    waitingToBeWritten(0);
    uncharge();
  }

  public KeepAlive keepAlive() {
    return keepAlive;
  }
}
