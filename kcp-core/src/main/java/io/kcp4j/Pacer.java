package io.kcp4j;

/**
 * Says when a session's datagrams may leave.
 *
 * <p>It holds the session to its rate limit: the virtual scheduling algorithm of ITU-T I.371, which
 * needs nothing but the time at which what has been sent so far would have left at exactly that
 * rate. Sending may be ahead of it by two intervals, so that a flush at the end of each keeps to
 * the rate.
 *
 * <p>And it spreads bursts, which the receiver's socket buffer or a slow link would not hold: in a
 * millisecond may leave one burst, and beyond it one datagram for each segment that the peer has
 * acknowledged meanwhile, for that is no longer on its way. So acknowledgements clock what is sent,
 * and time lets it grow.
 */
final class Pacer {

  private static final int INTERVALS_AHEAD = 2;

  /** How much later than acknowledgements the flush of their batch may be. */
  private static final int CREDIT_MS = 100;

  private int bytesPerSecond;
  private long aheadUs;
  private long leftAtUs;

  private int burst;
  private int allowance;
  private long allowedAtMs = Long.MIN_VALUE;

  /** What was acknowledged at {@link #allowedAtMs}, and has not been followed by a datagram yet. */
  private int credit;

  void configure(KcpConfig config) {
    if (config.rateLimit() != bytesPerSecond) {
      leftAtUs = 0;
    }
    bytesPerSecond = config.rateLimit();
    aheadUs = 1000L * INTERVALS_AHEAD * config.intervalMs();
    burst = config.maxBurst();
  }

  /** Whether another datagram may leave. */
  boolean isOpen(long nowMs) {
    return (bytesPerSecond == 0 || leftAtUs <= nowMs * 1000 + aheadUs) && !isBurstSpent(nowMs);
  }

  /** How many datagrams may leave, once it {@link #isOpen}, before that has to be asked again. */
  int room() {
    if (bytesPerSecond != 0) {
      return 1;
    }
    return burst == 0 ? Integer.MAX_VALUE : allowance;
  }

  /** Whether the next millisecond, or an acknowledgement, has to be waited for. */
  boolean isBurstSpent(long nowMs) {
    renew(nowMs);
    return isBurstSpent();
  }

  private boolean isBurstSpent() {
    return burst > 0 && allowance <= 0;
  }

  /** From when on another datagram may leave, in milliseconds; any time in the past if it may. */
  long opensAtMs() {
    long rateAtMs = bytesPerSecond == 0 ? 0 : (leftAtUs - aheadUs + 999) / 1000;
    return isBurstSpent() ? Math.max(rateAtMs, allowedAtMs + 1) : rateAtMs;
  }

  /** What has just been acknowledged counts though the handlers took until the next millisecond. */
  private void renew(long nowMs) {
    if (nowMs != allowedAtMs) {
      allowance = burst + (nowMs - allowedAtMs <= CREDIT_MS ? credit : 0);
      allowedAtMs = nowMs;
      credit = 0;
    }
  }

  /** Counts segments that are no longer on their way. */
  void acknowledged(int segments, long nowMs) {
    if (nowMs != allowedAtMs) {
      credit = 0;
    }
    renew(nowMs);
    allowance += segments;
    credit += segments;
  }

  /** Counts datagrams that are begun. */
  void begin(int datagrams, long nowMs) {
    renew(nowMs);
    allowance -= datagrams;
    credit = 0;
  }

  /** Counts what has been sent against the rate limit. */
  void charge(int bytes, long nowMs) {
    if (bytesPerSecond != 0) {
      leftAtUs = Math.max(leftAtUs, nowMs * 1000) + bytes * 1_000_000L / bytesPerSecond;
    }
  }
}
