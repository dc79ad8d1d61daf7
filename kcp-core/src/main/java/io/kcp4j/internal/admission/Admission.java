package io.kcp4j.internal.admission;

import io.kcp4j.CloseReason;
import io.kcp4j.KcpCounter;
import io.kcp4j.KcpCounters;
import io.kcp4j.internal.admission.AttemptFilter.Decision;
import io.kcp4j.internal.arq.KcpContext;
import io.kcp4j.internal.path.SessionKey;
import io.kcp4j.internal.session.Session;
import io.kcp4j.internal.session.SessionDirectory;
import io.kcp4j.internal.session.SessionIndex;
import io.kcp4j.internal.session.SessionLifecycle;
import io.kcp4j.internal.session.SessionTable;
import io.netty.buffer.ByteBuf;
import java.net.InetSocketAddress;

/**
 * Decides on attempts of peers to begin a session, and keeps those that the driver has not answered
 * yet. A packet that begins a session makes an {@link Incoming}. The driver is given it by {@link
 * #offer} once the packet has been classified, so that user code never runs in the middle of that.
 *
 * <p>A flood of first packets from forged addresses would fill the table with sessions that nobody
 * uses. Under the pressure of many sessions that are not validated, attempts pass an {@link
 * AttemptFilter}, and the oldest of these sessions is evicted for a new one.
 *
 * <p>Under an AEAD, a first packet with the conversation id of an earlier one may be a replay. Its
 * sender's address is validated before a session begins: {@link ReplayFilter}.
 */
public final class Admission {

  /**
   * With this number of sessions that are not validated, one of them is evicted when there is no
   * room for any other session.
   */
  private static final int MIN_TO_EVICT = 32;

  /** What a client is told for which there is no room. */
  private static final CloseReason FULL = new CloseReason(0, "the server is full");

  private final SessionTable table;
  private final SessionTable.Handler handler;
  private final KcpCounters counters;
  private final SessionLifecycle lifecycle;
  private final UnvalidatedSessions unvalidated;
  private final SessionIndex index;
  private final SessionDirectory directory;
  private final StatelessResponder responder;
  private final CandidatePaths candidates;
  private final UnclaimedPackets.Forwarder forwarder;
  private final AttemptFilter filter;
  private final Incoming.Backlog backlog;

  public Admission(
      SessionTable table,
      SessionTable.Handler handler,
      KcpContext context,
      SessionLifecycle lifecycle,
      SessionIndex index,
      SessionDirectory directory,
      StatelessResponder responder,
      CandidatePaths candidates,
      UnclaimedPackets.Forwarder forwarder) {
    this.table = table;
    this.handler = handler;
    this.counters = context.total();
    this.lifecycle = lifecycle;
    this.unvalidated = lifecycle.unvalidated();
    this.index = index;
    this.directory = directory;
    this.responder = responder;
    this.candidates = candidates;
    this.forwarder = forwarder;
    this.filter = new AttemptFilter(responder, () -> directory.replayFilter(context.budget()));
    this.backlog = new Incoming.Backlog(context);
  }

  /** Releases what is held under pressure, if there is none. To be called once a second. */
  public void sweep(long nowUs) {
    filter.sweep(nowUs);
  }

  /**
   * Evicts unvalidated sessions for those that other tables have had to refuse. To be called at the
   * end of a batch of input, and once a second. User code may run.
   */
  public void giveWay(long nowUs) {
    while (directory.isRoomAwaited(nowUs) && mayEvict()) {
      lifecycle.evict(unvalidated.candidate(), nowUs);
    }
  }

  boolean isAccepting(InetSocketAddress remote, long nowUs) {
    return directory.acceptsSessions()
        && (directory.hasRoom() || mayEvict() || awaitRoom(nowUs))
        && handler.isAccepting(remote, index.lastKey().conv());
  }

  /** Whether a session can be evicted for a new one. */
  private boolean mayEvict() {
    return unvalidated.size() >= MIN_TO_EVICT;
  }

  /** Other tables are told; returns false, since there is no room yet. */
  private boolean awaitRoom(long nowUs) {
    directory.awaitRoom(nowUs);
    return false;
  }

  // Attempts to begin a session

  /** Whether segments are the answer to a challenge: the client's next attempt goes on. */
  boolean receiveChallengeAck(ByteBuf segments, long nowUs) {
    return filter.receiveChallengeAck(index.lastKey(), segments, nowUs);
  }

