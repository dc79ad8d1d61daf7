package io.kcp4j.internal.admission;

import io.kcp4j.KcpCounter;
import io.kcp4j.KcpCounters;
import io.kcp4j.internal.extension.ExtensionMessage;
import io.kcp4j.internal.extension.Parameters;
import io.kcp4j.internal.path.SessionKey;
import io.kcp4j.internal.session.ClosedSessions;
import io.kcp4j.internal.session.Session;
import io.kcp4j.internal.session.SessionIndex;
import io.kcp4j.internal.session.SessionTable;
import io.netty.buffer.ByteBuf;
import java.net.InetSocketAddress;

/**
 * Packets that belong to no session of the table: protocol.md 8. They may belong to a session of
 * another table, to one that waits to be accepted, or to one that was closed within the last
 * minute; name a session from another address, or respond to a challenge; probe the window; or
 * begin a session, on which {@link Admission} decides. Nothing is kept for an unknown peer before
 * it sends a PUSH with sequence number 0, or a window probe if these begin sessions, and nothing
 * for a session that was closed within the last minute.
 */
public final class UnclaimedPackets {

  private final SessionTable.Handler handler;
  private final KcpCounters counters;
  private final SessionIndex index;
  private final StatelessResponder responder;
  private final CandidatePaths candidates;
  private final Admission admission;
  private final Forwarder forwarder;
  private boolean acceptsOnProbe;

  public UnclaimedPackets(
      SessionTable.Handler handler,
      KcpCounters counters,
      SessionIndex index,
      StatelessResponder responder,
      CandidatePaths candidates,
      Admission admission,
      Forwarder forwarder) {
    this.handler = handler;
    this.counters = counters;
    this.index = index;
    this.responder = responder;
    this.candidates = candidates;
    this.admission = admission;
    this.forwarder = forwarder;
  }

  public void acceptOnProbe(boolean accept) {
    acceptsOnProbe = accept;
  }

  /**
   * Takes in a packet that cannot begin a session, and whose key {@link SessionIndex#lastKey} is.
   *
   * @param start where the packet begins
   * @param nonceBytes those of the nonce before the packet, 0 if it was opened by no AEAD
   */
  public void receive(ByteBuf packet, int start, int nonceBytes) {
    SessionKey key = index.lastKey();
    if (!forwarder.forward(forwarder.otherHome(key), packet, start, nonceBytes)
        && !admission.keep(key, packet, start, nonceBytes)) {
      counters.add(KcpCounter.UNKNOWN_SESSION, 1);
    }
  }

  /**
   * Takes in segments, which may begin a session, and whose key {@link SessionIndex#lastKey} is.
   *
   * @param start where their packet begins
   * @param nonceBytes those of the nonce before the packet, 0 if it was opened by no AEAD
   * @return the attempt to begin a session that they make, or null
   */
  public Incoming receiveSegments(
      InetSocketAddress remote, ByteBuf segments, int start, int nonceBytes, long nowUs) {
    SessionKey key = index.lastKey();
    if (admission.isPending(key) || forwarder.otherHome(key) != null) {
      receive(segments, start, nonceBytes);
      return null;
    }
    ClosedSessions.Entry closed = index.findClosed(key, nowUs);
    if (closed != null) {
      return receiveOfClosed(closed, segments, start, nonceBytes, nowUs);
    }
    switch (FirstPacket.classify(segments)) {
      case BEGINS -> {
        return admission.begin(segments, start, nonceBytes, nowUs);
      }
      case PROBES -> {
        return receiveProbe(remote, segments, start, nonceBytes, nowUs);
      }
      case NOT_KCP -> {
        counters.add(KcpCounter.UNKNOWN_SESSION, 1);
        counters.add(KcpCounter.NOT_KCP, 1);
        handler.mismatched(KcpCounter.NOT_KCP, remote);
      }
      case OTHER -> {
        if (!admission.receiveChallengeAck(segments, nowUs)) {
          counters.add(KcpCounter.UNKNOWN_SESSION, 1);
          receiveMessage(segments, start, nonceBytes, nowUs);
        }
      }
    }
    return null;
  }

