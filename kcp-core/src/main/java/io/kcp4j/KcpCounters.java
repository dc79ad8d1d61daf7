package io.kcp4j;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * One value for each {@link KcpCounter}. One thread writes; any thread may read, and sees each
 * value whole and soon after it was written, also in a loop that waits for it, but not all values
 * of the same moment. Where several threads count, each has its own counters, which {@link #sumOf}
 * adds.
 */
@SuppressWarnings("EnumOrdinal") // the ordinal is an array index and never leaves this class
public final class KcpCounters {

  private static final int SIZE = KcpCounter.values().length;

  /** Those of a session come first: its array has no room for the endpoint's. */
  private static final int SESSION_SIZE = KcpCounter.STATELESS_RESETS_OUT.ordinal();

  /**
   * Most sessions have no more than these, which each flush reads or writes: there is no room for
   * the others of a session before one of them is counted.
   */
  private static final int USUAL_SIZE = KcpCounter.PROBES_OUT.ordinal() + 1;

  /**
   * For readers on other threads: prevents that reads are hoisted out of loops. Writes are plain:
   * opaque writes slow bulk transfers by some per cent.
   */
  private static final VarHandle VALUES = MethodHandles.arrayElementVarHandle(long[].class);

  private static final VarHandle ARRAY = arrayHandle();

  private static VarHandle arrayHandle() {
    try {
      return MethodHandles.lookup().findVarHandle(KcpCounters.class, "values", long[].class);
    } catch (ReflectiveOperationException e) {
      throw new ExceptionInInitializerError(e);
    }
  }

  /** Replaced by a larger one when that is needed. */
  private long[] values;

  private final KcpCounters total;

  /** The counters whose sum this object shows, or null. */
  private final List<KcpCounters> parts;

  /** Makes counters that add to nothing else. */
  public KcpCounters() {
    this(null, null, SIZE);
  }

  /**
   * Makes counters of a session, which add everything to {@code total} as well. Counters that are
   * the endpoint's stay 0.
   */
  @Unstable
  public KcpCounters(KcpCounters total) {
    this(total, null, USUAL_SIZE);
  }

  private KcpCounters(KcpCounters total, List<KcpCounters> parts, int size) {
    this.values = new long[size];
    this.total = total;
    this.parts = parts;
  }

  /** Counters that show the sum of others, always the current one. They are read-only. */
  public static KcpCounters sumOf(List<KcpCounters> parts) {
    return new KcpCounters(null, List.copyOf(parts), 0);
  }

  /** The value of one counter. */
  public long get(KcpCounter counter) {
    if (parts != null) {
      return sum(counter);
    }
    int i = counter.ordinal();
    long[] array = (long[]) ARRAY.getAcquire(this);
    return i < array.length ? (long) VALUES.getOpaque(array, i) : 0;
  }

  private long sum(KcpCounter counter) {
    long sum = 0;
    for (KcpCounters part : parts) {
      sum += part.get(counter);
    }
    return sum;
  }

  /** Adds {@code n} to one counter. For the thread that drives the sessions. */
  @Unstable
  public void add(KcpCounter counter, long n) {
    assert parts == null;
    int i = counter.ordinal();
    if (i >= values.length) {
      ARRAY.setRelease(this, Arrays.copyOf(values, SESSION_SIZE));
    }
    values[i] += n;
    if (total != null) {
      total.values[i] += n;
    }
  }

  /** Counts a datagram that was received, with its size. For that thread, too. */
  @Unstable
  public void addDatagramIn(int bytes) {
    addDatagramIn(values, bytes);
    if (total != null) {
      addDatagramIn(total.values, bytes);
    }
  }

  private static void addDatagramIn(long[] values, int bytes) {
    values[KcpCounter.DATAGRAMS_IN.ordinal()]++;
    values[KcpCounter.BYTES_IN.ordinal()] += bytes;
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
