package io.kcp4j.smux;

import io.kcp4j.netty.internal.ConnectionMemory;

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

  /** What a piece of so many bytes counts as. */
  static int chargedBytes(int bytes) {
    return Math.max(bytes, MIN_CHARGE_BYTES);
  }

  /** Counts a piece that has arrived. */
  void charge(int bytes) {
    used += chargedBytes(bytes);
    isExhausted |= isBlocked();
  }

  /**
   * Counts such pieces in the memory of the connection: they were not read and will be copied into
   * one.
   *
   * @param bytes of all of them together
   * @param chargedBytes what they have counted as, each for itself
   */
  void keep(int bytes, int chargedBytes) {
    int keptBytes = chargedBytes(bytes);
    kept += keptBytes;
    used += keptBytes - chargedBytes;
    isShort |= !memory.chargeUnread(keptBytes);
    isExhausted |= isShort;
  }

  /** A piece was read that was not kept. */
  void release(int bytes) {
    used -= chargedBytes(bytes);
    endPeriodIfFree();
  }

  /** A piece was read that was kept. */
  void releaseKept(int bytes) {
    int keptBytes = chargedBytes(bytes);
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
