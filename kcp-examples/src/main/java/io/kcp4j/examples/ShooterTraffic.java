package io.kcp4j.examples;

/**
 * How much a shooter's server sends to its player.
 *
 * @param unmeasuredTicks before the level begins
 * @param measuredTicks after them
 * @param levelBytes the size of the level
 * @param seed of its content
 */
record ShooterTraffic(int unmeasuredTicks, int measuredTicks, int levelBytes, long seed) {

  int ticks() {
    return unmeasuredTicks + measuredTicks;
  }

  /** How many messages of a lane are not measured. */
  int unmeasured(ShooterLane lane) {
    return lane.messagesBefore(unmeasuredTicks);
  }

  /** How many messages of a lane are sent in all, but for those of the level. */
  int messages(ShooterLane lane) {
    return lane.messagesBefore(ticks());
  }

  /** The level, to be sent or compared. */
  GeneratedBytes level() {
    return new GeneratedBytes(levelBytes, seed);
  }
}
