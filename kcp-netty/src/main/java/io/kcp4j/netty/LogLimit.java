package io.kcp4j.netty;

import io.kcp4j.Unstable;

/**
 * Limits a kind of log line to one in ten seconds, and counts the suppressed ones. Not thread-safe.
 */
@Unstable
public final class LogLimit {

  /** The least time between two lines, in microseconds. */
  public static final int INTERVAL_US = 10_000_000;

  private long nextAtUs = Long.MIN_VALUE;
  private long suppressed;

  /** Makes a limit that allows a line at once. */
  public LogLimit() {}

  /**
   * Whether a line may be logged now; if not, it is counted as suppressed.
   *
   * @param nowUs the time in microseconds, from any origin
   */
  public boolean tryAcquire(long nowUs) {
    if (nowUs < nextAtUs) {
      suppressed++;
      return false;
    }
    nextAtUs = nowUs + INTERVAL_US;
    return true;
  }

  /** Returns the number of suppressed lines, and resets it. */
  public long takeSuppressed() {
    long taken = suppressed;
    suppressed = 0;
    return taken;
  }
}
