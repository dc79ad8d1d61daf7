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

  private static final int INTERVAL_US = 1_000_000;

  private final EventLoopContext loop;
  private final SessionTable table;
  private final LongSupplier nowUs;
  private final Runnable afterSweep;

  private boolean isArmed;

  /**
   * Makes a sweep, which is not started.
   *
   * @param nowUs the time, in microseconds
   * @param afterSweep called after each
   */
  KeepAliveSweep(
      EventLoopContext loop, SessionTable table, LongSupplier nowUs, Runnable afterSweep) {
    this.loop = loop;
    this.table = table;
    this.nowUs = nowUs;
    this.afterSweep = afterSweep;
  }

  /** Starts the sweeps, if they are not started; the table has a session. */
  void start() {
    if (!isArmed) {
      arm(nextAtUs(nowUs.getAsLong()));
    }
  }

  private void arm(long atUs) {
    isArmed = true;
    loop.wheel().arm(this, atUs);
    loop.schedule();
  }

  private static long nextAtUs(long nowUs) {
    return (nowUs / INTERVAL_US + 1) * INTERVAL_US;
  }

  void stop() {
    isArmed = false;
    loop.wheel().cancel(this);
  }

  @Override
  protected void expire(long nowUs) {
    isArmed = false;
    boolean isPartial = table.sweep(nowUs);
    afterSweep.run();
    if (table.size() > 0) {
      // The next part follows in the next tick of the wheel, so that sessions are driven meanwhile.
      arm(isPartial ? nowUs + 1 : nextAtUs(nowUs));
    }
  }
}
