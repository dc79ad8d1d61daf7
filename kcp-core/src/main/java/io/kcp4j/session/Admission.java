package io.kcp4j.session;

import io.kcp4j.CloseReason;
import io.kcp4j.KcpContext;
import io.kcp4j.KcpCounter;
import io.kcp4j.KcpCounters;
import io.kcp4j.session.AttemptFilter.Decision;
import io.netty.buffer.ByteBuf;
import java.net.InetSocketAddress;

/**
 * Admission: decides what becomes of packets that belong to no session of the table: protocol.md 8.
 * Nothing is kept for an unknown peer before it sends a PUSH with sequence number 0, or a window
 * probe if these begin sessions, and nothing for a session that was closed within the last minute.
 *
 * <p>A packet that begins a session makes an {@link Incoming}. The driver is given it by {@link
 * #offer} once the packet has been classified, so that user code never runs in the middle of that.
 *
 * <p>A flood of first packets from forged addresses would fill the table with sessions that nobody
 * uses. Under the pressure of many sessions that are not validated, attempts pass a {@link
 * AttemptFilter}, and the oldest of these sessions gives way to a new one.
 *
 * <p>Under an AEAD, a first packet with the conversation id of an earlier one may be a replay. Its
 * sender's address is validated before a session begins: {@link ReplayFilter}.
 */
final class Admission {

  /**
   * With so many sessions that are not validated, one of them gives way when there is no room for
   * any other session.
   */
  private static final int MIN_TO_EVICT = 32;

  /** What a client is told for which there is no room. */
  private static final CloseReason FULL = new CloseReason(0, "the server is full");

  private final SessionTable table;
  private final SessionTable.Handler handler;
  private final KcpCounters counters;
  private final SessionIndex index;
  private final SessionDirectory directory;
  private final StatelessResponder responder;
  private final CandidatePaths candidates;
  private final PacketForwarder forwarder;
  private final Backlog backlog;
  private final UnvalidatedSessions unvalidated;
  private final AttemptFilter filter;
  private final Successors successors;
  private boolean acceptsOnProbe;

  /** The attempt that the last packet has begun, until it is offered to the driver. */
  private Incoming begun;

  Admission(
      SessionTable table,
      SessionTable.Handler handler,
      KcpContext context,
      SessionIndex index,
      SessionDirectory directory,
      StatelessResponder responder,
      CandidatePaths candidates,
      PacketForwarder forwarder,
      UnvalidatedSessions unvalidated,
      AttemptFilter filter,
      Successors successors) {
    this.table = table;
    this.handler = handler;
    this.counters = context.total();
    this.index = index;
    this.directory = directory;
    this.responder = responder;
    this.candidates = candidates;
    this.forwarder = forwarder;
    this.backlog = new Backlog(context);
    this.unvalidated = unvalidated;
    this.filter = filter;
    this.successors = successors;
  }

  void acceptOnProbe(boolean accept) {
    acceptsOnProbe = accept;
  }

  /** Releases what is held under pressure, if there is none. To be called once a second. */
  void sweep(long nowUs) {
    filter.sweep(nowUs);
  }

  /**
   * Unvalidated sessions end for those that other tables have had to refuse. To be called at the
   * end of a batch of input, and once a second. User code may run.
   */
  void giveWay(long nowUs) {
    while (directory.isRoomAwaited(nowUs) && mayEvict()) {
      table.evict(unvalidated.candidate(), nowUs);
    }
  }

  // Packets of no session

  /**
   * Takes in a packet of a session that is not in the table, and that cannot begin one: the session
   * may be in another table, or wait to be accepted.
   *
   * @param start where the packet begins
   * @param nonceBytes those of the nonce before the packet, 0 if it was opened by no AEAD
   */
  void receiveUnclaimed(ByteBuf packet, int start, int nonceBytes) {
    SessionKey key = index.lastKey();
    if (!forwarder.forward(forwarder.otherHome(key), packet, start, nonceBytes)
        && !backlog.keep(key, packet, start, nonceBytes)) {
      counters.add(KcpCounter.UNKNOWN_SESSION, 1);
    }
  }

