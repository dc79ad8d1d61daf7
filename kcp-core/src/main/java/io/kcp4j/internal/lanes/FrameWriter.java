package io.kcp4j.internal.lanes;

import io.kcp4j.lanes.LanesConfig;
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

  // With no more than this on a lane that is not read, one or two bytes of a number tell which one
  // it is: each message counts its overhead at least, and numbers compare by signed difference.

  private static final int MAX_OF_BYTE_NUMBERS =
      LanesConfig.MESSAGE_OVERHEAD_BYTES * Byte.MAX_VALUE;
  private static final int MAX_OF_SHORT_NUMBERS =
      LanesConfig.MESSAGE_OVERHEAD_BYTES * Short.MAX_VALUE;

  private OutboundMessage message;

  /** What all frames of the message begin with: flags, lane and number. */
  private long header;

  private int headerBytes;

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
   * Sets the message of which frames are written.
   *
   * @param type that of the frames
   * @param outstandingBytes how much counts on the lane that is not read, the message included
   */
  void message(int type, int lane, int number, int outstandingBytes, OutboundMessage message) {
    this.message = message;
    int laneBytes = Frame.varIntBytes(lane);
    int numberBytes = numberBytes(outstandingBytes);
    int flags =
        type
            | (numberBytes == Byte.BYTES ? Frame.HAS_BYTE_NUMBER : 0)
            | (numberBytes == Integer.BYTES ? Frame.HAS_LONG_NUMBER : 0);
    header =
        flags
            | (long) Frame.varInt(lane, laneBytes) << Byte.SIZE
            | (long) number << (Byte.SIZE * (1 + laneBytes));
    headerBytes = 1 + laneBytes + numberBytes;
  }

  private static int numberBytes(int outstandingBytes) {
    if (outstandingBytes <= MAX_OF_BYTE_NUMBERS) {
      return Byte.BYTES;
    }
    return outstandingBytes <= MAX_OF_SHORT_NUMBERS ? Short.BYTES : Integer.BYTES;
  }

  /**
   * Writes fragments of the message into segments of their own, as long as each fills its segment
   * and does not complete the message.
   *
   * @param out where to write: the first segment begins at its position
   * @param gapBytes what lies between two segments, in bytes
   * @param most how many segments there may be
   * @param rest the content that has not been sent, from its position on, which moves
   * @return how many segments were written
   */
  int writeFull(ByteBuffer out, int segmentBytes, int gapBytes, int most, ByteBuffer rest) {
    int total = message.bytes();
    int totalBytes = Frame.varIntBytes(total);
    long totalWord = Frame.varInt(total, totalBytes);
    int start = out.position();
    int segments = 0;
    while (segments < most) {
      int offset = total - rest.remaining();
      int offsetBytes = Frame.varIntBytes(offset);
      int rangeBytes = totalBytes + offsetBytes;
      int bytes = segmentBytes - headerBytes - rangeBytes;
      if (bytes <= 0 || offset + bytes >= total) {
        break;
      }
      long offsetWord = Frame.varInt(offset, offsetBytes);
      Frame.put(out.position(start), header | Frame.IS_FRAGMENT, headerBytes);
      Frame.put(out, totalWord | offsetWord << (Byte.SIZE * totalBytes), rangeBytes);
      out.put(out.position(), rest, rest.position(), bytes);
      rest.position(rest.position() + bytes);
      start += segmentBytes + gapBytes;
      segments++;
    }
    return segments;
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

  /** The segments have been written. */
  void end() {
    message = null;
    out = null;
  }

  /**
   * Writes the message, or the next part of it.
   *
   * @param offset how much of the message has been sent
   * @return how many bytes of its content have been written, or {@link #NO_ROOM}
   * @throws RuntimeException if its buffer cannot be read; position and limit have changed then
   */
  int write(int offset) {
    int total = message.bytes();
    if (offset > 0) {
      return writeFragment(offset);
    }
    if (headerBytes + total <= out.remaining()) {
      boolean hasLength = fits(headerBytes, total);
      Frame.put(out, hasLength ? header | Frame.HAS_LENGTH : header, headerBytes);
      putContent(0, total, hasLength);
      return total;
    }
    return isCut(headerBytes + total, total) ? writeFragment(0) : NO_ROOM;
  }

  private int writeFragment(int offset) {
    int total = message.bytes();
    int totalBytes = Frame.varIntBytes(total);
    int offsetBytes = Frame.varIntBytes(offset);
    int rangeBytes = totalBytes + offsetBytes;
    int bytes = fragmentBytes(total - offset, headerBytes + rangeBytes);
    if (bytes <= 0) {
      pad();
      return NO_ROOM;
    }
    boolean hasLength = offset + bytes == total && fits(headerBytes + rangeBytes, bytes);
    int flags = hasLength ? Frame.IS_FRAGMENT | Frame.HAS_LENGTH : Frame.IS_FRAGMENT;
    Frame.put(out, header | flags, headerBytes);
    long range =
        Frame.varInt(total, totalBytes)
            | (long) Frame.varInt(offset, offsetBytes) << (Byte.SIZE * totalBytes);
    Frame.put(out, range, rangeBytes);
    putContent(offset, bytes, hasLength);
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

  private void putContent(int offset, int bytes, boolean hasLength) {
    if (hasLength) {
      Frame.putVarInt(out, bytes);
    }
    int limit = out.limit();
    message.copy(offset, out.limit(out.position() + bytes));
    out.limit(limit);
    isComplete = !hasLength;
  }
}
