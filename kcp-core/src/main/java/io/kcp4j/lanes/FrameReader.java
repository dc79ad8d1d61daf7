package io.kcp4j.lanes;

import io.netty.buffer.ByteBuf;

/** Reads the frames of a segment one after the other. None of it has been validated before. */
final class FrameReader {

  private static final int MAX_VAR_INT_BYTES = 4;

  private ByteBuf data;
  private int index;
  private int end;
  private boolean isMalformed;

  // The frame that was read last.

  private int type;
  private int lane;
  private boolean isFragment;
  private int numberBytes;
  private int number;
  private int total;
  private int offset;
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
    return isMessage() || type == Frame.FIN;
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

  /** Where in the message the payload belongs. */
  int offset() {
    return offset;
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
    int flags = data.getByte(index++);
    while (flags == Frame.PREFACE && index < end) { // Padding.
      flags = data.getByte(index++);
    }
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
    return !isMalformed;
  }

  private void readMessage(int flags) {
    isFragment = (flags & Frame.IS_FRAGMENT) != 0;
    readNumber(flags);
    if (isFragment) {
      total = varInt();
      offset = varInt();
    }
    length = (flags & Frame.HAS_LENGTH) != 0 ? varInt() : end - index;
    if (length > end - index) {
      isMalformed = true;
      return;
    }
    payload = index;
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
    numberBytes = isByte ? Byte.BYTES : isLong ? Integer.BYTES : Short.BYTES;
    isMalformed |= (isByte && isLong) || end - index < numberBytes;
    if (!isMalformed) {
      number =
          switch (numberBytes) {
            case Byte.BYTES -> data.getByte(index);
            case Short.BYTES -> data.getShortLE(index);
            default -> data.getIntLE(index);
          };
      index += numberBytes;
    }
  }

  private void readControl() {
    switch (type) {
      case Frame.CONSUMED, Frame.STOP, Frame.UNRELIABLE_FIN -> number = readInt();
      case Frame.FIN -> {
        number = readInt();
        total = varInt();
      }
      default -> {} // FIN_ACK
    }
  }

  private int varInt() {
    if (end - index >= Integer.BYTES) {
      int word = data.getIntLE(index);
      int bytes = Frame.varIntBytesOf(word);
      isMalformed |= bytes > Integer.BYTES;
      index += bytes;
      return Frame.varIntOf(word, bytes);
    }
    int value = 0;
    for (int i = 0; i < MAX_VAR_INT_BYTES && index < end; i++) {
      byte next = data.getByte(index++);
      value |= (next & 0x7f) << (7 * i);
      if (next >= 0) {
        return value;
      }
    }
    isMalformed = true;
    return 0;
  }

  private int readInt() {
    if (end - index < Integer.BYTES) {
      isMalformed = true;
      return 0;
    }
    index += Integer.BYTES;
    return data.getIntLE(index - Integer.BYTES);
  }
}
