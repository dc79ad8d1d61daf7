package io.kcp4j.examples;

import io.kcp4j.netty.LaneMessage;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;

/**
 * The format of the messages of a shooter: number 4 | time of sending 8 | bytes that are checked.
 */
final class ShooterMessage {

  private static final int HEADER_BYTES = Integer.BYTES + Long.BYTES;

  private ShooterMessage() {}

  /** Makes a message. */
  static LaneMessage of(ByteBufAllocator alloc, ShooterLane lane, int number, long sentAtNs) {
    ByteBuf content = alloc.buffer(lane.messageBytes()).writeInt(number).writeLong(sentAtNs);
    for (int i = HEADER_BYTES; i < lane.messageBytes(); i++) {
      content.writeByte(contentAt(lane, number, i));
    }
    return new LaneMessage(lane.id(), content);
  }

  /** The number of a message on its lane. */
  static int number(ByteBuf content) {
    return content.getInt(content.readerIndex());
  }

  /** When it was sent, as {@link System#nanoTime} of the same process. */
  static long sentAtNs(ByteBuf content) {
    return content.getLong(content.readerIndex() + Integer.BYTES);
  }

  /** Whether the content is what was sent. */
  static boolean isUnaltered(ShooterLane lane, ByteBuf content) {
    if (content.readableBytes() != lane.messageBytes()) {
      return false;
    }
    int number = number(content);
    for (int i = HEADER_BYTES; i < lane.messageBytes(); i++) {
      if (content.getByte(content.readerIndex() + i) != contentAt(lane, number, i)) {
        return false;
      }
    }
    return true;
  }

  private static byte contentAt(ShooterLane lane, int number, int index) {
    return (byte) (31 * number + 7 * index + lane.id());
  }
}
