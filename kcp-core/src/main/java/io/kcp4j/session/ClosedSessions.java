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

  private static final int REMEMBERED_US = 60_000_000;

  private static final int MAX_REMEMBERED = 65_536;

  private final Map<SessionKey, Long> forgetAtUs = new LinkedHashMap<>();
  private final Consumer<SessionKey> forgotten;

  /** Makes an empty set, which calls {@code forgotten} for each key that it forgets. */
  ClosedSessions(Consumer<SessionKey> forgotten) {
    this.forgotten = forgotten;
  }

  void add(SessionKey key, long nowUs) {
    forget(nowUs);
    forgetAtUs.remove(key); // Moves to the end: the oldest come first.
    if (forgetAtUs.size() == MAX_REMEMBERED) {
      SessionKey oldest = forgetAtUs.keySet().iterator().next();
      forgetAtUs.remove(oldest);
      forgotten.accept(oldest);
    }
    forgetAtUs.put(key, nowUs + REMEMBERED_US);
  }

  boolean contains(SessionKey key, long nowUs) {
    Long until = forgetAtUs.get(key);
    return until != null && nowUs < until;
  }

  /** Whether the key is remembered, for however long already. */
  boolean remembers(SessionKey key) {
    return forgetAtUs.containsKey(key);
  }

  /** Removes the key of a session that begins again. */
  void remove(SessionKey key) {
    forgetAtUs.remove(key);
  }

  /** Forgets the keys that have been remembered for a minute. */
  void forget(long nowUs) {
    Iterator<Map.Entry<SessionKey, Long>> oldestFirst = forgetAtUs.entrySet().iterator();
    while (oldestFirst.hasNext()) {
      Map.Entry<SessionKey, Long> oldest = oldestFirst.next();
      if (nowUs < oldest.getValue()) {
        return;
      }
      oldestFirst.remove();
      forgotten.accept(oldest.getKey());
    }
  }

  /** Forgets all keys. */
  void clear() {
    forgetAtUs.keySet().forEach(forgotten);
    forgetAtUs.clear();
  }

  int size() {
    return forgetAtUs.size();
  }
}
