package io.kcp4j.session;

import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** Finds the validated sessions of a remote address, whatever their conversation ids. */
final class SessionsByAddress {

  /** By the address, with the conversation id 0: such keys can be ordered, so may collide. */
  private final Map<SessionKey, List<Session>> sessions = new HashMap<>();

  private final SessionKey lookup = new SessionKey(null, 0);

  void add(InetSocketAddress remote, Session session) {
    sessions.computeIfAbsent(new SessionKey(remote, 0), key -> new ArrayList<>(1)).add(session);
  }

  /** Removes a session, if it is there. */
  void remove(InetSocketAddress remote, Session session) {
    List<Session> ofAddress = find(remote);
    if (ofAddress != null && ofAddress.remove(session) && ofAddress.isEmpty()) {
      sessions.remove(lookup);
    }
  }

  private List<Session> find(InetSocketAddress remote) {
    lookup.set(remote, 0);
    return sessions.get(lookup);
  }

  boolean hasAny(InetSocketAddress remote) {
    return find(remote) != null;
  }

  /** The first that was added of an address that has more than {@code limit}, or null. */
  Session oldestBeyond(InetSocketAddress remote, int limit) {
    List<Session> ofAddress = find(remote);
    return ofAddress == null || ofAddress.size() <= limit ? null : ofAddress.get(0);
  }
}
