package io.kcp4j;

import io.netty.util.Recycler;
import java.util.ArrayList;
import java.util.List;

/**
 * Rings that the sessions of a thread lend each other: a session gives its ring back whenever that
 * is empty, so that an idle one holds none but a small one, and one that goes on at once makes no
 * garbage. What the pool keeps is bounded for each thread; rings of more than {@value #MAX_POOLED}
 * entries are left to the garbage collector.
 *
 * @param <R> the ring, whose capacity is a power of two
 */
final class RingPool<R> {

  /** A ring of up to so many entries a session keeps for good, as part of itself. */
  static final int MIN_CAPACITY = 4;

  private static final int MAX_POOLED = 2048;

  /** What is kept at most of rings of one capacity, unless four of them are more. */
  private static final int MAX_BYTES_OF_ONE_CAPACITY = 64 * 1024;

  /** Makes rings. */
  interface Factory<R> {
    /** A ring of so many entries, which goes back to {@code handle}. */
    R make(int capacity, Recycler.Handle<R> handle);
  }

  private final Factory<R> factory;
  private final List<Recycler<R>> pools = new ArrayList<>();

  /**
   * Makes a pool.
   *
   * @param entryBytes what an entry takes, roughly
   */
  RingPool(int entryBytes, Factory<R> factory) {
    this.factory = factory;
    for (int capacity = MIN_CAPACITY; capacity <= MAX_POOLED; capacity *= 2) {
      pools.add(pool(capacity, MAX_BYTES_OF_ONE_CAPACITY / (capacity * entryBytes)));
    }
  }

  private Recycler<R> pool(int capacity, int rings) {
    return new Recycler<>(Math.max(4, rings), 0, 4) {
      @Override
      protected R newObject(Handle<R> handle) {
        return factory.make(capacity, handle);
      }
    };
  }

  /** The least power of two that is a capacity and not below {@code entries}. */
  static int capacityFor(int entries) {
    return entries <= MIN_CAPACITY ? MIN_CAPACITY : Integer.highestOneBit(2 * entries - 1);
  }

  /** What a ring counts against the memory budget, in bytes. */
  static int chargedBytes(int capacity, int entryBytes) {
    return capacity <= MIN_CAPACITY ? 0 : capacity * entryBytes;
  }

  /**
   * A ring of so many entries, each of them as the last user has left it.
   *
   * @throws OutOfMemoryError if there is no memory
   */
  R take(int capacity) {
    if (capacity > MAX_POOLED) {
      return factory.make(capacity, null);
    }
    return pools
        .get(Integer.numberOfTrailingZeros(capacity) - Integer.numberOfTrailingZeros(MIN_CAPACITY))
        .get();
  }
}
