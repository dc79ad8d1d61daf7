package io.kcp4j.sim;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import java.util.zip.CRC32C;

/**
 * The unreliable datagrams of one direction of a session. Each has its conv, direction and number,
 * and a checksum, so that one which was altered, forged or belongs to another session is detected.
 * They may be lost, duplicated and reordered.
 */
final class UnreliableTraffic {

  /** Conversation, direction, number, checksum. */
  static final int MIN_BYTES = 16;

  private static final int CRC_INDEX = 12;

  private final int conv;
  private final int direction;
  private int sent;

  UnreliableTraffic(int conv, int direction) {
    this.conv = conv;
    this.direction = direction;
  }

  /** The next datagram. */
  ByteBuf next(int bytes, ByteBufAllocator allocator) {
    ByteBuf datagram = allocator.buffer(bytes);
    datagram.writeInt(conv).writeInt(direction).writeInt(sent).writeInt(0);
    for (int i = MIN_BYTES; i < bytes; i++) {
      datagram.writeByte(sent * 31 + i);
    }
    sent++;
    return datagram.setInt(CRC_INDEX, crc(datagram));
  }

  /** Checks a received datagram. */
  void check(ByteBuf received) {
    ByteBuf datagram = received.slice();
    Check.that(datagram.readableBytes() >= MIN_BYTES, "an unreliable datagram truncated");
    Check.that(datagram.getInt(CRC_INDEX) == crc(datagram), "an unreliable datagram altered");
    Check.that(
        datagram.getInt(0) == conv && datagram.getInt(4) == direction,
        "an unreliable datagram of another session");
    int number = datagram.getInt(8);
    Check.that(number >= 0 && number < sent, "an unreliable datagram that was never sent");
  }

  private static int crc(ByteBuf datagram) {
    byte[] bytes = new byte[datagram.readableBytes()];
    datagram.getBytes(0, bytes);
    CRC32C crc = new CRC32C();
    crc.update(bytes, 0, CRC_INDEX);
    crc.update(bytes, MIN_BYTES, bytes.length - MIN_BYTES);
    return (int) crc.getValue();
  }
}
