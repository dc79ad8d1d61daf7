package io.kcp4j.jmh;

import io.kcp4j.internal.session.TimerWheel;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;

/**
 * Setting the deadline of one session among many, picked in random order. The lower bound is one
 * write to the session, which is rarely cached when there are many.
 */
@State(Scope.Thread)
public class TimerWheelBenchmark extends KcpBenchmark {

  private static final class Timer extends TimerWheel.Timer {
    long written;

    @Override
    protected void expire(long nowUs) {}
  }

  /** How many sessions there are. */
  @Param({"1", "10000", "100000"})
  int sessions;

  private final TimerWheel wheel = new TimerWheel(0);
  private Timer[] timers;
  private int turn;
  private int deadlineMs;

  /** Arms all of them. */
  @Setup
  public void open() {
    List<Timer> shuffled = new ArrayList<>();
    for (int i = 0; i < sessions; i++) {
      Timer timer = new Timer();
      wheel.arm(timer, soon());
      shuffled.add(timer);
    }
    Collections.shuffle(shuffled, new Random(1));
    timers = shuffled.toArray(new Timer[0]);
  }

  /** 1 to 512 ms ahead, each different from the one before. */
  private int soon() {
    deadlineMs = deadlineMs + 37 & 511;
    return 1_000 * (1 + deadlineMs);
  }

  private Timer next() {
    turn = turn + 1 == timers.length ? 0 : turn + 1;
    return timers[turn];
  }

  /** Moves a deadline that is set. */
  @Benchmark
  public void rearm() {
    wheel.arm(next(), soon());
  }

  /** Cancels a deadline and sets it again. */
  @Benchmark
  public void cancelAndArm() {
    Timer timer = next();
    wheel.cancel(timer);
    wheel.arm(timer, soon());
  }

  /** The baseline: one write to the session. */
  @Benchmark
  public long baselineTouch() {
    Timer timer = next();
    timer.written += soon();
    return timer.written;
  }
}
