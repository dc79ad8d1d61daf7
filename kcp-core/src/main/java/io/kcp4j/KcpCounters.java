package io.kcp4j;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * One value for each {@link KcpCounter}. Written by one thread. Any other may read, and sees each
 * value whole and soon after it was written, also in a loop that waits for it; but not all values
 * of the same moment. Where several threads count, each has its own and {@link #sumOf} reads them
 * all.
 */
@SuppressWarnings("EnumOrdinal") // the ordinal is an array index and never leaves this class
public final class KcpCounters {

  private static final int SIZE = KcpCounter.values().length;

  /**
   * For readers on other threads, whose loops may not be hoisted then. Writing stays plain: opaque
   * writes cost bulk transfers some per cent.
   */
  private static final VarHandle VALUES = MethodHandles.arrayElementVarHandle(long[].class);

  private final long[] values = new long[SIZE];
  private final KcpCounters total;

  /** What is added up on reading, or null. */
  private final List<KcpCounters> parts;

  /** Makes counters that add to nothing else. */
  public KcpCounters() {
    this(null);
  }

  /** Makes counters that add everything to {@code total} as well, unless it is null. */
  KcpCounters(KcpCounters total) {
    this(total, null);
  }

  private KcpCounters(KcpCounters total, List<KcpCounters> parts) {
    this.total = total;
    this.parts = parts;
  }

  /** Counters that always show the sum of others. Nothing can be added to them. */
  public static KcpCounters sumOf(List<KcpCounters> parts) {
    return new KcpCounters(null, List.copyOf(parts));
  }

  /** The value of one counter. */
  public long get(KcpCounter counter) {
    return parts == null ? (long) VALUES.getOpaque(values, counter.ordinal()) : sum(counter);
  }

  private long sum(KcpCounter counter) {
    long sum = 0;
    for (KcpCounters part : parts) {
      sum += part.get(counter);
    }
    return sum;
  }

  /** Adds {@code n} to one counter. For the thread that drives the sessions. */
  public void add(KcpCounter counter, long n) {
    assert parts == null;
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
    for (KcpCounter counter : KcpCounter.values()) {
      copy.values[counter.ordinal()] = get(counter);
    }
    return copy;
  }
}
