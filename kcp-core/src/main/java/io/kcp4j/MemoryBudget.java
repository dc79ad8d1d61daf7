package io.kcp4j;

/**
 * A limit on the memory that all sessions of one endpoint hold together, counted by capacity and
 * not by content, so that many tiny segments cannot cost more than they seem to. Used by one
 * thread.
 */
public final class MemoryBudget {

  private final long limitBytes;
  private long usedBytes;

  /**
   * Makes a budget.
   *
   * @param limitBytes the limit, in bytes, at least 1
   */
  public MemoryBudget(long limitBytes) {
    if (limitBytes < 1) {
      throw new IllegalArgumentException("limitBytes: " + limitBytes + " (expected: >= 1)");
    }
    this.limitBytes = limitBytes;
  }

  /** A budget without a limit; it still counts. */
  public static MemoryBudget unlimited() {
    return new MemoryBudget(Long.MAX_VALUE);
  }

  /** The limit, in bytes. */
  public long limitBytes() {
    return limitBytes;
  }

  /** What is held now, in bytes. May exceed the limit by what was sent; see {@link #charge}. */
  public long usedBytes() {
    return usedBytes;
  }

  /** Reserves {@code bytes} if the limit allows; what a peer makes us keep asks here. */
  public boolean tryReserve(int bytes) {
    if (bytes > limitBytes - usedBytes) {
      return false;
    }
    usedBytes += bytes;
    return true;
  }

  /**
   * Reserves {@code bytes} for what waits behind a gap. A quarter of the limit stays free for what
   * closes gaps: else nothing could be delivered any more, and nothing released.
   */
  boolean tryReserveBeyondGap(int bytes) {
    return bytes <= limitBytes - limitBytes / 4 - usedBytes && tryReserve(bytes);
  }

  /**
   * Reserves {@code bytes} for what only spares a retransmission, such as copies for forward error
   * correction. Half of the limit stays free for what cannot be done without.
   *
   * @return false, with nothing reserved, if there is no room
   */
  public boolean tryReserveSpare(int bytes) {
    return bytes <= limitBytes - limitBytes / 2 - usedBytes && tryReserve(bytes);
  }

  /** Counts {@code bytes} without asking; what our own user makes us keep has its own limits. */
  void charge(int bytes) {
    usedBytes += bytes;
  }

  /** Gives back {@code bytes} that had been reserved. */
  public void release(long bytes) {
    usedBytes -= bytes;
    assert usedBytes >= 0 : usedBytes;
  }
}
