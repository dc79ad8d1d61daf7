package io.kcp4j.load;

import io.netty.util.concurrent.EventExecutor;
import io.netty.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;

/**
 * Runs a task on an event loop at the beginning of each period. All periods follow the first
 * instant of this class: what delays the start or a run, such as the loading of classes, shifts no
 * later run.
 */
final class PeriodicTask {

  private final EventExecutor executor;
  private final LongSupplier clockNs;
  private final long periodNs;
  private final Runnable task;
  private final long startedAtNs;
  private Future<?> next;
  private long runs;

  /**
   * Runs the task at once, and then in each period until {@link #cancel}, or until the task throws.
   * Event loop only.
   */
  PeriodicTask(EventExecutor executor, LongSupplier clockNs, long periodNs, Runnable task) {
    this.executor = executor;
    this.clockNs = clockNs;
    this.periodNs = periodNs;
    this.task = task;
    startedAtNs = clockNs.getAsLong();
    scheduleNext();
  }

  private void scheduleNext() {
    next = executor.schedule(this::run, -sinceDueNs(runs), TimeUnit.NANOSECONDS);
  }

  private void run() {
    runs++;
    scheduleNext();
    try {
      task.run();
    } catch (RuntimeException | Error e) {
      cancel();
      throw e;
    }
  }

  /** How long ago the run of this number was due, the first one being 0. */
  long sinceDueNs(long run) {
    return clockNs.getAsLong() - startedAtNs - run * periodNs;
  }

  void cancel() {
    next.cancel(false);
  }
}
