package io.kcp4j.netty;

/** Limits a kind of log line to one in ten seconds, and counts the suppressed ones. */
final class LogLimit {

  static final int INTERVAL_MS = 10_000;

  private long nextAtMs = Long.MIN_VALUE;
  private long suppressed;

  /** Whether a line may be logged now; if not, it is counted as suppressed. */
  boolean tryAcquire(long nowMs) {
    if (nowMs < nextAtMs) {
      suppressed++;
      return false;
    }
    nextAtMs = nowMs + INTERVAL_MS;
    return true;
  }

  /** Returns the number of suppressed lines, and resets it. */
  long takeSuppressed() {
    long taken = suppressed;
    suppressed = 0;
    return taken;
  }
}
