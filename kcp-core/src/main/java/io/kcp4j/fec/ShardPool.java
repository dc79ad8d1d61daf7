package io.kcp4j.fec;

import java.util.ArrayDeque;

/** A pool of byte arrays for shards, in a few sizes, so that a short shard takes a small array. */
final class ShardPool {

  /** The largest fits any packet of 1500 bytes. */
  private static final int[] SIZES = {128, 256, 512, 1024, 1536};

  /**
   * As many of one size as a dozen busy sessions need at a time; the garbage collector takes more.
   */
  private static final int MAX_FREE = 128;

  private final ArrayDeque<byte[]>[] free = newQueues();

  @SuppressWarnings({"unchecked", "rawtypes"})
  private static ArrayDeque<byte[]>[] newQueues() {
    ArrayDeque<byte[]>[] queues = new ArrayDeque[SIZES.length];
    for (int i = 0; i < queues.length; i++) {
      queues[i] = new ArrayDeque<>();
    }
    return queues;
  }

  /** The size of the array to {@link #acquire} for a number of bytes. */
  static int sizeFor(int bytes) {
    for (int size : SIZES) {
      if (bytes <= size) {
        return size;
      }
    }
    return bytes;
  }

  /** An array of that size, with arbitrary content. */
  byte[] acquire(int size) {
    ArrayDeque<byte[]> queue = queue(size);
    byte[] array = queue == null ? null : queue.pollLast();
    return array == null ? new byte[size] : array;
  }

  /** Returns an array to the pool. */
  void release(byte[] array) {
    ArrayDeque<byte[]> queue = queue(array.length);
    if (queue != null && queue.size() < MAX_FREE) {
      queue.addLast(array);
    }
  }

  private ArrayDeque<byte[]> queue(int size) {
    for (int i = 0; i < SIZES.length; i++) {
      if (size == SIZES[i]) {
        return free[i];
      }
    }
    return null;
  }
}
