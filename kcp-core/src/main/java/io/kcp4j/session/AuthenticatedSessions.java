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

  /** More sessions of one conversation id are not known: clients have not chosen it at random. */
  static final int MAX_OF_CONV = 64;

  /**
   * A session.
   *
   * @param first the packet that has begun it
   * @param next another one of the same conversation id, or null
   * @param count how many there are from here on
   */
  private record Entry(Session session, FirstPacket first, Entry next, int count) {

    static Entry before(Entry next, Session session, FirstPacket first) {
      return new Entry(session, first, next, next == null ? 1 : next.count + 1);
    }
  }

  private final Map<Integer, Entry> entries = new ConcurrentHashMap<>();

  /** Adds a session that has begun. */
  void add(Session session, FirstPacket first) {
    entries.compute(
        session.conv(),
        (conv, all) ->
            all != null && all.count == MAX_OF_CONV ? all : Entry.before(all, session, first));
  }

  /** Removes a session that has ended, if it was added. */
  void remove(Session session) {
    entries.computeIfPresent(session.conv(), (conv, all) -> without(all, session));
  }

  private static Entry without(Entry all, Session session) {
    Entry kept = null;
    for (Entry entry = all; entry != null; entry = entry.next) {
      if (entry.session != session) {
        kept = Entry.before(kept, entry.session, entry.first);
      }
    }
    return kept;
  }

  /** The packet that has begun a session, if that was added, or null. */
  FirstPacket first(Session session) {
    Entry entry = entries.get(session.conv());
    while (entry != null && entry.session != session) {
      entry = entry.next;
    }
    return entry == null ? null : entry.first;
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

  /** The other sessions that the client of a session has begun, if it has told its incarnation. */
  List<Session> othersOfClient(Session session) {
    List<Session> others = new ArrayList<>(0);
    FirstPacket first = first(session);
    if (first == null || first.incarnation() == 0) {
      return others;
    }
    for (Entry entry = entries.get(session.conv()); entry != null; entry = entry.next) {
      if (entry.session != session && entry.first.incarnation() == first.incarnation()) {
        others.add(entry.session);
      }
    }
    return others;
  }
}
