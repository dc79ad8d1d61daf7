package io.kcp4j.internal.lanes;

/** Lets a lane go on with other numbers, for tests of their wrap. */
public final class LaneNumbers {

  private LaneNumbers() {}

  /** The next message from {@code sender} has this number, which {@code receiver} expects. */
  public static void set(Lane sender, Lane receiver, int number) {
    sender.sentMessages = number;
    sender.firstMessage = number;
    receiver.base = number;
  }
}