  /**
   * Decides on a first packet whose key {@link SessionIndex#lastKey} is.
   *
   * @param start where the packet of the segments begins
   * @param nonceBytes those of the nonce before the packet, 0 if it was opened by no AEAD
   * @return the attempt, to be given to {@link #offer}; null if the packet begins no session
   */
  Incoming begin(ByteBuf segments, int start, int nonceBytes, long nowUs) {
    if (!directory.acceptsSessions()) {
      counters.add(KcpCounter.ACCEPT_REFUSED, 1);
      return null;
    }
    long nonce = filter.hashOfNonce(segments, start, nonceBytes);
    Decision decision = decide(segments, nonce, nowUs);
    switch (decision) {
      case DEFER -> counters.add(KcpCounter.ACCEPT_DEFERRED, 1);
      case VALIDATE -> counters.add(KcpCounter.REPLAYED, 1);
      case REFUSE -> refuse(segments, nowUs);
      case ADMIT, ADMIT_VALIDATED -> {
        boolean isValidated = decision == Decision.ADMIT_VALIDATED;
        return beginAdmitted(segments, start, nonceBytes, nonce, isValidated, nowUs);
      }
    }
    return null;
  }

  /**
   * Decides on an attempt.
   *
   * @param nonce the hash of its packet's nonce, 0 if no AEAD has opened the packet
   */
  private Decision decide(ByteBuf segments, long nonce, long nowUs) {
    boolean mayBeReplay = nonce != 0 && mayBeReplay(nonce, nowUs);
    boolean isFull = mayEvict() && !directory.hasRoom();
    if (!mayBeReplay && !isFull && !unvalidated.isUnderPressure(nowUs)) {
      return Decision.ADMIT;
    }
    SessionKey key = index.lastKey();
    if (!isAccepting(key.remote(), nowUs)) {
      return Decision.REFUSE;
    }
    if (!mayBeReplay) {
      return filter.decideUnderPressure(key, segments, nowUs);
    }
    boolean hasBegun = directory.authenticated().isBegunBy(key.conv(), nonce);
    return filter.decideOnReplay(key, segments, nonce, hasBegun, nowUs);
  }

  /**
   * Whether a first packet has the conversation id of an earlier one or of a session that lives, or
   * has begun a session before. Remembers the conversation id.
   */
  private boolean mayBeReplay(long nonce, long nowUs) {
    int conv = index.lastKey().conv();
    // Asked first: a session that ends is in the filter before it is no longer there.
    boolean isOfSession = directory.authenticated().contains(conv);
    return filter.mayBeReplay(conv, nonce, nowUs) || isOfSession;
  }

  private Incoming beginAdmitted(
      ByteBuf segments, int start, int nonceBytes, long nonce, boolean isValidated, long nowUs) {
    if (!isValidated && !unvalidated.hasRoomForSession(segments.readableBytes(), nowUs)) {
      unvalidated.makeRoom();
      counters.add(KcpCounter.ACCEPT_REFUSED, 1);
      return null;
    }
    if (nonce != 0 && filter.addNonce(nonce, nowUs)) {
      counters.add(KcpCounter.REPLAYED, 1); // Another socket has just received it.
      return null;
    }
    if (backlog.isFull() || !enter(nowUs)) {
      refuse(segments, nowUs);
      return null;
    }
    SessionKey key = index.lastKey().copy();
    if (!index.claim(key)) {
      directory.leave();
      forwardElseCount(key, segments, start, nonceBytes); // It has just begun at another table.
      return null;
    }
    candidates.forget(key);
    FirstPacket first = FirstPacket.read(segments, start, nonce);
    Incoming begun = new Incoming(this, key, isValidated, first, FirstPacket.Offer.read(segments));
    backlog.add(begun);
    return begun;
  }

  private void forwardElseCount(SessionKey key, ByteBuf segments, int start, int nonceBytes) {
    if (!forwarder.forward(forwarder.otherHome(key), segments, start, nonceBytes)) {
      counters.add(KcpCounter.UNKNOWN_SESSION, 1);
    }
  }

  /** Refuses an attempt, and tells the client why if the driver says so, or for want of room. */
  private void refuse(ByteBuf segments, long nowUs) {
    counters.add(KcpCounter.ACCEPT_REFUSED, 1);
    SessionKey client = index.lastKey();
    CloseReason reason = handler.refusal(client.remote(), client.conv());
    if (reason == null
        && directory.isFull()
        && handler.isAccepting(client.remote(), client.conv())) {
      reason = FULL;
    }
    responder.refuse(client, FirstPacket.Offer.read(segments), reason, nowUs);
  }

  /** Counts a session, if there is room for it, or another can be evicted. */
  private boolean enter(long nowUs) {
    if (directory.tryEnter()) {
      return true;
    }
    if (mayEvict()) {
      directory.enter();
      return true;
    }
    return awaitRoom(nowUs);
  }

  // Clients that begin again

