package io.kcp4j.smux;

/**
 * The receive buffer of a session: what its streams have not read, and since when it is used up.
 *
 * <p>In version 2 a period begins when the quota is used up, and ends when an eighth of it is free
 * again. Streams that were not read since a period began are stalled. After the grace time, the
 * largest of them is cut as long as the session is blocked.
 *
 * <p>Where the memory of the connection has no room for what is kept, the quota counts as used up,
 * too, until there is room or everything that is kept has been read. So a session whose streams are
 * read always goes on.
 */
final class ReceiveQuota {

  /** What a piece of less counts as: its buffer takes about as much. */
  static final int MIN_CHARGE_BYTES = 256;

  /** How often to look while stalled streams are cut. */
  private static final int RECHECK_MS = 20;

  /** So much room has to be there again: more than a datagram brings. */
  private static final int ROOM_BYTES = 2048;

  /** How often to look for room. */
  private static final int SHORTAGE_RECHECK_MS = 100;

  private final int limit;
  private final int graceMs;
  private final ConnectionMemory memory;
  private long used;

  /** The part of it that counts in {@link #memory}, in bytes. */
  private long kept;

  /** Whether the memory had no room for that. */
  private boolean isShort;

  /** Used up, and less than an eighth free since then. */
  private boolean isExhausted;

  private boolean hasPeriod;
  private long periodBeganAtMs;
  private int period;

  ReceiveQuota(int limitBytes, int graceMs, ConnectionMemory memory) {
    limit = limitBytes;
    this.graceMs = graceMs;
    this.memory = memory;
  }

  /** What counts against the limit, in bytes. */
  long used() {
    return used;
  }

  /** Whether nothing more should be received. */
  boolean isBlocked() {
    return used >= limit || isShort;
  }

  /** Counts a piece that has arrived. */
  void charge(int bytes) {
    used += Math.max(bytes, MIN_CHARGE_BYTES);
    isExhausted |= isBlocked();
  }

  /** Counts such a piece in the memory of the connection: it was not read and will be copied. */
  void keep(int bytes) {
    int keptBytes = Math.max(bytes, MIN_CHARGE_BYTES);
    kept += keptBytes;
    isShort |= !memory.chargeUnread(keptBytes);
    isExhausted |= isShort;
  }

  /** A piece was read that was not kept. */
  void release(int bytes) {
    used -= Math.max(bytes, MIN_CHARGE_BYTES);
    endPeriodIfFree();
  }

  /** A piece was read that was kept. */
  void releaseKept(int bytes) {
    int keptBytes = Math.max(bytes, MIN_CHARGE_BYTES);
    kept -= keptBytes;
    memory.releaseUnread(keptBytes);
    used -= keptBytes;
    updateShortage();
    endPeriodIfFree();
  }

  /** Looks whether there is room again, if there was none. */
  void updateShortage() {
    if (!isShort) {
      return;
    }
    if (kept == 0) {
      isShort = false;
    } else {
      isShort = !memory.chargeUnread(ROOM_BYTES);
      memory.releaseUnread(ROOM_BYTES);
    }
  }

  private void endPeriodIfFree() {
    if (used < limit - limit / 8 && !isShort) {
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
    endPeriodIfFree();
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
    long recheckMs = isShort ? SHORTAGE_RECHECK_MS : Long.MAX_VALUE;
    return hasPeriod
        ? Math.min(recheckMs, Math.max(RECHECK_MS, periodBeganAtMs + graceMs - nowMs))
        : recheckMs;
  }
}
