package io.kcp4j.internal.lanes;

import io.kcp4j.lanes.LaneKind;
import io.netty.buffer.ByteBuf;
import java.nio.ByteBuffer;

/**
 * The format of frames (protocol.md 15.2). An instance is a flyweight that reads the frames of a
 * segment one after the other, without trust: nothing of the segment has been validated before. A
 * segment holds frames one behind the other:
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

  private ByteBuf data;
  private int index;
  private int end;

  /** What has been loaded from the index on. */
  private long word;

  private boolean isMalformed;

  // The frame that was read last.

  private int type;
  private int lane;
  private boolean isFragment;
  private int numberBytes;
  private int number;
  private int total;
  private int offsetIndex;
  private int offset;
  private boolean hasLength;
  private int payload;
  private int length;

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

  // Reading

  /** Begins with the first frame of the segment. */
  void reset(ByteBuf data, int index, int bytes) {
    this.data = data;
    this.index = index;
    end = index + bytes;
    isMalformed = false;
  }

  /** Whether the segment is malformed, as far as it has been read. */
  boolean isMalformed() {
    return isMalformed;
  }

  /** Whether no frame follows. */
  boolean isLast() {
    return index == end;
  }

  /** The type of the frame. */
  int type() {
    return type;
  }

  /** Whether the frame has a message or a part of one. */
  boolean isMessage() {
    return type == ORDERED || type == UNORDERED;
  }

  /** Whether memory has to be prepared for the frame. */
  boolean isPrepared() {
    return isMessage() || type == FIN || type == UNRELIABLE_FIN;
  }

  /** Of a message, the kind of its lane. */
  LaneKind kind() {
    return type == ORDERED ? LaneKind.RELIABLE_ORDERED : LaneKind.RELIABLE_UNORDERED;
  }

  /** The lane's id. */
  int lane() {
    return lane;
  }

  /** Whether the payload is a part of a message. */
  boolean isFragment() {
    return isFragment;
  }

  /**
   * The number of the message, of which the frame may have only the lowest bits.
   *
   * @param base a number to which it is the nearest with these lowest bits
   */
  int number(int base) {
    return switch (numberBytes) {
      case Byte.BYTES -> base + (byte) (number - base);
      case Short.BYTES -> base + (short) (number - base);
      default -> number;
    };
  }

  /** The number of a frame that always has all of it, or another value of 4 bytes. */
  int value() {
    return number;
  }

  /** The size of the message; of a FIN, how much of the last message has been sent. */
  int total() {
    return total;
  }

  /** Of a fragment: where the frame has the offset. */
  int offsetIndex() {
    return offsetIndex;
  }

  /** Where in the message the payload belongs. */
  int offset() {
    return offset;
  }

  /** Whether the frame has the length of the payload. */
  boolean hasLength() {
    return hasLength;
  }

  /** Where the payload begins. */
  int payload() {
    return payload;
  }

  /** The size of the payload. */
  int length() {
    return length;
  }

  /** Reads the next frame. Returns false at the end, or if the rest is malformed. */
  boolean next() {
    if (index >= end || isMalformed) {
      return false;
    }
    load();
    if ((byte) word == PREFACE) {
      skipPadding();
    }
    int flags = (byte) word;
    skip(Byte.BYTES);
    type = flags & TYPE_MASK;
    if (isMessage() && flags >= 0) {
      lane = varInt();
      readMessage(flags);
    } else if (!isControl(flags)) {
      isMalformed = true;
    } else if (type != PREFACE) {
      lane = varInt();
      readControl();
    }
    isMalformed |= index > end;
    return !isMalformed;
  }

  private void skipPadding() {
    while (index + 1 < end && data.getByte(index) == PREFACE) {
      index++;
    }
    load();
  }

  private void readMessage(int flags) {
    load();
    readNumber(flags);
    isFragment = (flags & IS_FRAGMENT) != 0;
    if (isFragment) {
      total = varInt();
      load();
      offsetIndex = index;
      offset = varInt();
    }
    hasLength = (flags & HAS_LENGTH) != 0;
    length = hasLength ? varInt() : end - index;
    payload = index;
    if (length < 0 || length > end - index) {
      isMalformed = true;
      return;
    }
    index += length;
    if (isFragment) {
      isMalformed |= length == 0 || offset + length > total || length == total;
    } else {
      total = length;
      offset = 0;
    }
  }

  private void readNumber(int flags) {
    boolean isByte = (flags & HAS_BYTE_NUMBER) != 0;
    boolean isLong = (flags & HAS_LONG_NUMBER) != 0;
    isMalformed |= isByte && isLong;
    numberBytes = isByte ? Byte.BYTES : isLong ? Integer.BYTES : Short.BYTES;
    number = (int) word;
    skip(numberBytes);
  }

  private void readControl() {
    if (type == FIN_ACK) {
      return;
    }
    load();
    number = (int) word;
    skip(Integer.BYTES);
    if (type == FIN) {
      total = varInt();
    }
  }

  /** Loads the next 8 bytes, two fields at most. Those behind the segment are 0. */
  private void load() {
    if (end - index >= Long.BYTES) {
      word = data.getLongLE(index);
      return;
    }
    word = 0;
    for (int i = end - 1; i >= index; i--) {
      word = word << Byte.SIZE | (data.getByte(i) & 0xff);
    }
  }

  /** A variable-length integer of the bytes that have been loaded. */
  private int varInt() {
    int bytes = varIntBytesOf((int) word);
    isMalformed |= bytes > Integer.BYTES;
    int value = varIntOf((int) word, bytes);
    skip(bytes);
    return value;
  }

  private void skip(int bytes) {
    index += bytes;
    word >>>= Byte.SIZE * bytes;
  }
}
