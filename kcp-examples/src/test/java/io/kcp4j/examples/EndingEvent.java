package io.kcp4j.examples;

import java.util.HashMap;
import java.util.Map;

/**
 * A line of an {@link EndingPeer}.
 *
 * @param atNs when it was written
 * @param name what has happened
 * @param values figures of the session at that time
 */
record EndingEvent(long atNs, String name, Map<String, String> values) {

  static EndingEvent parse(String line) {
    String[] words = line.split(" ", -1);
    StringBuilder name = new StringBuilder();
    Map<String, String> values = new HashMap<>();
    for (int i = 1; i < words.length; i++) {
      int equals = words[i].indexOf('=');
      if (equals > 0) {
        values.put(words[i].substring(0, equals), words[i].substring(equals + 1));
      } else {
        name.append(name.length() == 0 ? "" : " ").append(words[i]);
      }
    }
    return new EndingEvent(Long.parseLong(words[0]), name.toString(), values);
  }

  boolean isOf(int session) {
    return number("session", -1) == session;
  }

  /** Whether the application has learned that the peer sends no more. */
  boolean isEnd() {
    return name.equals("inactive") || name.equals("input-shutdown") || name.startsWith("exception");
  }

  long received() {
    return number("received", 0);
  }

  long written() {
    return number("written", 0);
  }

  boolean isIntact() {
    return Boolean.parseBoolean(values.getOrDefault("intact", "true"));
  }

  double probeTimeoutMs() {
    return number("timeoutUs", 0) / 1e3;
  }

  private long number(String key, long otherwise) {
    String value = values.get(key);
    return value == null ? otherwise : Long.parseLong(value);
  }
}
