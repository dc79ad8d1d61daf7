package io.kcp4j.fec;

import java.util.ArrayDeque;

/**
 * Byte arrays for shards, used again and again. They come in a few sizes, so that what a shard
 * costs follows what it holds.
 */
final class ShardPool {

  /** The largest takes any packet of 1500 bytes. */
  private static final int[] SIZES = {128, 256, 512, 1024, 1536};

  /**
   * As many of one size as a dozen busy sessions need at a time; more are left to the collector.
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

  /** The size of the array that {@link #acquire} gives for so many bytes. */
  static int sizeFor(int bytes) {
    for (int size : SIZES) {
      if (bytes <= size) {
        return size;
      }
    }
    return bytes;
  }

  /** An array of such a size, with anything in it. */
  byte[] acquire(int size) {
    ArrayDeque<byte[]> queue = queue(size);
    byte[] array = queue == null ? null : queue.pollLast();
    return array == null ? new byte[size] : array;
  }

  /** Takes an array back. */
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
