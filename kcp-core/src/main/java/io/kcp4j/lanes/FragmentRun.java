package io.kcp4j.lanes;

import io.kcp4j.Copying;
import io.netty.buffer.ByteBuf;

/**
 * The fragments of one message that arrive in order, each alone in its segment, as those of bulk
 * data do. Their frames differ in nothing but the offset, so they need not be read field by field.
 */
final class FragmentRun {

  /** What is loaded at once, the header and the offset, ends before the segment does. */
  private static final int MIN_SEGMENT_BYTES = 2 * Long.BYTES;

  private Lane lane;

  /** Null if there is no run. It may have been recycled since. */
  private InboundMessage message;

  private int number;

  /** What frames of the run begin with, up to the offset; as many bytes as the mask has. */
  private long header;

  private long mask;
  private int headerBytes;

  /**
   * A fragment of a message has been taken in that does not complete it.
   *
   * @param frame the only frame of its segment
   * @param index where the segment begins in {@code data}
   */
  void begin(Lane lane, InboundMessage message, FrameReader frame, ByteBuf data, int index) {
    headerBytes = frame.offsetIndex() - index;
    if (frame.hasLength() || frame.length() < MIN_SEGMENT_BYTES || headerBytes >= Long.BYTES) {
      this.message = null;
      return;
    }
    this.lane = lane;
    this.message = message;
    number = message.number;
    mask = (1L << (Byte.SIZE * headerBytes)) - 1;
    header = data.getLongLE(index) & mask;
  }

  /**
   * Takes in a segment if all of it is the next fragment of the message, there is memory for it,
   * and it does not complete the message. Returns whether it has.
   */
  boolean append(ByteBuf data, int index, int bytes) {
    if (message == null
        || bytes < MIN_SEGMENT_BYTES
        || (data.getLongLE(index) & mask) != header
        || !isCurrent()) {
      return false;
    }
    int word = data.getIntLE(index + headerBytes);
    int offsetBytes = Frame.varIntBytesOf(word);
    int payload = headerBytes + offsetBytes;
    int length = bytes - payload;
    ByteBuf content = message.content;
    if (offsetBytes > Integer.BYTES
        || Frame.varIntOf(word, offsetBytes) != content.writerIndex()
        || length > content.maxWritableBytes()
        || message.receivedBytes + length >= message.totalBytes) {
      return false;
    }
    Copying.appendOwn(content, data, index + payload, length);
    message.receivedBytes += length;
    return true;
  }

  /** Whether the message is still incomplete, and the peer has not ended its lane. */
  private boolean isCurrent() {
    LaneInbox inbox = lane.inbox;
    return inbox != null
        && inbox.get(number) == message
        && message.number == number
        && !inbox.hasFin;
  }
}