  /**
   * Takes in segments of a session that is not in the table, which may begin one.
   *
   * @param start where their packet begins
   * @param nonceBytes those of the nonce before the packet, 0 if it was opened by no AEAD
   */
  void receiveSegments(
      InetSocketAddress remote, ByteBuf segments, int start, int nonceBytes, long nowUs) {
    SessionKey key = index.lastKey();
    if (backlog.contains(key) || forwarder.otherHome(key) != null) {
      receiveUnclaimed(segments, start, nonceBytes);
      return;
    }
    ClosedSessions.Entry closed = index.findClosed(key, nowUs);
    if (closed != null) {
      receiveOfClosed(closed, segments, start, nonceBytes, nowUs);
      return;
    }
    switch (FirstPacket.classify(segments)) {
      case BEGINS -> begin(segments, start, nonceBytes, nowUs);
      case PROBES -> receiveProbe(remote, segments, start, nonceBytes, nowUs);
      case NOT_KCP -> {
        counters.add(KcpCounter.UNKNOWN_SESSION, 1);
        counters.add(KcpCounter.NOT_KCP, 1);
        handler.mismatched(KcpCounter.NOT_KCP, remote);
      }
      case OTHER -> {
        if (!filter.receiveChallengeAck(key, segments, nowUs)) {
          counters.add(KcpCounter.UNKNOWN_SESSION, 1);
          receiveMessage(segments, start, nonceBytes, nowUs);
        }
      }
    }
  }

  private void receiveOfClosed(
      ClosedSessions.Entry closed, ByteBuf segments, int start, int nonceBytes, long nowUs) {
    SessionKey key = index.lastKey();
    if (Successors.isOffer(closed, segments)) {
      if (!isAccepting(key.remote(), nowUs)) {
        refuse(segments, nowUs);
      } else if (successors.isAdmitted(key, closed.incarnation(), segments, nowUs)) {
        long nonce = filter.hashOfNonce(segments, start, nonceBytes);
        beginAdmitted(segments, start, nonceBytes, nonce, true, nowUs);
      }
      return;
    }
    counters.add(KcpCounter.CLOSED_SESSION, 1);
    if (!receiveMessage(segments, start, nonceBytes, nowUs)) {
      responder.answerEnded(key, closed, segments, nowUs);
    }
  }

  /** A probe with a query is from a session that began earlier. */
  private void receiveProbe(
      InetSocketAddress remote, ByteBuf segments, int start, int nonceBytes, long nowUs) {
    if (receiveMessage(segments, start, nonceBytes, nowUs)) {
      return;
    }
    if (acceptsOnProbe) {
      begin(segments, start, nonceBytes, nowUs);
    } else if (isAccepting(remote, nowUs)) {
      responder.answerProbe(remote, index.lastKey().conv());
    } else {
      counters.add(KcpCounter.UNKNOWN_SESSION, 1);
    }
  }

  /**
   * Takes in what a message says that ends segments of no session here: it names one that may have
   * another address, or responds to the challenge that such a message was answered by.
   *
   * @return whether it does
   */
  private boolean receiveMessage(ByteBuf segments, int start, int nonceBytes, long nowUs) {
    if (!responder.hasExtension()) {
      return false;
    }
    int query = ExtensionMessage.findInSegments(segments, ExtensionMessage.SESSION_QUERY);
    int response = ExtensionMessage.findInSegments(segments, ExtensionMessage.PATH_RESPONSE);
    SessionTable home = otherHomeOfMessage(segments, query, response);
    if (forwarder.forward(home, segments, start, nonceBytes)) {
      return true;
    }
    if (query != ExtensionMessage.NONE) {
      Session session = index.findById(ExtensionMessage.longValue(segments, query));
      if (session == null) {
        responder.answerQuery(index.lastKey(), segments, query, nowUs);
      } else {
        candidates.receiveQuery(index.lastKey(), session, segments, query, nowUs);
      }
    }
    if (response != ExtensionMessage.NONE) {
      receiveResponse(segments, response, nowUs);
    }
    return query != ExtensionMessage.NONE || response != ExtensionMessage.NONE;
  }

  /** The other table of the session that a query names, or that has challenged the address. */
  private SessionTable otherHomeOfMessage(ByteBuf segments, int query, int response) {
    if (query != ExtensionMessage.NONE) {
      return index.otherHomeOfId(ExtensionMessage.longValue(segments, query));
    }
    return response == ExtensionMessage.NONE ? null : index.otherHomeOfPath(index.lastKey());
  }

