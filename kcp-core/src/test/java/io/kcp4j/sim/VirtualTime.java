package io.kcp4j.sim;

import java.util.Comparator;
import java.util.PriorityQueue;

/**
 * Time that jumps from event to event. Events run in the order of their times, and in the order in
 * which they were made where times are equal.
 */
public final class VirtualTime {

  private record Event(long atMs, long number, Runnable action) {}

  private final PriorityQueue<Event> events =
      new PriorityQueue<>(Comparator.comparingLong(Event::atMs).thenComparingLong(Event::number));
  private long eventsMade;
  private long nowMs;

  /** Milliseconds since the run began. */
  public long nowMs() {
    return nowMs;
  }

  /** Runs {@code action} at the given time, or now if that has passed. */
  public void at(long atMs, Runnable action) {
    events.add(new Event(Math.max(atMs, nowMs), eventsMade++, action));
  }

  /** Runs {@code action} after a delay in milliseconds. */
  public void after(long delayMs, Runnable action) {
    at(nowMs + delayMs, action);
  }

  /** Runs the next event, if there is one. */
  public boolean step() {
    Event event = events.poll();
    if (event == null) {
      return false;
    }
    nowMs = event.atMs;
    event.action.run();
    return true;
  }

  /** Runs all events up to and including the given time, and ends at that time. */
  public void runUntil(long atMs) {
    while (!events.isEmpty() && events.peek().atMs <= atMs) {
      step();
    }
    nowMs = Math.max(nowMs, atMs);
  }
}
