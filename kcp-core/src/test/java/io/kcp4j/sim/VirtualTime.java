package io.kcp4j.sim;

import java.util.Comparator;
import java.util.PriorityQueue;

/**
 * Time that jumps from event to event. Events run in the order of their times, and in the order in
 * which they were made where times are equal.
 */
public final class VirtualTime {

  /** Scenarios, settings and timestamps count milliseconds. */
  static final long US_PER_MS = 1_000;

  private record Event(long atUs, long number, Runnable action) {}

  private final PriorityQueue<Event> events =
      new PriorityQueue<>(Comparator.comparingLong(Event::atUs).thenComparingLong(Event::number));
  private long eventsMade;
  private long nowUs;

  /** Microseconds since the run began. */
  public long nowUs() {
    return nowUs;
  }

  /** Whole milliseconds since the run began. */
  public long nowMs() {
    return nowUs / US_PER_MS;
  }

  /** Runs {@code action} at the given time, or now if that has passed. */
  public void at(long atUs, Runnable action) {
    events.add(new Event(Math.max(atUs, nowUs), eventsMade++, action));
  }

  /** Runs {@code action} after a delay in microseconds. */
  public void after(long delayUs, Runnable action) {
    at(nowUs + delayUs, action);
  }

  /** Runs {@code action} after a delay in milliseconds. */
  public void afterMs(long delayMs, Runnable action) {
    after(delayMs * US_PER_MS, action);
  }

  /** Runs the next event, if there is one. */
  public boolean step() {
    Event event = events.poll();
    if (event == null) {
      return false;
    }
    nowUs = event.atUs;
    event.action.run();
    return true;
  }

  /** Runs all events up to and including the given time, and ends at that time. */
  public void runUntil(long atUs) {
    while (!events.isEmpty() && events.peek().atUs <= atUs) {
      step();
    }
    nowUs = Math.max(nowUs, atUs);
  }
}
