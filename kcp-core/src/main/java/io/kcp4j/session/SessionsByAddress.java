package io.kcp4j.session;

import io.kcp4j.crypto.PacketKey;
import java.net.InetSocketAddress;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.Map;
import java.util.Set;

/** Finds the validated sessions of a remote address, whatever their conversation ids. */
final class SessionsByAddress {

  /** By the address, with the conversation id 0: such keys can be ordered, so may collide. */
  private final Map<SessionKey, Sessions> sessions = new HashMap<>();

  private final SessionKey lookup = new SessionKey(null, 0);

  /** Those of one address, of which there may be as many as an attacker likes. */
  private static final class Sessions {

    final Set<Session> all = new LinkedHashSet<>(2);

    /** By which the peer seals its packets; null if it is not known. */
    PacketKey key;

    /** When the session was received from by which the key is known. */
    long keyAtUs;
  }

  void add(InetSocketAddress remote, Session session) {
    Sessions ofAddress = sessions.computeIfAbsent(new SessionKey(remote, 0), key -> new Sessions());
    ofAddress.all.add(session);
    boolean isNewer = receivedAtUs(session) - ofAddress.keyAtUs >= 0; // Others may be idle.
    if (session.packetKey() != null && (ofAddress.key == null || isNewer)) {
      setKey(ofAddress, session);
    }
  }

  private static long receivedAtUs(Session session) {
    return session.keepAlive().lastReceivedAtUs();
  }

  private static void setKey(Sessions ofAddress, Session session) {
    ofAddress.key = session.packetKey();
    ofAddress.keyAtUs = receivedAtUs(session);
  }

  /** Removes a session, if it is there. */
  void remove(InetSocketAddress remote, Session session) {
    Sessions ofAddress = find(remote);
    if (ofAddress != null && ofAddress.all.remove(session) && ofAddress.all.isEmpty()) {
      sessions.remove(lookup);
    }
  }

  private Sessions find(InetSocketAddress remote) {
    lookup.set(remote, 0);
    return sessions.get(lookup);
  }

  boolean hasAny(InetSocketAddress remote) {
    return find(remote) != null;
  }

  /** The first that was added of an address that has more than {@code limit}, or null. */
  Session oldestBeyond(InetSocketAddress remote, int limit) {
    Sessions ofAddress = find(remote);
    boolean isBeyond = ofAddress != null && ofAddress.all.size() > limit;
    return isBeyond ? ofAddress.all.iterator().next() : null;
  }

  /** See {@link SessionIndex#packetKey}. */
  PacketKey packetKey(InetSocketAddress remote) {
    Sessions ofAddress = find(remote);
    return ofAddress == null ? null : ofAddress.key;
  }

  /** The peer of a session has sealed a packet by another key than before. */
  void packetKeyChanged(InetSocketAddress remote, Session session) {
    Sessions ofAddress = find(remote);
    if (ofAddress != null && session.path().isValidated()) {
      setKey(ofAddress, session);
    }
  }
}
