package io.kcp4j.netty;

import io.kcp4j.session.SessionTable;
import io.kcp4j.session.TimerWheel;
import java.util.function.LongSupplier;

/**
 * Checks the sessions of a table once a second for unresponsive and idle peers, as long as there
 * are any. The sweeps of all endpoints of an event loop have the same deadlines, so that many idle
 * clients do not wake the event loop more often than one.
 */
final class KeepAliveSweep extends TimerWheel.Timer {

  private static final int INTERVAL_MS = 1000;

  private final EventLoopContext loop;
  private final SessionTable table;
  private final LongSupplier nowMs;
  private final Runnable afterSweep;

  private boolean isArmed;

  /**
   * Makes a sweep, which is not started.
   *
   * @param nowMs the time, in milliseconds
   * @param afterSweep called after each
   */
  KeepAliveSweep(
      EventLoopContext loop, SessionTable table, LongSupplier nowMs, Runnable afterSweep) {
    this.loop = loop;
    this.table = table;
    this.nowMs = nowMs;
    this.afterSweep = afterSweep;
  }

  /** Starts the sweeps, if they are not started; the table has a session. */
  void start() {
    if (!isArmed) {
      arm(nextAtMs(nowMs.getAsLong()));
    }
  }

  private void arm(long atMs) {
    isArmed = true;
    loop.wheel().arm(this, atMs);
    loop.schedule();
  }

  private static long nextAtMs(long nowMs) {
    return (nowMs / INTERVAL_MS + 1) * INTERVAL_MS;
  }

  void stop() {
    isArmed = false;
    loop.wheel().cancel(this);
  }

  @Override
  protected void expire(long nowMs) {
    isArmed = false;
    boolean isPartial = table.sweep(nowMs);
    afterSweep.run();
    if (table.size() > 0) {
      arm(isPartial ? nowMs + 1 : nextAtMs(nowMs));
    }
  }
}
