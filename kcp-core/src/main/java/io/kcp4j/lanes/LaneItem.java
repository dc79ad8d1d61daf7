package io.kcp4j.lanes;

import io.kcp4j.Unstable;

/** The types of the items of the extension that carry unreliable messages: protocol.md 13.2. */
@Unstable
public final class LaneItem {

  /** In place of a message that could not be read. Peers skip what they do not know. */
  static final int PADDING = 0;

  /**
   * A message of an unreliable lane, for peers that do not take {@link #UNRELIABLE_32}. Value: lane
   * and number, both of 2 bytes, and the payload.
   */
  public static final int UNRELIABLE = 16;

  /** The same of a sequenced lane. */
  public static final int SEQUENCED = 17;

  /** A message of an unreliable lane. Value: lane, 2 bytes, number, 4 bytes, and the payload. */
  public static final int UNRELIABLE_32 = 19;

  /** The same of a sequenced lane. */
  public static final int SEQUENCED_32 = 20;

  /** What the value has before the payload, in bytes, with a number of 16 bits. */
  public static final int VALUE_HEADER_BYTES = 2 * Short.BYTES;

  /** The same with a number of 32 bits. */
  public static final int VALUE_HEADER_32_BYTES = Short.BYTES + Integer.BYTES;

  /** Type and length of an item, in bytes. */
  private static final int ITEM_HEADER_BYTES = 3;

  private LaneItem() {}

  /** Whether items of this type carry messages of lanes. */
  public static boolean isMessage(int type) {
    return type == UNRELIABLE || type == SEQUENCED || type == UNRELIABLE_32 || type == SEQUENCED_32;
  }

  /** The kind of the lane. */
  static LaneKind kind(int type) {
    return type == SEQUENCED || type == SEQUENCED_32
        ? LaneKind.UNRELIABLE_SEQUENCED
        : LaneKind.UNRELIABLE;
  }

  /** Whether numbers have 32 bits. */
  static boolean isLong(int type) {
    return type == UNRELIABLE_32 || type == SEQUENCED_32;
  }

  static int type(LaneKind kind, boolean isLong) {
    boolean isSequenced = kind == LaneKind.UNRELIABLE_SEQUENCED;
    if (isLong) {
      return isSequenced ? SEQUENCED_32 : UNRELIABLE_32;
    }
    return isSequenced ? SEQUENCED : UNRELIABLE;
  }

  /** What the value has before the payload, in bytes. */
  static int valueHeaderBytes(boolean isLong) {
    return isLong ? VALUE_HEADER_32_BYTES : VALUE_HEADER_BYTES;
  }

  /** What an item has before the payload, in bytes: its type and length, too. */
  public static int headerBytes(boolean isLong) {
    return ITEM_HEADER_BYTES + valueHeaderBytes(isLong);
  }
}