  private void receiveResponse(ByteBuf segments, int response, long nowUs) {
    int token = ExtensionMessage.findInSegments(segments, ExtensionMessage.TOKEN);
    if (token != ExtensionMessage.NONE) {
      long shown = ExtensionMessage.longValue(segments, token);
      long challenge = ExtensionMessage.longValue(segments, response);
      candidates.receiveResponse(index.lastKey(), shown, challenge, nowUs);
    }
  }

  private boolean isAccepting(InetSocketAddress remote, long nowUs) {
    return directory.acceptsSessions()
        && (directory.hasRoom() || mayEvict() || awaitRoom(nowUs))
        && handler.isAccepting(remote, index.lastKey().conv());
  }

  /** Whether a session can give way to a new one. */
  private boolean mayEvict() {
    return unvalidated.size() >= MIN_TO_EVICT;
  }

  /** Other tables are told; returns false, since there is no room yet. */
  private boolean awaitRoom(long nowUs) {
    directory.awaitRoom(nowUs);
    return false;
  }

  // Attempts to begin a session

  private void begin(ByteBuf segments, int start, int nonceBytes, long nowUs) {
    if (!directory.acceptsSessions()) {
      counters.add(KcpCounter.ACCEPT_REFUSED, 1);
      return;
    }
    long nonce = filter.hashOfNonce(segments, start, nonceBytes);
    Decision decision = decide(segments, nonce, nowUs);
    switch (decision) {
      case DEFER -> counters.add(KcpCounter.ACCEPT_DEFERRED, 1);
      case VALIDATE -> counters.add(KcpCounter.REPLAYED, 1);
      case REFUSE -> refuse(segments, nowUs);
      case ADMIT, ADMIT_VALIDATED -> {
        boolean isValidated = decision == Decision.ADMIT_VALIDATED;
        beginAdmitted(segments, start, nonceBytes, nonce, isValidated, nowUs);
      }
    }
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
    boolean isOfSession = directory.authenticated().contains(conv); // Before the filter: see end.
    return filter.mayBeReplay(conv, nonce, nowUs) || isOfSession;
  }

  private void beginAdmitted(
      ByteBuf segments, int start, int nonceBytes, long nonce, boolean isValidated, long nowUs) {
    if (!isValidated && !unvalidated.hasRoomForSession(segments.readableBytes(), nowUs)) {
      unvalidated.makeRoom();
      counters.add(KcpCounter.ACCEPT_REFUSED, 1);
      return;
    }
    if (nonce != 0 && filter.addNonce(nonce, nowUs)) {
      counters.add(KcpCounter.REPLAYED, 1); // Another socket has just received it.
      return;
    }
    if (backlog.isFull() || !enter(nowUs)) {
      refuse(segments, nowUs);
      return;
    }
    SessionKey key = index.lastKey().copy();
    if (!index.claim(key)) {
      directory.leave();
      receiveUnclaimed(segments, start, nonceBytes); // It has just begun at another table.
      return;
    }
    candidates.forget(key);
    FirstPacket first = FirstPacket.read(segments, start, nonce);
    begun = new Incoming(this, key, isValidated, first, FirstPacket.Offer.read(segments));
    backlog.add(begun);
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

  /** Counts a session, if there is room for it, or another can give way. */
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

  // The driver's answers

  /** Whether the last packet has begun an attempt, to be offered by {@link #offer}. */
  boolean hasBegun() {
    return begun != null;
  }

  /**
   * Gives the driver the attempt that {@code packet} has begun. If the driver does not answer at
   * once, the packet is kept.
   *
   * @param nonceBytes those of the nonce before the packet, 0 if it was opened by no AEAD
   * @return whether there is a session now, to take in the packet
   */
  boolean offer(ByteBuf packet, int nonceBytes, long nowUs) {
    Incoming incoming = begun;
    begun = null;
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
    return incoming.session() != null && table.contains(incoming.session());
  }

  boolean accept(Incoming incoming, Session session, long nowUs) {
    if (!backlog.contains(incoming)) {
      return false;
    }
    session.keepApart(incoming, nowUs);
    table.insert(session, nowUs);
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
        table.validated(session, nowUs);
      }
    }
    if (incoming.first().isAuthenticated()) {
      directory.authenticated().add(session, incoming.first());
      table.duplicates().begun(session, nowUs);
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
      table.evict(evicted, nowUs);
    }
    table.endPending(nowUs);
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
  void close() {
    for (Incoming incoming : backlog.clear()) {
      index.release(incoming.key());
      directory.leave();
    }
  }
}
