package io.kcp4j.lanes;

/** What a lane guarantees for the messages that one side sends on it. */
public enum LaneKind {
  /** Each message arrives once, in the order in which it was sent on the lane. */
  RELIABLE_ORDERED,

  /** Each message arrives once, as soon as all of it has arrived. */
  RELIABLE_UNORDERED,

  /** A message is sent once: it may be lost or reordered. It does not arrive twice. */
  UNRELIABLE,

  /** The same, and a message is dropped that is older than another one that has arrived. */
  UNRELIABLE_SEQUENCED;

  /** Whether lost messages are retransmitted. */
  public boolean isReliable() {
    return this == RELIABLE_ORDERED || this == RELIABLE_UNORDERED;
  }
}
