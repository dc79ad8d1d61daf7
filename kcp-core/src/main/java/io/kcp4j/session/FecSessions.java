package io.kcp4j.session;

import java.net.InetSocketAddress;
import java.util.HashMap;
import java.util.Map;

/**
 * The sessions that decode FEC, by address: parity carries no conv, so it is offered to each of
 * them. What is recovered with another's parity shows a wrong conv: protocol.md 11.
 */
final class FecSessions {

  /** Beyond that, an address's sessions do without: each parity packet costs work for all. */
  private static final int MAX_PER_ADDRESS = 16;

  private final Map<InetSocketAddress, Session> first = new HashMap<>();

  /** The first session at an address, or null; {@link Session#nextDecoding} leads to the others. */
  Session first(InetSocketAddress remote) {
    return first.get(remote);
  }

  /** Adds a session, unless its address has enough of them; it may be there already. */
  boolean add(Session session) {
    Session head = first.get(session.remote());
    int others = 0;
    for (Session other = head; other != null; other = other.nextDecoding) {
      if (other == session) {
        return true;
      }
      others++;
    }
    if (others >= MAX_PER_ADDRESS) {
      return false;
    }
    session.nextDecoding = head;
    first.put(session.remote(), session);
    return true;
  }

  /** Removes a session; nothing happens if it is not there. */
  void remove(Session session) {
    Session head = first.get(session.remote());
    if (head == session) {
      if (session.nextDecoding == null) {
        first.remove(session.remote());
      } else {
        first.put(session.remote(), session.nextDecoding);
      }
    }
    for (Session other = head; other != null; other = other.nextDecoding) {
      if (other.nextDecoding == session) {
        other.nextDecoding = session.nextDecoding;
      }
    }
    session.nextDecoding = null;
  }
}
