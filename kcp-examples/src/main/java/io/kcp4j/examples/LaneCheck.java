package io.kcp4j.examples;

import io.kcp4j.command.CommandFailure;
import io.netty.buffer.ByteBuf;
import java.util.BitSet;

/**
 * Checks the messages of one lane of a shooter by what its kind promises, and measures how long
 * they took. Used by one thread; the samples by any.
 */
final class LaneCheck {

  private final ShooterLane lane;
  private final int messages;
  private final int unmeasured;
  private final LatencySamples delays = new LatencySamples();
  private final BitSet arrived = new BitSet();

  /**
   * Makes a check.
   *
   * @param messages how many are sent
   * @param unmeasured how many of them, at the beginning, are not measured
   */
  LaneCheck(ShooterLane lane, int messages, int unmeasured) {
    this.lane = lane;
    this.messages = messages;
    this.unmeasured = unmeasured;
  }

  /** How long the measured messages have taken from their tick to the handler. */
  LatencySamples delays() {
    return delays;
  }

  /** How many messages are measured, lost ones included. */
  int measured() {
    return messages - unmeasured;
  }

  /** Whether everything has arrived that has to. */
  boolean isComplete() {
    return !lane.kind().isReliable() || arrived.cardinality() == messages;
  }

  /** Takes a message. */
  void receive(ByteBuf content, long nowNs) throws CommandFailure {
    if (!ShooterMessage.isUnaltered(lane, content)) {
      throw new CommandFailure(lane.title() + ": a message was altered");
    }
    int number = ShooterMessage.number(content);
    if (arrived.get(number)) {
      throw new CommandFailure(lane.title() + ": message " + number + " has arrived twice");
    }
    if (!isInOrder(number)) {
      throw new CommandFailure(
          lane.title() + ": message " + number + " after message " + (arrived.length() - 1));
    }
    arrived.set(number);
    if (number >= unmeasured) {
      delays.add(nowNs - ShooterMessage.sentAtNs(content));
    }
  }

  private boolean isInOrder(int number) {
    int next = arrived.length();
    return switch (lane.kind()) {
      case RELIABLE_ORDERED -> number == next;
      case UNRELIABLE_SEQUENCED -> number >= next;
      case RELIABLE_UNORDERED, UNRELIABLE -> true;
    };
  }
}
