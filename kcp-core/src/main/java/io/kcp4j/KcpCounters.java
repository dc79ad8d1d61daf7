package io.kcp4j;

import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * One value for each {@link KcpCounter}. Written by one thread; another may read, and sees values
 * that are at most a little old.
 */
@SuppressWarnings("EnumOrdinal") // the ordinal is an array index and never leaves this class
public final class KcpCounters {

  private static final int SIZE = KcpCounter.values().length;

  private final long[] values = new long[SIZE];
  private final KcpCounters total;

  /** Makes counters that add to nothing else. */
  public KcpCounters() {
    this(null);
  }

  /** Makes counters that add everything to {@code total} as well, unless it is null. */
  KcpCounters(KcpCounters total) {
    this.total = total;
  }

  /** The value of one counter. */
  public long get(KcpCounter counter) {
    return values[counter.ordinal()];
  }

  /** Adds {@code n} to one counter. For the thread that drives the sessions. */
  public void add(KcpCounter counter, long n) {
    int i = counter.ordinal();
    values[i] += n;
    if (total != null) {
      total.values[i] += n;
    }
  }

  /** The counters that are not 0. */
  @Override
  public String toString() {
    return Stream.of(KcpCounter.values())
        .filter(counter -> get(counter) != 0)
        .map(counter -> counter.metricName() + "=" + get(counter))
        .collect(Collectors.joining(", ", "[", "]"));
  }

  /** A copy that no longer changes. */
  public KcpCounters copy() {
    KcpCounters copy = new KcpCounters();
    System.arraycopy(values, 0, copy.values, 0, SIZE);
    return copy;
  }
}
