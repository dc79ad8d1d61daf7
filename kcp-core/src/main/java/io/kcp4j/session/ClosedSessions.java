package io.kcp4j.session;

import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.function.Consumer;

/**
 * The keys of sessions that were closed within the last minute. A peer that has not noticed
 * retransmits its first segment, which would begin a second session and execute a request twice.
 * Bounded; the oldest key is forgotten first: protocol.md 7.5.
 */
final class ClosedSessions {

  private static final int REMEMBERED_MS = 60_000;

  private static final int MAX_REMEMBERED = 65_536;

  private final Map<SessionKey, Long> forgetAtMs = new LinkedHashMap<>();
  private final Consumer<SessionKey> forgotten;

  /** Makes an empty set, which calls {@code forgotten} for each key that it forgets. */
  ClosedSessions(Consumer<SessionKey> forgotten) {
    this.forgotten = forgotten;
  }

  void add(SessionKey key, long nowMs) {
    forget(nowMs);
    forgetAtMs.remove(key); // Moves to the end: the oldest come first.
    if (forgetAtMs.size() == MAX_REMEMBERED) {
      SessionKey oldest = forgetAtMs.keySet().iterator().next();
      forgetAtMs.remove(oldest);
      forgotten.accept(oldest);
    }
    forgetAtMs.put(key, nowMs + REMEMBERED_MS);
  }

  boolean contains(SessionKey key, long nowMs) {
    Long until = forgetAtMs.get(key);
    return until != null && nowMs < until;
  }

  /** Whether the key is remembered, for however long already. */
  boolean remembers(SessionKey key) {
    return forgetAtMs.containsKey(key);
  }

  /** Removes the key of a session that begins again. */
  void remove(SessionKey key) {
    forgetAtMs.remove(key);
  }

  /** Forgets the keys that have been remembered for a minute. */
  void forget(long nowMs) {
    Iterator<Map.Entry<SessionKey, Long>> oldestFirst = forgetAtMs.entrySet().iterator();
    while (oldestFirst.hasNext()) {
      Map.Entry<SessionKey, Long> oldest = oldestFirst.next();
      if (nowMs < oldest.getValue()) {
        return;
      }
      oldestFirst.remove();
      forgotten.accept(oldest.getKey());
    }
  }

  /** Forgets all keys. */
  void clear() {
    forgetAtMs.keySet().forEach(forgotten);
    forgetAtMs.clear();
  }

  int size() {
    return forgetAtMs.size();
  }
}
