package io.kcp4j.session;

import io.kcp4j.EndReason;
import io.netty.buffer.ByteBuf;
import java.net.InetSocketAddress;

/**
 * Clients that begin again, with the address and conversation id of a session that lives or was
 * closed: another process, as its incarnation shows. It has to answer a retry before its session
 * begins; that of its predecessor goes on until then: protocol.md 13.12.
 */
final class Successors {

  private final SessionTable.Handler handler;
  private final AttemptFilter filter;
  private final PendingEnds pendingEnds;
  private boolean hasReplaced;

  Successors(SessionTable.Handler handler, AttemptFilter filter, PendingEnds pendingEnds) {
    this.handler = handler;
    this.filter = filter;
    this.pendingEnds = pendingEnds;
  }

  /** Whether the first datagram of a client is not of the client of a closed session. */
  static boolean isOffer(ClosedSessions.Entry predecessor, ByteBuf segments) {
    int offered = predecessor.incarnation() == 0 ? 0 : Parameters.offeredIncarnation(segments);
    return offered != 0 && offered != predecessor.incarnation();
  }

  /**
   * Whether such a datagram begins a session. If not, the client is sent a retry, unless it has
   * answered one.
   *
   * @param predecessor the incarnation of the client before
   */
  boolean isAdmitted(SessionKey client, int predecessor, ByteBuf segments, long nowUs) {
    return filter.admitsSuccessor(client, predecessor, segments, nowUs);
  }

  /** Takes in a datagram with such an offer, which has arrived for a session that lives. */
  void receive(InetSocketAddress remote, Session session, ByteBuf segments, long nowUs) {
    SessionKey client = new SessionKey(remote, session.conv());
    if (handler.isAccepting(remote, session.conv())
        && isAdmitted(client, session.peerIncarnation(), segments, nowUs)) {
      pendingEnds.add(session, EndReason.REPLACED);
      hasReplaced = true;
    }
  }

  /** Whether the session of the last packet ends for one that the packet begins. */
  boolean takeReplaced() {
    boolean hadReplaced = hasReplaced;
    hasReplaced = false;
    return hadReplaced;
  }
}
