package io.kcp4j.sim;

import java.util.EnumMap;
import java.util.Locale;
import java.util.Map;

/** How often each {@link Fault} happened. */
public final class FaultCounts {

  private final Map<Fault, Long> counts = new EnumMap<>(Fault.class);

  /** Counts one. */
  public void add(Fault fault) {
    counts.merge(fault, 1L, Long::sum);
  }

  /** Adds the counts of another run. */
  public void addAll(FaultCounts other) {
    other.counts.forEach((fault, n) -> counts.merge(fault, n, Long::sum));
  }

  /** How often it happened. */
  public long get(Fault fault) {
    return counts.getOrDefault(fault, 0L);
  }

  /** One line for each fault: its name and its count. */
  @Override
  public String toString() {
    StringBuilder text = new StringBuilder();
    for (Fault fault : Fault.values()) {
      text.append(String.format(Locale.ROOT, "%-20s %,14d%n", fault, get(fault)));
    }
    return text.toString();
  }
}
