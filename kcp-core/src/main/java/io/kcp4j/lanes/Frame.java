package io.kcp4j.lanes;

import java.nio.ByteBuffer;

/**
 * The format of frames: protocol.md 15.2. A segment holds frames one behind the other:
 *
 * <pre>
 *   ordered, unordered   flags 1 | lane | number 1, 2 or 4 | [total | offset] | [length] | payload
 *   consumed             flags 1 | lane | charge 4
 *   fin                  flags 1 | lane | number 4 | cut
 *   fin ack              flags 1 | lane
 *   stop                 flags 1 | lane | number 4
 *   unreliable fin       flags 1 | lane | number 4
 *   preface              flags 1
 * </pre>
 *
 * <p>Fields without a size are variable-length integers: seven bits in each byte, the lowest first,
 * and the highest bit of all bytes but the last is set.
 */
final class Frame {

  // Types, in the lowest bits of the flags.

  /** The first frame of a client, which begins the session. Padding later. */
  static final int PREFACE = 0;

  /** A message of an ordered lane, or a fragment of one. */
  static final int ORDERED = 1;

  /** The same of an unordered lane. */
  static final int UNORDERED = 2;

  /** How much has been consumed on a lane, in all. */
  static final int CONSUMED = 3;

  /** A lane ends in this direction, behind the messages before this number. */
  static final int FIN = 4;

  /** Everything before a FIN, and the FIN, has been received and read. */
  static final int FIN_ACK = 5;

  /** The peer is to end the lane in its direction: its messages are discarded. */
  static final int STOP = 6;

  /** An unreliable lane ends in this direction: messages before this number count no more. */
  static final int UNRELIABLE_FIN = 7;

  private static final int LAST_TYPE = UNRELIABLE_FIN;

  static final int TYPE_MASK = 0x07;

  // Of messages only.

  /** The number has a single byte. */
  static final int HAS_BYTE_NUMBER = 0x08;

  /** Total and offset are there: the payload is a part of the message. */
  static final int IS_FRAGMENT = 0x10;

  /** The number has 4 bytes. With neither flag it has 2. */
  static final int HAS_LONG_NUMBER = 0x20;

  /** The length is there. Otherwise the payload ends where the segment ends. */
  static final int HAS_LENGTH = 0x40;

  /** The most bytes of a lane's id. */
  static final int MAX_LANE_BYTES = 3;

  private static final int VAR_INT_BITS = 7;

  /** Of 256, rounded up: a multiplication is faster than a division, and exact up to 47. */
  private static final int SEVENTH = 37;

  /** The largest variable-length integer. */
  static final int MAX_VAR_INT = (1 << 28) - 1;

  /** The largest variable-length integer of a single byte. */
  private static final int MAX_BYTE = 0x7f;

  private static final int ALL_MORE = 0x8080_8080;

  private Frame() {}

  /** The type of the frames in which the messages of a reliable lane travel. */
  static int typeOf(LaneKind kind) {
    return kind == LaneKind.RELIABLE_ORDERED ? ORDERED : UNORDERED;
  }

  /** Whether the flags are those of a frame that is not a message. */
  static boolean isControl(int flags) {
    return flags == PREFACE || (flags >= CONSUMED && flags <= LAST_TYPE);
  }

  /** The size of a variable-length integer, in bytes. */
  static int varIntBytes(int value) {
    int bits = Integer.SIZE - Integer.numberOfLeadingZeros(value | 1);
    return ((bits + VAR_INT_BITS - 1) * SEVENTH) >>> Byte.SIZE;
  }

  /** A variable-length integer, at most {@link #MAX_VAR_INT}; the first byte is the lowest one. */
  static int varInt(int value) {
    return varInt(value, varIntBytes(value));
  }

  /** The same of a value for which so many bytes suffice. */
  static int varInt(int value, int bytes) {
    int low = (value & 0x7f) | ((value & 0x3f80) << 1);
    int high = ((value & 0x1f_c000) << 2) | (value >>> 21 << 24);
    int more = ALL_MORE >>> (Integer.SIZE - Byte.SIZE * (bytes - 1));
    return value <= MAX_BYTE ? value : low | high | more;
  }

  /**
   * How many bytes a variable-length integer has.
   *
   * @param word four bytes of which it is the first ones, little-endian
   * @return 1 to 4, or more if it does not end
   */
  static int varIntBytesOf(int word) {
    return Integer.numberOfTrailingZeros(~word & ALL_MORE) / Byte.SIZE + 1;
  }

  /** The value of a variable-length integer of so many of the word's bytes. */
  static int varIntOf(int word, int bytes) {
    int low = (word & 0x7f) | ((word >>> 1) & 0x3f80);
    int high = ((word >>> 2) & 0x1f_c000) | ((word >>> 3) & 0xfe0_0000);
    return (low | high) & ((1 << (VAR_INT_BITS * bytes)) - 1);
  }

  /** Writes the lowest {@code bytes} of a word, 1 to 8, the lowest one first. */
  static void put(ByteBuffer out, long word, int bytes) {
    int position = out.position();
    if (out.remaining() >= Long.BYTES) {
      out.putLong(position, Long.reverseBytes(word)).position(position + bytes);
      return;
    }
    for (int i = 0; i < bytes; i++) {
      out.put((byte) (word >>> (Byte.SIZE * i)));
    }
  }

  /** Writes a variable-length integer, at most {@link #MAX_VAR_INT}. */
  static void putVarInt(ByteBuffer out, int value) {
    put(out, varInt(value), varIntBytes(value));
  }

  /** Writes 4 bytes, little-endian. */
  static void putInt(ByteBuffer out, int value) {
    out.putInt(Integer.reverseBytes(value));
  }
}
