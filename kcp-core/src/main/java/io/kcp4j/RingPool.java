package io.kcp4j;

import io.netty.util.Recycler;
import java.util.ArrayList;
import java.util.List;

/**
 * A pool of rings, which the sessions of a thread share: a session returns its ring whenever the
 * ring is empty, so that an idle session holds none, and a busy one produces no garbage. The size
 * of the pool is limited for each thread; rings of more than {@value #MAX_POOLED} entries are not
 * pooled.
 *
 * @param <R> the ring, whose capacity is a power of two
 */
final class RingPool<R> {

  /** A ring of this capacity does not count against the memory budget: any session may have one. */
  static final int MIN_CAPACITY = 4;

  private static final int MAX_POOLED = 2048;

  /** The limit on pooled rings of one capacity, unless four rings exceed it. */
  private static final int MAX_BYTES_OF_ONE_CAPACITY = 256 * 1024;

  /** Makes rings. */
  interface Factory<R> {
    /** Makes a ring of so many entries, which returns to the pool by {@code handle}. */
    R make(int capacity, Recycler.Handle<R> handle);
  }

  private final Factory<R> factory;
  private final List<Recycler<R>> pools = new ArrayList<>();

  /**
   * Makes a pool.
   *
   * @param entryBytes the approximate size of an entry
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

  /** The smallest capacity, a power of two, for so many {@code entries}. */
  static int capacityFor(int entries) {
    return entries <= MIN_CAPACITY ? MIN_CAPACITY : Integer.highestOneBit(2 * entries - 1);
  }

  /** How much a ring counts against the memory budget, in bytes. */
  static int chargedBytes(int capacity, int entryBytes) {
    return capacity <= MIN_CAPACITY ? 0 : capacity * entryBytes;
  }

  /**
   * A ring of so many entries, whose content is undefined.
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
