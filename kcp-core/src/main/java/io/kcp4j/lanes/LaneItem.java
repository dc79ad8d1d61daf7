package io.kcp4j.lanes;

import io.kcp4j.Unstable;

/** The types of the items of the extension that carry unreliable messages: protocol.md 13.2. */
@Unstable
public final class LaneItem {

  /** In place of a message that could not be read. Peers skip what they do not know. */
  static final int PADDING = 0;

  /** A message of an unreliable lane. Value: lane, number, both of 2 bytes, and the payload. */
  public static final int UNRELIABLE = 16;

  /** The same of a sequenced lane. */
  public static final int SEQUENCED = 17;

  /** What the value has before the payload, in bytes. */
  public static final int VALUE_HEADER_BYTES = 2 * Short.BYTES;

  /** What an item has before the payload, in bytes: its type and length, too. */
  public static final int HEADER_BYTES = 3 + VALUE_HEADER_BYTES;

  private LaneItem() {}
}
