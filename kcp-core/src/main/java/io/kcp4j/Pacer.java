package io.kcp4j;

/**
 * Holds a session to its rate limit: the virtual scheduling algorithm of ITU-T I.371, which needs
 * nothing but the time at which what has been sent so far would have left at exactly that rate.
 * Sending may be ahead of it by two intervals, so that a flush at the end of each keeps to the
 * rate.
 */
final class Pacer {

  private static final int INTERVALS_AHEAD = 2;

  private int bytesPerSecond;
  private long aheadUs;
  private long leftAtUs;

  void configure(KcpConfig config) {
    if (config.rateLimit() != bytesPerSecond) {
      leftAtUs = 0;
    }
    bytesPerSecond = config.rateLimit();
    aheadUs = 1000L * INTERVALS_AHEAD * config.intervalMs();
  }

  /** Whether another datagram may leave. */
  boolean isOpen(long nowMs) {
    return bytesPerSecond == 0 || leftAtUs <= nowMs * 1000 + aheadUs;
  }

  /** From when on another datagram may leave, in milliseconds; any time in the past if it may. */
  long opensAtMs() {
    return bytesPerSecond == 0 ? 0 : (leftAtUs - aheadUs + 999) / 1000;
  }

  /** Counts what has been sent. */
  void charge(int bytes, long nowMs) {
    if (bytesPerSecond != 0) {
      leftAtUs = Math.max(leftAtUs, nowMs * 1000) + bytes * 1_000_000L / bytesPerSecond;
    }
  }
}
