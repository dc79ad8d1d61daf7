package io.kcp4j.smux;

/**
 * The receive buffer of a session: what its streams have not read, and since when it is used up.
 *
 * <p>In version 2 a period begins when the quota is used up, and ends when an eighth of it is free
 * again. Streams that were not read since a period began are stalled. After the grace time, the
 * largest of them is cut as long as the session is blocked.
 */
final class ReceiveQuota {

  /** What a piece of less counts as: its buffer takes about as much. */
  static final int MIN_CHARGE_BYTES = 256;

  /** How often to look while stalled streams are cut. */
  private static final int RECHECK_MS = 20;

  private final int limit;
  private final int graceMs;
  private long used;

  /** Used up, and less than an eighth free since then. */
  private boolean isExhausted;

  private boolean hasPeriod;
  private long periodBeganAtMs;
  private int period;

  ReceiveQuota(int limitBytes, int graceMs) {
    limit = limitBytes;
    this.graceMs = graceMs;
  }

  /** What counts against the limit, in bytes. */
  long used() {
    return used;
  }

  /** Whether nothing more should be received. */
  boolean isBlocked() {
    return used >= limit;
  }

  void charge(int bytes) {
    used += Math.max(bytes, MIN_CHARGE_BYTES);
    isExhausted |= isBlocked();
  }

  void release(int bytes) {
    used -= Math.max(bytes, MIN_CHARGE_BYTES);
    if (used < limit - limit / 8) {
      isExhausted = false;
      hasPeriod = false;
    }
  }

  /** The number of the current period, or of the last one. */
  int period() {
    return period;
  }

  /** Begins a period if it is time, and returns whether stalled streams are to be cut now. */
  boolean isCutDue(long nowMs) {
    if (isExhausted && !hasPeriod) {
      beginPeriod(nowMs);
    }
    return hasPeriod && isBlocked() && nowMs - periodBeganAtMs >= graceMs;
  }

  /** Every stream has the whole grace time again. */
  void beginPeriod(long nowMs) {
    hasPeriod = true;
    periodBeganAtMs = nowMs;
    period++;
  }

  /** After how many milliseconds to look again. */
  long delayMs(long nowMs) {
    if (!hasPeriod) {
      return Long.MAX_VALUE;
    }
    return Math.max(RECHECK_MS, periodBeganAtMs + graceMs - nowMs);
  }
}
