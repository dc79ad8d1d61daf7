package io.kcp4j.netty;

/** Limits a kind of log line to one in ten seconds, and counts the suppressed ones. */
final class LogLimit {

  static final int INTERVAL_US = 10_000_000;

  private long nextAtUs = Long.MIN_VALUE;
  private long suppressed;

  /** Whether a line may be logged now; if not, it is counted as suppressed. */
  boolean tryAcquire(long nowUs) {
    if (nowUs < nextAtUs) {
      suppressed++;
      return false;
    }
    nextAtUs = nowUs + INTERVAL_US;
    return true;
  }

  /** Returns the number of suppressed lines, and resets it. */
  long takeSuppressed() {
    long taken = suppressed;
    suppressed = 0;
    return taken;
  }
}
