package io.kcp4j.internal.lanes;

import io.netty.buffer.ByteBuf;

/**
 * Reads the frames of segments for tests: as protocol.md 15.2 has it, and as {@link Frame} does,
 * which has to be the same. The payload of messages depends on lane, number and position, so that
 * it tells where it belongs.
 */
public final class FrameInspector {

  private static final Frame READER = new Frame();

  // Of the frame that was read last without Frame. A negative position: malformed.

  private static ByteBuf data;
  private static int index;
  private static int end;

  private FrameInspector() {}

  /** The byte at a position of a message; never 0. */
  public static byte content(int lane, int number, int position) {
    return (byte) (1 + (37 * lane + 11 * (number & 0xff) + 7 * position + (position >> 8)) % 255);
  }

  private static void check(boolean holds, String otherwise) {
    if (!holds) {
      throw new AssertionError(otherwise);
    }
  }

  /**
   * Reads a segment and fills in the payload of its messages.
   *
   * @return whether it is malformed
   */
  public static boolean fill(ByteBuf segment, int from, int bytes) {
    READER.reset(segment, from, bytes);
    begin(segment, from, bytes);
    int before = from - 1;
    while (READER.next()) {
      check(index > before, "a frame of no bytes");
      before = index;
      checkNext();
      for (int i = 0; READER.isMessage() && i < READER.length(); i++) {
        byte content = content(READER.lane(), READER.number(0), READER.offset() + i);
        segment.setByte(READER.payload() + i, content);
      }
    }
    boolean isMalformed = READER.isMalformed();
    check(isMalformed || READER.isLast(), "the reader ends ahead of the segment");
    check(isMalformed == (index == end ? false : !readNext()), "malformed or not");
    check(!READER.next(), "a frame behind the last");
    return isMalformed;
  }

  // What Frame has read

  private static void checkNext() {
    check(index < end, "a frame behind the end");
    int flags = data.getByte(index++);
    while (flags == Frame.PREFACE && index < end) {
      flags = data.getByte(index++);
    }
    check(READER.type() == (flags & 7), "type");
    if (flags == Frame.PREFACE) {
      return;
    }
    check(READER.lane() == varInt(), "lane");
    if (READER.isMessage()) {
      checkMessage(flags);
    } else if (READER.type() != Frame.FIN_ACK) {
      check(READER.value() == littleEndian(Integer.BYTES), "value");
      check(READER.type() != Frame.FIN || READER.total() == varInt(), "cut");
    }
    check(index >= 0 && index <= end, "a frame beyond the end");
  }

  private static void checkMessage(int flags) {
    boolean isByte = (flags & 0x08) != 0;
    boolean isFragment = (flags & 0x10) != 0;
    boolean isLong = (flags & 0x20) != 0;
    check(flags > 0 && !(isByte && isLong), "malformed flags");
    int numberBytes = isByte ? Byte.BYTES : isLong ? Integer.BYTES : Short.BYTES;
    int shift = Integer.SIZE - Byte.SIZE * numberBytes;
    check(READER.number(0) == littleEndian(numberBytes) << shift >> shift, "number");
    check(READER.isFragment() == isFragment, "fragment");
    check(!isFragment || READER.total() == varInt(), "total");
    check(!isFragment || READER.offset() == varInt(), "offset");
    check(READER.length() == ((flags & 0x40) != 0 ? varInt() : end - index), "length");
    check(READER.payload() == index, "payload");
    index += READER.length();
    int rest = READER.total() - READER.offset();
    check(READER.length() <= rest, "a payload beyond its message");
    check(isFragment || READER.length() == READER.total(), "a message that is not whole");
    boolean isPart = READER.length() > 0 && READER.length() < READER.total();
    check(!isFragment || isPart, "a fragment that is empty or whole");
  }

  // Without Frame

  private static void begin(ByteBuf segment, int from, int bytes) {
    data = segment;
    index = from;
    end = from + bytes;
  }

  /** Skips the next frame; returns false if it is malformed. */
  private static boolean readNext() {
    int flags = 0;
    while (flags == Frame.PREFACE && index < end) {
      flags = data.getByte(index++);
    }
    int type = flags & 7;
    boolean isMessage = type == Frame.ORDERED || type == Frame.UNORDERED;
    if (flags < 0 || (flags & 0x28) == 0x28 || (flags > 7 && !isMessage)) {
      return false;
    }
    if (flags == Frame.PREFACE) {
      return true;
    }
    varInt();
    if (isMessage) {
      return readMessage(flags);
    }
    littleEndian(type == Frame.FIN_ACK ? 0 : Integer.BYTES);
    if (type == Frame.FIN) {
      varInt();
    }
    return index >= 0;
  }

  private static boolean readMessage(int flags) {
    littleEndian((flags & 0x08) != 0 ? 1 : (flags & 0x20) != 0 ? 4 : 2);
    boolean isFragment = (flags & 0x10) != 0;
    long total = isFragment ? varInt() : 0;
    long offset = isFragment ? varInt() : 0;
    long length = (flags & 0x40) != 0 ? varInt() : end - index;
    boolean isPart = length > 0 && length < total && offset + length <= total;
    return index >= 0 && length <= end - index && (isPart || !isFragment);
  }

  private static int littleEndian(int bytes) {
    int value = 0;
    for (int i = 0; i < bytes; i++) {
      value |= readByte() << (Byte.SIZE * i);
    }
    return value;
  }

  private static int varInt() {
    int value = 0;
    for (int i = 0; i < 4; i++) {
      int next = readByte();
      value |= (next & 0x7f) << (7 * i);
      if (next < 0x80) {
        return value;
      }
    }
    index = Integer.MIN_VALUE;
    return 0;
  }

  private static int readByte() {
    if (index < 0 || index >= end) {
      index = Integer.MIN_VALUE;
      return 0;
    }
    return data.getByte(index++) & 0xff;
  }

  // What leaves

  /** Checks that a segment which lanes have written fits their state, and has the right payload. */
  public static void checkSent(Lanes lanes, ByteBuf segment, int from, int bytes) {
    READER.reset(segment, from, bytes);
    while (READER.next()) {
      if (READER.isMessage()) {
        for (int i = 0; i < READER.length(); i++) {
          byte content = content(READER.lane(), READER.number(0), READER.offset() + i);
          check(segment.getByte(READER.payload() + i) == content, "sent what is altered");
        }
      } else if (READER.type() != Frame.PREFACE) {
        checkSentControl(lanes.find(READER.lane()));
      }
    }
    check(!READER.isMalformed() && READER.isLast(), "sent what is malformed");
  }

  private static void checkSentControl(Lane lane) {
    switch (READER.type()) {
      case Frame.CONSUMED ->
          check(READER.value() == lane.consumed && lane.unreported() == 0, "reports too little");
      case Frame.FIN, Frame.UNRELIABLE_FIN -> check(!lane.isOutputOpen(), "ends what is open");
      case Frame.FIN_ACK ->
          check(!lane.hasInput() && lane.inputKind == null, "answers an end that is not taken");
      default ->
          check(
              lane.isInputDiscarded() && !lane.is(Lane.INPUT_ENDING) && lane.inputKind != null,
              "stops what has ended or is read");
    }
  }
}
