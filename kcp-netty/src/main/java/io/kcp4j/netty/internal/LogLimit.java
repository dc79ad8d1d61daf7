package io.kcp4j.netty.internal;

import io.kcp4j.Unstable;
import io.netty.util.internal.logging.InternalLogger;

/**
 * Limits a kind of log line to one in ten seconds, and counts the suppressed ones. Not thread-safe.
 */
@Unstable
public final class LogLimit {

  /** The least time between two lines, in microseconds. */
  public static final int INTERVAL_US = 10_000_000;

  /** The kind of an exception that kcp4j itself does not expect. */
  public static final String UNEXPECTED = "unexpected exception";

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

  /**
   * Logs an exception with its stack trace, or only counts it: every datagram may cause one, for
   * example while memory is short.
   *
   * @param source the channel or event loop that it comes from
   * @param kind the kind of exception that this object limits
   */
  public void warn(InternalLogger logger, Object source, String kind, Throwable cause, long nowUs) {
    if (!tryAcquire(nowUs)) {
      return;
    }
    long unlogged = takeSuppressed();
    if (unlogged == 0) {
      logger.warn("{} {}", source, kind, cause);
    } else {
      logger.warn("{} {} ({} more were not logged)", source, kind, unlogged, cause);
    }
  }
}
