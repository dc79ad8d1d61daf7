package io.kcp4j.internal.buffer;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.function.IntFunction;

/**
 * A pool of rings, which the sessions of a thread share: a session returns its ring whenever the
 * ring is empty, so that an idle session holds none, and a busy one produces no garbage. The ring
 * that was returned last is taken first, since it is most likely in the processor's cache. The size
 * of the pool is limited; rings of more than {@value #MAX_POOLED} entries are not pooled.
 *
 * @param <R> the ring, whose capacity is a power of two
 */
public final class RingPool<R> {

  /** A ring of this capacity does not count against the memory budget: any session may have one. */
  static final int MIN_CAPACITY = 4;

  private static final int MAX_POOLED = 2048;

  /** The limit on pooled rings of one capacity, unless four rings exceed it. */
  private static final int MAX_BYTES_OF_ONE_CAPACITY = 256 * 1024;

  /** That of the smallest capacity, of which 10,000 sessions of a game need one each at times. */
  private static final int MAX_BYTES_OF_MIN_CAPACITY = 4 * 1024 * 1024;

  private final int entryBytes;
  private final IntFunction<R> factory;

  /** The pools of all capacities up to the largest that was returned. */
  private final List<ArrayDeque<R>> pools = new ArrayList<>(1);

  /**
   * Makes a pool.
   *
   * @param entryBytes the approximate size of an entry
   * @param factory makes a ring of so many entries
   */
  public RingPool(int entryBytes, IntFunction<R> factory) {
    this.entryBytes = entryBytes;
    this.factory = factory;
  }

  /** The smallest capacity, a power of two, for so many {@code entries}. */
  public static int capacityFor(int entries) {
    return entries <= MIN_CAPACITY ? MIN_CAPACITY : Integer.highestOneBit(2 * entries - 1);
  }

  /** How much a ring counts against the memory budget, in bytes. */
  public static int chargedBytes(int capacity, int entryBytes) {
    return capacity <= MIN_CAPACITY ? 0 : capacity * entryBytes;
  }

  /**
   * A ring for so many entries or more, whose content is undefined.
   *
   * @throws OutOfMemoryError if there is no memory
   */
  public R take(int entries) {
    int capacity = capacityFor(entries);
    int i = index(capacity);
    R pooled = i < pools.size() ? pools.get(i).pollLast() : null;
    return pooled == null ? factory.apply(capacity) : pooled;
  }

  /** Returns a ring; one without entries is dropped. */
  public void giveBack(R ring, int capacity) {
    if (capacity < MIN_CAPACITY || capacity > MAX_POOLED) {
      return;
    }
    int i = index(capacity);
    while (i >= pools.size()) {
      pools.add(new ArrayDeque<>(1));
    }
    ArrayDeque<R> pool = pools.get(i);
    int maxBytes = capacity == MIN_CAPACITY ? MAX_BYTES_OF_MIN_CAPACITY : MAX_BYTES_OF_ONE_CAPACITY;
    if (pool.size() < Math.max(4, maxBytes / (capacity * entryBytes))) {
      pool.addLast(ring);
    }
  }

  private static int index(int capacity) {
    return Integer.numberOfTrailingZeros(capacity) - Integer.numberOfTrailingZeros(MIN_CAPACITY);
  }
}
