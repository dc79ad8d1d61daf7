package io.kcp4j.session;

import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** Finds the sessions of a remote address, whatever their conversation ids. */
final class SessionsByAddress {

  /** By the address, with the conversation id 0: such keys can be ordered, so may collide. */
  private final Map<SessionKey, List<Session>> sessions = new HashMap<>();

  private final SessionKey lookup = new SessionKey(null, 0);

  void add(InetSocketAddress remote, Session session) {
    sessions.computeIfAbsent(new SessionKey(remote, 0), key -> new ArrayList<>(1)).add(session);
  }

  void remove(InetSocketAddress remote, Session session) {
    lookup.set(remote, 0);
    List<Session> ofAddress = sessions.get(lookup);
    if (ofAddress != null && ofAddress.remove(session) && ofAddress.isEmpty()) {
      sessions.remove(lookup);
    }
  }

  /** Whether the path of a session of this address is validated. */
  boolean isValidated(InetSocketAddress remote) {
    lookup.set(remote, 0);
    List<Session> ofAddress = sessions.get(lookup);
    return ofAddress != null && oldest(ofAddress, 1) != null;
  }

  /**
   * The oldest validated session of an address, if that has more than {@code limit} of them, or
   * null.
   */
  Session oldestBeyond(InetSocketAddress remote, int limit) {
    lookup.set(remote, 0);
    List<Session> ofAddress = sessions.get(lookup);
    return ofAddress == null || ofAddress.size() <= limit ? null : oldest(ofAddress, limit + 1);
  }

  /** The first of at least so many validated sessions, or null if there are fewer. */
  private static Session oldest(List<Session> ofAddress, int atLeast) {
    Session oldest = null;
    int found = 0;
    for (Session session : ofAddress) {
      if (session.path().isValidated()) {
        oldest = found == 0 ? session : oldest;
        if (++found == atLeast) {
          return oldest;
        }
      }
    }
    return null;
  }
}
