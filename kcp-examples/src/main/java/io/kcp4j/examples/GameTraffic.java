package io.kcp4j.examples;

import java.util.concurrent.TimeUnit;

/**
 * What the players of a game send: in each tick, a message for each entity.
 *
 * @param players the number of sessions
 * @param unmeasuredTicks of each player, at the beginning
 * @param measuredTicks of each player, after them
 * @param seed of the content
 */
record GameTraffic(int players, int unmeasuredTicks, int measuredTicks, long seed) {

  static final int ENTITIES = 25;
  static final int MESSAGE_BYTES = 50;
  static final int TICKS_PER_SECOND = 60;
  static final long TICK_NS = TimeUnit.SECONDS.toNanos(1) / TICKS_PER_SECOND;

  /** The number of ticks in that time, at least 1. */
  static int ticksIn(double seconds) {
    return (int) Math.max(1, Math.round(seconds * TICKS_PER_SECOND));
  }

  /** The ticks of each player. */
  int ticks() {
    return unmeasuredTicks + measuredTicks;
  }

  /** The messages of each player that are not measured. */
  int unmeasuredMessages() {
    return unmeasuredTicks * ENTITIES;
  }
}
