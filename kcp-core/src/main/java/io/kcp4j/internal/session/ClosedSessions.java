package io.kcp4j.internal.session;

import io.kcp4j.internal.path.SessionKey;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.function.Consumer;

/**
 * The keys of sessions that were closed within the last minute. A peer that has not noticed
 * retransmits its first segment, which would begin a second session and execute a request twice.
 * Bounded; the oldest key is forgotten first: protocol.md 7.5.
 */
public final class ClosedSessions {

  private static final int REMEMBERED_US = 60_000_000;

  private static final int MAX_REMEMBERED = 65_536;

  private final Map<SessionKey, Entry> sessions = new LinkedHashMap<>();
  private final Consumer<SessionKey> forgotten;

  /** Makes an empty set, which calls {@code forgotten} for each key that it forgets. */
  ClosedSessions(Consumer<SessionKey> forgotten) {
    this.forgotten = forgotten;
  }

  /**
   * Adds the key of a session that is closed, or of an attempt that is ignored.
   *
   * @param peerToken what messages to the peer have to show; 0 if there is none
   * @param incarnation that of the client, 0 if it is not known
   */
  void add(SessionKey key, long peerToken, int incarnation, long nowUs) {
    forget(nowUs);
    sessions.remove(key); // Moves to the end: the oldest come first.
    if (sessions.size() == MAX_REMEMBERED) {
      SessionKey oldest = sessions.keySet().iterator().next();
      sessions.remove(oldest);
      forgotten.accept(oldest);
    }
    sessions.put(key, new Entry(peerToken, incarnation, nowUs + REMEMBERED_US));
  }

  /** The session of a key that was closed within the last minute, or null. */
  Entry find(SessionKey key, long nowUs) {
    Entry session = sessions.get(key);
    return session == null || nowUs >= session.forgetAtUs() ? null : session;
  }

  /** Whether the key is remembered, for however long already. */
  boolean remembers(SessionKey key) {
    return sessions.containsKey(key);
  }

  /** Removes the key of a session that begins again. */
  void remove(SessionKey key) {
    sessions.remove(key);
  }

  /** Forgets the keys that have been remembered for a minute. */
  void forget(long nowUs) {
    Iterator<Map.Entry<SessionKey, Entry>> oldestFirst = sessions.entrySet().iterator();
    while (oldestFirst.hasNext()) {
      Map.Entry<SessionKey, Entry> oldest = oldestFirst.next();
      if (nowUs < oldest.getValue().forgetAtUs()) {
        return;
      }
      oldestFirst.remove();
      forgotten.accept(oldest.getKey());
    }
  }

  /** Forgets all keys. */
  void clear() {
    sessions.keySet().forEach(forgotten);
    sessions.clear();
  }

  int size() {
    return sessions.size();
  }

  /**
   * What is left of a session that was closed: its peer may not know that, and is told when it
   * sends something: protocol.md 13.11.
   */
  public static final class Entry {

    /** The time between two answers. */
    private static final int ANSWER_INTERVAL_US = 1_000_000;

    private final long peerToken;
    private final int incarnation;
    private final long forgetAtUs;
    private long answerAtUs = Long.MIN_VALUE;

    /**
     * Makes one.
     *
     * @param peerToken what messages to the peer have to show; 0 if there is none
     * @param incarnation that of the client, 0 if it is not known
     */
    Entry(long peerToken, int incarnation, long forgetAtUs) {
      this.peerToken = peerToken;
      this.incarnation = incarnation;
      this.forgetAtUs = forgetAtUs;
    }

    public long peerToken() {
      return peerToken;
    }

    /** The incarnation of the client, 0 if it is not known. */
    public int incarnation() {
      return incarnation;
    }

    /** When it is forgotten. */
    long forgetAtUs() {
      return forgetAtUs;
    }

    /** Whether the peer may be answered now; if so, it may not for a second. */
    public boolean takeAnswer(long nowUs) {
      if (peerToken == 0 || nowUs < answerAtUs) {
        return false;
      }
      answerAtUs = nowUs + ANSWER_INTERVAL_US;
      return true;
    }
  }
}
