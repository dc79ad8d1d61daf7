package io.kcp4j;

import java.util.concurrent.atomic.AtomicLongArray;

/**
 * The share of a {@link MemoryLimit} that sessions may hold while their owners close them and other
 * sessions wait for memory, on all event loops: a quarter of the limit, about half of what sending
 * may take. Beyond that, the slowest give way. Each event loop counts what its sessions hold, by
 * the rate at which they deliver. Thread-safe.
 */
@Unstable
public final class ClosingShare {

  private static final int PART = 4;

  /** The share is in force for so long after a session has waited last. */
  private static final long AWAITED_US = 1_000_000;

  /** That a session waits is noted at most so often. */
  private static final long NOTE_US = 50_000;

  private static final long NEVER = Long.MIN_VALUE;

  /** A rate is rounded down to this number of significant bits. */
  private static final int RATE_BITS = 4;

  private static final int RATES = rateClass(Long.MAX_VALUE) + 1;

  private final long bytes;
  private final AtomicLongArray heldBytes = new AtomicLongArray(RATES);
  private volatile long awaitedAtUs = NEVER;

  ClosingShare(long limitBytes) {
    bytes = limitBytes / PART;
  }

  /** The share, in bytes. */
  public long bytes() {
    return bytes;
  }

  /** A session waits for memory that is not closing. */
  public void await(long nowUs) {
    if (!isAwaited() || nowUs - awaitedAtUs >= NOTE_US) {
      awaitedAtUs = nowUs;
    }
  }

  /** Whether such a session has waited lately, on any event loop. */
  public boolean isAwaited() {
    return awaitedAtUs != NEVER;
  }

  /** Ends that some time after a session has waited last. */
  public void update(long nowUs) {
    if (isAwaited() && nowUs - awaitedAtUs > AWAITED_US) {
      awaitedAtUs = NEVER;
    }
  }

  /** The class of a rate, 0 or more bytes per second: the higher the faster. */
  public static int rateClass(long bytesPerSecond) {
    int bits = Long.SIZE - Long.numberOfLeadingZeros(bytesPerSecond);
    int shift = Math.max(0, bits - RATE_BITS);
    return (shift << (RATE_BITS - 1)) + (int) (bytesPerSecond >>> shift);
  }

  /** Counts what sessions hold that deliver at rates of a class. */
  public void add(int rateClass, long bytes) {
    heldBytes.addAndGet(rateClass, bytes);
  }

  /**
   * Whether sessions of a class have to give way: even without all slower ones, more than the share
   * is held.
   */
  public boolean isExceededFrom(int rateClass) {
    long sum = 0;
    for (int faster = rateClass; faster < RATES; faster++) {
      sum += heldBytes.get(faster);
    }
    return sum > bytes;
  }
}
