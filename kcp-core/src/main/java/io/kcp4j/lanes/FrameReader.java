package io.kcp4j.lanes;

import io.netty.buffer.ByteBuf;

/** Reads the frames of a segment one after the other. None of it has been validated before. */
final class FrameReader {

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
    return type == Frame.ORDERED || type == Frame.UNORDERED;
  }

  /** Whether memory has to be prepared for the frame. */
  boolean isPrepared() {
    return isMessage() || type == Frame.FIN || type == Frame.UNRELIABLE_FIN;
  }

  /** Of a message, the kind of its lane. */
  LaneKind kind() {
    return type == Frame.ORDERED ? LaneKind.RELIABLE_ORDERED : LaneKind.RELIABLE_UNORDERED;
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
    if ((byte) word == Frame.PREFACE) {
      skipPadding();
    }
    int flags = (byte) word;
    skip(Byte.BYTES);
    type = flags & Frame.TYPE_MASK;
    if (isMessage() && flags >= 0) {
      lane = varInt();
      readMessage(flags);
    } else if (!Frame.isControl(flags)) {
      isMalformed = true;
    } else if (type != Frame.PREFACE) {
      lane = varInt();
      readControl();
    }
    isMalformed |= index > end;
    return !isMalformed;
  }

  private void skipPadding() {
    while (index + 1 < end && data.getByte(index) == Frame.PREFACE) {
      index++;
    }
    load();
  }

  private void readMessage(int flags) {
    load();
    readNumber(flags);
    isFragment = (flags & Frame.IS_FRAGMENT) != 0;
    if (isFragment) {
      total = varInt();
      load();
      offsetIndex = index;
      offset = varInt();
    }
    hasLength = (flags & Frame.HAS_LENGTH) != 0;
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
    boolean isByte = (flags & Frame.HAS_BYTE_NUMBER) != 0;
    boolean isLong = (flags & Frame.HAS_LONG_NUMBER) != 0;
    isMalformed |= isByte && isLong;
    numberBytes = isByte ? Byte.BYTES : isLong ? Integer.BYTES : Short.BYTES;
    number = (int) word;
    skip(numberBytes);
  }

  private void readControl() {
    if (type == Frame.FIN_ACK) {
      return;
    }
    load();
    number = (int) word;
    skip(Integer.BYTES);
    if (type == Frame.FIN) {
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
    int bytes = Frame.varIntBytesOf((int) word);
    isMalformed |= bytes > Integer.BYTES;
    int value = Frame.varIntOf((int) word, bytes);
    skip(bytes);
    return value;
  }

  private void skip(int bytes) {
    index += bytes;
    word >>>= Byte.SIZE * bytes;
  }
}
