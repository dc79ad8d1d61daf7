package io.kcp4j.lanes;

import java.nio.ByteBuffer;

/**
 * Writes messages into segments. A message that fits into a segment is seldom cut, since it would
 * be delayed by the loss of either of two segments. Larger ones fill segments, so that bulk data
 * leaves in full datagrams of one size.
 */
final class FrameWriter {

  /** What {@link #write} returns if the segment has no room for the message. */
  static final int NO_ROOM = -1;

  /** A smaller fragment does not begin at the end of a segment. */
  private static final int MIN_FRAGMENT_BYTES = 64;

  /** Smaller messages are never cut if they fit into a segment; a share of its size. */
  private static final int SMALL_SHARE = 4;

  /** What frames of fragments have beside the payload, at most, in bytes. */
  private static final int FRAGMENT_HEADER_BYTES = 16;

  /** More fragments than a large message has, for so many bytes each. */
  private static final int FRAGMENT_BYTES = 1_024;

  private ByteBuffer out;
  private int segmentBytes;
  private int end;
  private boolean isComplete;

  /** How many bytes the frames of a message take, or a little more. */
  static int estimateBytes(int lane, int bytes) {
    return bytes < FRAGMENT_BYTES
        ? 1 + Frame.varIntBytes(lane) + Byte.BYTES + Frame.varIntBytes(bytes) + bytes
        : bytes + FRAGMENT_HEADER_BYTES * (2 + bytes / FRAGMENT_BYTES);
  }

  /**
   * Begins a segment.
   *
   * @param out where to write, up to its limit
   * @param enoughBytes a message that is cut is cut after so many bytes of the segment
   */
  void begin(ByteBuffer out, int enoughBytes) {
    this.out = out;
    segmentBytes = out.remaining();
    end = out.position() + Math.min(enoughBytes, segmentBytes);
    isComplete = false;
  }

  /** Whether no more frames may follow, or need to. */
  boolean isComplete() {
    return isComplete || out.position() >= end;
  }

  /** The segment has been written. */
  void end() {
    out = null;
  }

  /**
   * Writes a message, or the next part of it.
   *
   * @param type that of the frame
   * @param numberBytes how many bytes of the number tell which one it is: 1, 2 or 4
   * @param offset how much of the message has been sent
   * @return how many bytes of its content have been written, or {@link #NO_ROOM}
   * @throws RuntimeException if its buffer cannot be read; position and limit have changed then
   */
  int write(int type, int lane, int number, int numberBytes, LaneSend message, int offset) {
    int total = message.bytes();
    int laneBytes = Frame.varIntBytes(lane);
    int headerBytes = 1 + laneBytes + numberBytes;
    int flags =
        type
            | (numberBytes == Byte.BYTES ? Frame.HAS_BYTE_NUMBER : 0)
            | (numberBytes == Integer.BYTES ? Frame.HAS_LONG_NUMBER : 0);
    long header =
        flags
            | (long) Frame.varInt(lane, laneBytes) << Byte.SIZE
            | (long) number << (Byte.SIZE * (1 + laneBytes));
    if (offset > 0) {
      return writeFragment(header, headerBytes, message, offset);
    }
    if (headerBytes + total <= out.remaining()) {
      boolean hasLength = fits(headerBytes, total);
      Frame.put(out, hasLength ? header | Frame.HAS_LENGTH : header, headerBytes);
      putContent(message, 0, total, hasLength);
      return total;
    }
    return isCut(headerBytes + total, total)
        ? writeFragment(header, headerBytes, message, 0)
        : NO_ROOM;
  }

  /** Writes the next part of a message, whose frame begins with this header. */
  private int writeFragment(long header, int commonBytes, LaneSend message, int offset) {
    int total = message.bytes();
    int totalBytes = Frame.varIntBytes(total);
    int offsetBytes = Frame.varIntBytes(offset);
    int headerBytes = commonBytes + totalBytes + offsetBytes;
    int bytes = fragmentBytes(total - offset, headerBytes);
    if (bytes <= 0) {
      pad();
      return NO_ROOM;
    }
    boolean hasLength = offset + bytes == total && fits(headerBytes, bytes);
    int flags = hasLength ? Frame.IS_FRAGMENT | Frame.HAS_LENGTH : Frame.IS_FRAGMENT;
    Frame.put(out, header | flags, commonBytes);
    long range =
        Frame.varInt(total, totalBytes)
            | (long) Frame.varInt(offset, offsetBytes) << (Byte.SIZE * totalBytes);
    Frame.put(out, range, totalBytes + offsetBytes);
    putContent(message, offset, bytes, hasLength);
    return bytes;
  }

  /** Whether there is room for so many bytes with their length. */
  private boolean fits(int headerBytes, int bytes) {
    return headerBytes + Frame.varIntBytes(bytes) + bytes <= out.remaining();
  }

  /** Whether to cut a message for which the rest of the segment is too small. */
  private boolean isCut(int frameBytes, int bytes) {
    int small = segmentBytes / SMALL_SHARE;
    return frameBytes > segmentBytes || (bytes > small && out.remaining() > small);
  }

  private int fragmentBytes(int rest, int headerBytes) {
    int room = out.remaining();
    int enough = Math.max(end - out.position() - headerBytes, MIN_FRAGMENT_BYTES);
    int bytes = Math.min(rest, Math.min(room - headerBytes, enough));
    boolean isTooSmall = bytes < Math.min(rest, MIN_FRAGMENT_BYTES);
    return isTooSmall && room < segmentBytes ? 0 : bytes;
  }

  /**
   * Fills the segment, since a fragment would fill it if there were room: generic segmentation
   * offload sends datagrams of one size together.
   */
  private void pad() {
    boolean isEmpty = out.remaining() == segmentBytes;
    while (!isEmpty && out.hasRemaining()) {
      out.put((byte) Frame.PREFACE);
    }
  }

  private void putContent(LaneSend message, int offset, int bytes, boolean hasLength) {
    if (hasLength) {
      Frame.putVarInt(out, bytes);
    }
    int limit = out.limit();
    message.copy(offset, out.limit(out.position() + bytes));
    out.limit(limit);
    isComplete = !hasLength;
  }
}