  private Incoming receiveOfClosed(
      ClosedSessions.Entry closed, ByteBuf segments, int start, int nonceBytes, long nowUs) {
    if (isOfSuccessor(closed, segments)) {
      int predecessor = closed.incarnation();
      return admission.beginSuccessor(predecessor, segments, start, nonceBytes, nowUs);
    }
    counters.add(KcpCounter.CLOSED_SESSION, 1);
    if (!receiveMessage(segments, start, nonceBytes, nowUs)
        && responder.mayAnswerEnded(segments)
        && closed.takeAnswer(nowUs)) {
      responder.answerEnded(index.lastKey(), closed.peerToken(), nowUs);
    }
    return null;
  }

  /** Whether the client of a closed session has begun again, as its offer shows. */
  private static boolean isOfSuccessor(ClosedSessions.Entry predecessor, ByteBuf segments) {
    int offered = predecessor.incarnation() == 0 ? 0 : Parameters.offeredIncarnation(segments);
    return offered != 0 && offered != predecessor.incarnation();
  }

  /** A probe with a query is from a session that began earlier. */
  private Incoming receiveProbe(
      InetSocketAddress remote, ByteBuf segments, int start, int nonceBytes, long nowUs) {
    if (receiveMessage(segments, start, nonceBytes, nowUs)) {
      return null;
    }
    if (acceptsOnProbe) {
      return admission.begin(segments, start, nonceBytes, nowUs);
    }
    if (admission.isAccepting(remote, nowUs)) {
      responder.answerProbe(remote, index.lastKey().conv());
    } else {
      counters.add(KcpCounter.UNKNOWN_SESSION, 1);
    }
    return null;
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

  private void receiveResponse(ByteBuf segments, int response, long nowUs) {
    int token = ExtensionMessage.findInSegments(segments, ExtensionMessage.TOKEN);
    if (token != ExtensionMessage.NONE) {
      long shown = ExtensionMessage.longValue(segments, token);
      long challenge = ExtensionMessage.longValue(segments, response);
      candidates.receiveResponse(index.lastKey(), shown, challenge, nowUs);
    }
  }

  /** The other table of the session that a query names, or that has challenged the address. */
  private SessionTable otherHomeOfMessage(ByteBuf segments, int query, int response) {
    if (query != ExtensionMessage.NONE) {
      return index.otherHomeOfId(ExtensionMessage.longValue(segments, query));
    }
    return response == ExtensionMessage.NONE ? null : index.otherHomeOfPath(index.lastKey());
  }

  /**
   * Forwards packets that have arrived at one socket of a server to the table of another:
   * protocol.md 8.5. A packet that was forwarded is not forwarded again, so that two tables never
   * pass it to each other.
   */
  public static final class Forwarder {

    private final SessionIndex index;
    private final KcpCounters counters;

    /** Whether another table has forwarded the packets that are taken in now. */
    private boolean isForwarded;

    private long forwarded;

    public Forwarder(SessionIndex index, KcpCounters counters) {
      this.index = index;
      this.counters = counters;
    }

    /** Sets whether another table has forwarded the packets that are taken in next. */
    public void receivesForwarded(boolean isForwarded) {
      this.isForwarded = isForwarded;
    }

    /** How many packets have been for a session of another table. */
    public long forwarded() {
      return forwarded;
    }

    /** The other table that a key belongs to, or null; null for a packet that was forwarded. */
    SessionTable otherHome(SessionKey key) {
      return isForwarded ? null : index.otherHome(key);
    }

    /**
     * Forwards a packet, with its nonce, to another table, or drops it if it was forwarded before.
     *
     * @param home the other table, or null
     * @param start where the packet begins
     * @param nonceBytes those of the nonce before the packet, 0 if it was opened by no AEAD
     * @return false if there is no other table
     */
    boolean forward(SessionTable home, ByteBuf packet, int start, int nonceBytes) {
      if (home == null || isForwarded) {
        return home != null;
      }
      counters.add(KcpCounter.FORWARDED, 1);
      forwarded++;
      int bytes = nonceBytes + packet.writerIndex() - start;
      ByteBuf whole = packet.slice(start - nonceBytes, bytes);
      try {
        home.handler().forward(index.lastKey().remote(), whole, nonceBytes);
      } catch (RuntimeException | OutOfMemoryError e) { // whatever an allocator throws
        counters.add(KcpCounter.ALLOCATION_FAILED, 1);
      }
      return true;
    }
  }
}
