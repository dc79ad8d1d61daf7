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
   * @param incarnation that of its client, 0 if the client has not told any
   */
  private record Entry(Session session, int incarnation) {}

  /** Lists do not change; few have more than one entry. */
  private final Map<Integer, List<Entry>> entries = new ConcurrentHashMap<>();

  /** Adds a session that has begun. */
  void add(Session session, int incarnation) {
    Entry added = new Entry(session, incarnation);
    entries.merge(session.conv(), List.of(added), AuthenticatedSessions::joined);
  }

  private static List<Entry> joined(List<Entry> before, List<Entry> added) {
    List<Entry> after = new ArrayList<>(before);
    after.addAll(added);
    return List.copyOf(after);
  }

  /** Removes a session that has ended, if it was added. */
  void remove(Session session) {
    entries.computeIfPresent(
        session.conv(),
        (conv, before) -> {
          List<Entry> after = before.stream().filter(e -> e.session != session).toList();
          return after.isEmpty() ? null : after;
        });
  }

  /** Whether a session of this conversation id lives. */
  boolean contains(int conv) {
    return entries.containsKey(conv);
  }

  /** The other sessions that the client of a session has begun with the same incarnation. */
  List<Session> othersOfClient(Session session, int incarnation) {
    return entries.getOrDefault(session.conv(), List.of()).stream()
        .filter(entry -> entry.session != session && entry.incarnation == incarnation)
        .map(Entry::session)
        .toList();
  }
}
