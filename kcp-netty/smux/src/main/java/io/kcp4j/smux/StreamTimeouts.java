package io.kcp4j.smux;

import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.Map;
import java.util.Set;
import java.util.function.Consumer;

/**
 * Streams that have the same time to do something, in the order of their deadlines. The time of a
 * stream begins with the next {@link #expire}, because streams are added when no current time is
 * known: they expire somewhat late, and never early.
 */
final class StreamTimeouts {

  private final int timeoutMs;
  private final Set<SmuxStream> added = new LinkedHashSet<>();

  /** The deadlines, in milliseconds. */
  private final Map<SmuxStream, Long> deadlines = new LinkedHashMap<>();

  StreamTimeouts(int timeoutMs) {
    this.timeoutMs = timeoutMs;
  }

  /** Adds a stream. Without effect on one that is there already. */
  void add(SmuxStream stream) {
    if (!deadlines.containsKey(stream)) {
      added.add(stream);
    }
  }

  void remove(SmuxStream stream) {
    if (!added.remove(stream)) {
      deadlines.remove(stream);
    }
  }

  void clear() {
    added.clear();
    deadlines.clear();
  }

  /** The stream that was added first, or null. */
  SmuxStream first() {
    Set<SmuxStream> streams = deadlines.isEmpty() ? added : deadlines.keySet();
    return streams.isEmpty() ? null : streams.iterator().next();
  }

  /** Removes streams whose time is over, and gives them to {@code expired}. */
  void expire(long nowMs, Consumer<SmuxStream> expired) {
    for (SmuxStream stream : added) {
      deadlines.put(stream, nowMs + timeoutMs);
    }
    added.clear();
    while (!deadlines.isEmpty()) {
      Iterator<Map.Entry<SmuxStream, Long>> first = deadlines.entrySet().iterator();
      Map.Entry<SmuxStream, Long> entry = first.next();
      if (entry.getValue() - nowMs > 0) {
        break;
      }
      SmuxStream stream = entry.getKey();
      first.remove();
      expired.accept(stream);
    }
  }

  /** After how many milliseconds the first stream expires. */
  long delayMs(long nowMs) {
    if (deadlines.isEmpty()) {
      return added.isEmpty() ? Long.MAX_VALUE : timeoutMs;
    }
    return deadlines.values().iterator().next() - nowMs;
  }
}
