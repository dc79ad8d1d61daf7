package io.kcp4j.tunnel;

import java.util.concurrent.atomic.AtomicLong;

/**
 * Limits what the connections of an end of the tunnel have read and not yet written, all together,
 * because others decide on their number and on when they read. Each direction of a connection may
 * have an eighth of what is left, so some is always left for the others: the dynamic thresholds of
 * Choudhury and Hahne (1998). Thread-safe.
 */
final class ForwardingLimit {

  /** What a few reads bring: a session never runs out of frames. */
  static final int MAX_PART_BYTES = 256 * 1024;

  /** A direction may always have one read of this size. */
  static final int MIN_PART_BYTES = 1024;

  private static final int PARTS = 8;

  private final long maxBytes;
  private final AtomicLong heldBytes = new AtomicLong();

  /**
   * Makes a limit.
   *
   * @param maxBytes for all connections, in bytes
   */
  ForwardingLimit(long maxBytes) {
    this.maxBytes = maxBytes;
  }

  /** How much a direction may hold now, in bytes. */
  int partBytes() {
    long part = (maxBytes - heldBytes.get()) / PARTS;
    return (int) Math.max(MIN_PART_BYTES, Math.min(MAX_PART_BYTES, part));
  }

  /** Counts what a direction has read, in bytes, or with a minus sign what it has written. */
  void add(int bytes) {
    heldBytes.addAndGet(bytes);
  }

  /** What all directions hold, in bytes. */
  long heldBytes() {
    return heldBytes.get();
  }
}
