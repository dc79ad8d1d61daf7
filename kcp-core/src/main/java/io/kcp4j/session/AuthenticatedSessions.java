package io.kcp4j.session;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/**
 * The sessions that packets sealed by an AEAD have begun, by conversation id. While such a session
 * lives, a packet that begins another one of its id may be a replay: protocol.md 8.10. Thread-safe:
 * the tables of a server share it.
 */
final class AuthenticatedSessions {

  /**
   * A session.
   *
   * @param first the packet that has begun it
   * @param next another one of the same conversation id, or null
   */
  private record Entry(Session session, FirstPacket first, Entry next) {}

  /** Few conversation ids have more than one session. */
  private final Map<Integer, Entry> entries = new ConcurrentHashMap<>();

  /** Adds a session that has begun. */
  void add(Session session, FirstPacket first) {
    entries.compute(session.conv(), (conv, others) -> new Entry(session, first, others));
  }

  /** Removes a session that has ended; returns whether it was added. */
  boolean remove(Session session) {
    boolean isAdded = find(session) != null;
    if (isAdded) {
      entries.computeIfPresent(session.conv(), (conv, all) -> without(all, session));
    }
    return isAdded;
  }

  private Entry find(Session session) {
    Entry entry = entries.get(session.conv());
    while (entry != null && entry.session != session) {
      entry = entry.next;
    }
    return entry;
  }

  private static Entry without(Entry all, Session session) {
    Entry kept = null;
    for (Entry entry = all; entry != null; entry = entry.next) {
      if (entry.session != session) {
        kept = new Entry(entry.session, entry.first, kept);
      }
    }
    return kept;
  }

  /** Whether a session of this conversation id lives. */
  boolean contains(int conv) {
    return entries.containsKey(conv);
  }

  /** Whether a session lives that a packet with this nonce has begun. */
  boolean isBegunBy(int conv, long nonce) {
    for (Entry entry = entries.get(conv); entry != null; entry = entry.next) {
      if (entry.first.nonce() == nonce) {
        return true;
      }
    }
    return false;
  }

  /** The sessions that one client has begun. */
  List<Session> ofClient(int conv, int incarnation) {
    List<Session> found = new ArrayList<>(1);
    for (Entry entry = entries.get(conv); entry != null; entry = entry.next) {
      if (entry.first.incarnation() == incarnation) {
        found.add(entry.session);
      }
    }
    return found;
  }
}