  /**
   * Decides on a first packet of a client that has begun again after its session was closed.
   *
   * @param predecessor the incarnation of the client of that session
   * @return as {@link #begin}
   */
  Incoming beginSuccessor(
      int predecessor, ByteBuf segments, int start, int nonceBytes, long nowUs) {
    SessionKey key = index.lastKey();
    if (!isAccepting(key.remote(), nowUs)) {
      refuse(segments, nowUs);
      return null;
    }
    if (!filter.admitsSuccessor(key, predecessor, segments, nowUs)) {
      return null;
    }
    long nonce = filter.hashOfNonce(segments, start, nonceBytes);
    return beginAdmitted(segments, start, nonceBytes, nonce, true, nowUs);
  }

  /**
   * Decides on a datagram of a client that has begun again, while its session lives. If it begins a
   * session, that of its predecessor ends, and the packet has to be taken in again then.
   */
  public void receiveSuccessor(
      InetSocketAddress remote, Session session, ByteBuf segments, long nowUs) {
    SessionKey client = new SessionKey(remote, session.conv());
    if (handler.isAccepting(remote, session.conv())
        && filter.admitsSuccessor(client, session.peerIncarnation(), segments, nowUs)) {
      lifecycle.replaceLater(session);
    }
  }

  // Attempts that wait for the driver

  /** Whether an attempt of this key waits for the driver's answer. */
  boolean isPending(SessionKey key) {
    return backlog.contains(key);
  }

  /** Keeps a packet as {@link Incoming.Backlog#keep} does. */
  boolean keep(SessionKey key, ByteBuf packet, int start, int nonceBytes) {
    return backlog.keep(key, packet, start, nonceBytes);
  }

  /**
   * Gives the driver an attempt that {@code packet} has begun. If the driver does not answer at
   * once, the packet is kept.
   *
   * @param nonceBytes those of the nonce before the packet, 0 if it was opened by no AEAD
   * @return whether there is a session now, to take in the packet
   */
  public boolean offer(Incoming incoming, ByteBuf packet, int nonceBytes, long nowUs) {
    try {
      handler.incoming(incoming, nowUs);
    } catch (Throwable e) { // Drivers run user code, which may throw anything.
      refuse(incoming, null, nowUs);
      throw e;
    }
    if (backlog.contains(incoming)) {
      incoming.defer();
      if (!backlog.keep(incoming.key(), packet, packet.readerIndex(), nonceBytes)) {
        counters.add(KcpCounter.UNKNOWN_SESSION, 1);
      }
    }
    return incoming.session() != null && lifecycle.contains(incoming.session());
  }

  boolean accept(Incoming incoming, Session session, long nowUs) {
    if (!backlog.contains(incoming)) {
      return false;
    }
    session.keepApart(incoming, nowUs);
    lifecycle.insert(session, nowUs);
    Session evicted = null;
    if (directory.isExceeded() || (!incoming.isValidated() && unvalidated.isFull())) {
      evicted = unvalidated.size() > 0 ? unvalidated.candidate() : null;
    }
    if (session.path().isValidated()) {
      directory.validated();
    } else {
      session.charge();
      evicted = evicted == null ? unvalidated.sessionToEvict(nowUs) : evicted;
      unvalidated.add(session, nowUs);
      if (incoming.isValidated()) {
        lifecycle.validated(session, nowUs);
      }
    }
    if (incoming.first().isAuthenticated()) {
      directory.authenticated().add(session, incoming.first());
      lifecycle.duplicates().begun(session, nowUs);
    }
    backlog.remove(incoming);
    incoming.accepted(session);
    try {
      if (incoming.isDeferred() || !incoming.packets().isEmpty()) {
        table.receiveDeferred(session, incoming.packets(), nowUs);
      }
    } finally {
      backlog.release(incoming);
    }
    if (evicted != null) {
      lifecycle.evict(evicted, nowUs);
    }
    lifecycle.endPending(nowUs);
    return true;
  }

  /** Refuses an attempt, and tells the client the reason unless that is null. */
  void refuse(Incoming incoming, CloseReason reason, long nowUs) {
    if (drop(incoming)) {
      counters.add(KcpCounter.ACCEPT_REFUSED, 1);
      index.releaseUnlessClosed(incoming.key());
      responder.refuse(incoming.key(), incoming.offer(), reason, nowUs);
    }
  }

  void ignore(Incoming incoming, long nowUs) {
    if (drop(incoming)) {
      index.rememberClosed(incoming.key(), nowUs);
    }
  }

  private boolean drop(Incoming incoming) {
    if (!backlog.contains(incoming)) {
      return false;
    }
    backlog.remove(incoming);
    backlog.release(incoming);
    directory.leave();
    return true;
  }

  /** Drops all attempts that were not answered. */
  public void close() {
    for (Incoming incoming : backlog.clear()) {
      index.release(incoming.key());
      directory.leave();
    }
  }
}
