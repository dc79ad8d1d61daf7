package io.kcp4j.lab;

/**
 * What an application sends at regular times: in each tick a number of messages, which are written
 * one by one and then flushed.
 *
 * @param messages the messages of a tick, one for each entity of a game
 * @param messageBytes the size of each
 * @param ticksPerSecond the rate
 */
record Traffic(int messages, int messageBytes, double ticksPerSecond) {

  private static final double US_PER_S = 1e6;

  /** A game that sends the state of so many entities, 50 bytes each, 60 times a second. */
  static Traffic game(int entities) {
    return new Traffic(entities, 50, 60);
  }

  /** A stream of single large segments, such as video. */
  static Traffic stream(double mbitPerSecond) {
    int messageBytes = 1300;
    return new Traffic(1, messageBytes, mbitPerSecond * 1e6 / (messageBytes * Byte.SIZE));
  }

  /** When a tick is, in microseconds after the first. */
  long tickAtUs(long tick) {
    return (long) (tick * US_PER_S / ticksPerSecond);
  }
}
