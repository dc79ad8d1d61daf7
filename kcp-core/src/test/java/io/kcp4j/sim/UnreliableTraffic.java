package io.kcp4j.sim;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import java.util.zip.CRC32C;

/**
 * The unreliable datagrams of one direction of a session. Each tells whose it is, its number and a
 * checksum of everything, so that one which is altered, made up or of another session is found out;
 * they may be lost, come twice and in any order.
 */
final class UnreliableTalk {

  /** Conversation, direction, number, checksum. */
  static final int MIN_BYTES = 16;

  private static final int CRC_INDEX = 12;

  private final int conv;
  private final int direction;
  private int said;

  UnreliableTalk(int conv, int direction) {
    this.conv = conv;
    this.direction = direction;
  }

  /** The next datagram. */
  ByteBuf say(int bytes, ByteBufAllocator allocator) {
    ByteBuf datagram = allocator.buffer(bytes);
    datagram.writeInt(conv).writeInt(direction).writeInt(said).writeInt(0);
    for (int i = MIN_BYTES; i < bytes; i++) {
      datagram.writeByte(said * 31 + i);
    }
    said++;
    return datagram.setInt(CRC_INDEX, crc(datagram));
  }

  /** Checks one that has arrived. */
  void hear(ByteBuf received) {
    ByteBuf datagram = received.slice();
    Check.that(datagram.readableBytes() >= MIN_BYTES, "an unreliable datagram cut short");
    Check.that(datagram.getInt(CRC_INDEX) == crc(datagram), "an unreliable datagram altered");
    Check.that(
        datagram.getInt(0) == conv && datagram.getInt(4) == direction,
        "an unreliable datagram of another session");
    int number = datagram.getInt(8);
    Check.that(number >= 0 && number < said, "an unreliable datagram that was never sent");
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
