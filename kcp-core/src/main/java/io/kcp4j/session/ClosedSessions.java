package io.kcp4j.session;

import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * Remembers which sessions have been closed, for a minute: a peer that does not know of it goes on,
 * and its retransmitted first segment would begin a ghost session and execute a request twice.
 * Bounded; the oldest is forgotten first: protocol.md 7.5.
 */
final class ClosedSessions {

  private static final int REMEMBERED_MS = 60_000;
  private static final int MAX_REMEMBERED = 65_536;

  private final Map<SessionKey, Long> forgetAtMs = new LinkedHashMap<>();

  void add(SessionKey key, long nowMs) {
    forget(nowMs);
    forgetAtMs.remove(key); // so that it moves to the end: the oldest come first
    if (forgetAtMs.size() == MAX_REMEMBERED) {
      forgetAtMs.remove(forgetAtMs.keySet().iterator().next());
    }
    forgetAtMs.put(key, nowMs + REMEMBERED_MS);
  }

  boolean contains(SessionKey key, long nowMs) {
    Long until = forgetAtMs.get(key);
    return until != null && nowMs < until;
  }

  /** Drops what has been remembered long enough. */
  void forget(long nowMs) {
    Iterator<Long> oldestFirst = forgetAtMs.values().iterator();
    while (oldestFirst.hasNext() && oldestFirst.next() <= nowMs) {
      oldestFirst.remove();
    }
  }

  int size() {
    return forgetAtMs.size();
  }
}
