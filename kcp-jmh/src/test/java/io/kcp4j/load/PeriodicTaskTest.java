package io.kcp4j.load;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.netty.channel.embedded.EmbeddedChannel;
import io.netty.util.concurrent.MockTicker;
import io.netty.util.concurrent.Ticker;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

class PeriodicTaskTest {

  private static final long PERIOD_NS = 16_666_666;

  private static final long DELAY_NS = 2_000_000;

  private final MockTicker ticker = Ticker.newMockTicker();
  private final EmbeddedChannel channel = EmbeddedChannel.builder().ticker(ticker).build();
  private long pauseNs;
  private int runs;

  @AfterEach
  void close() {
    channel.finish();
  }

  private PeriodicTask start() {
    return start(() -> {});
  }

  private PeriodicTask start(Runnable afterRun) {
    Runnable task =
        () -> {
          runs++;
          afterRun.run();
        };
    return new PeriodicTask(channel.eventLoop(), this::readClock, PERIOD_NS, task);
  }

  /** The program pauses after a reading. */
  private long readClock() {
    long nowNs = ticker.nanoTime();
    ticker.advance(pauseNs, TimeUnit.NANOSECONDS);
    pauseNs = 0;
    return nowNs;
  }

  private void advance(long ns) {
    ticker.advance(ns, TimeUnit.NANOSECONDS);
    channel.runScheduledPendingTasks();
  }

  @Test
  void theFirstRunIsDueAtOnce() {
    PeriodicTask task = start();
    advance(0);
    assertEquals(1, runs);
    assertEquals(0, task.sinceDueNs(0));
    assertEquals(-PERIOD_NS, task.sinceDueNs(1));
  }

  @Test
  void aDelayWhileTheTaskStartsShiftsNoLaterRun() {
    pauseNs = DELAY_NS;
    PeriodicTask task = start();
    advance(0);
    advance(PERIOD_NS - DELAY_NS - 1);
    assertEquals(1, runs);
    advance(1);
    assertEquals(2, runs);
    assertEquals(0, task.sinceDueNs(1));
  }

  @Test
  void missedRunsAreMadeUpFor() {
    start();
    advance(2 * PERIOD_NS + DELAY_NS);
    assertEquals(3, runs);
    advance(PERIOD_NS - DELAY_NS);
    assertEquals(4, runs);
  }

  @Test
  void aRunCanCancelTheTask() {
    PeriodicTask[] task = new PeriodicTask[1];
    task[0] = start(() -> task[0].cancel());
    advance(0);
    advance(PERIOD_NS);
    assertEquals(1, runs);
  }

  @Test
  void aRunThatThrowsIsTheLast() {
    start(
        () -> {
          throw new IllegalStateException();
        });
    advance(0);
    advance(PERIOD_NS);
    assertEquals(1, runs);
  }

  @Test
  void nothingRunsAfterItIsCancelled() {
    PeriodicTask task = start();
    advance(0);
    task.cancel();
    advance(PERIOD_NS);
    assertEquals(1, runs);
  }
}
