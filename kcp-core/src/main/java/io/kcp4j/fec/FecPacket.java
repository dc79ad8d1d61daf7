package io.kcp4j.fec;

import io.kcp4j.Unstable;
import io.netty.buffer.ByteBuf;

/**
 * The header in front of a datagram that FEC knows: a sequence number of 4 bytes and a type of 2,
 * and for data and out-of-band packets a size of 2, which counts itself and the payload:
 * protocol.md 11.1. All are little-endian.
 */
@Unstable
public final class FecPacket {

  /** What a parity packet has in front of its shard. */
  public static final int HEADER_BYTES = 6;

  /** What a data or out-of-band packet has in front of its payload. */
  public static final int DATA_HEADER_BYTES = 8;

  /** The size field, which is part of a data packet's shard. */
  static final int SIZE_BYTES = DATA_HEADER_BYTES - HEADER_BYTES;

  /** Type of a packet with a datagram. */
  public static final int DATA = 0xf1;

  /** Type of a packet with parity. */
  public static final int PARITY = 0xf2;

  /** Type of an unreliable datagram, which is in no group. */
  public static final int OUT_OF_BAND = 0xf3;

  /** The sequence number of every out-of-band packet; none of a group has it. */
  public static final int OUT_OF_BAND_SEQID = 0xffffffff;

  /** The largest shard, in bytes: what the size field can tell. */
  static final int MAX_SHARD_BYTES = 0xffff;

  private FecPacket() {}

  /**
   * The first number that is no sequence number: the largest multiple of the group's size in 32
   * bits, so that groups begin at multiples of their size for ever.
   */
  static long paws(int shards) {
    return 0xffffffffL / shards * shards;
  }

  /**
   * What stands where the type would be. In a plain KCP datagram that is a command and a fragment
   * number, which are never one of the types.
   *
   * @param index where the packet begins, with at least {@value #HEADER_BYTES} bytes behind it
   */
  public static int type(ByteBuf packet, int index) {
    return packet.getUnsignedShortLE(index + 4);
  }

  /** Whether a type is one of the three. */
  public static boolean isFec(int type) {
    return type >= DATA && type <= OUT_OF_BAND;
  }

  /** The sequence number, unsigned. */
  public static int seqid(ByteBuf packet, int index) {
    return packet.getIntLE(index);
  }

  /** The size field of a data or out-of-band packet: the payload and the field itself, in bytes. */
  public static int size(ByteBuf packet, int index) {
    return packet.getUnsignedShortLE(index + HEADER_BYTES);
  }

  /** Copies bytes out of a packet that nobody else uses meanwhile. */
  static void read(ByteBuf packet, int index, byte[] to, int bytes) {
    if (packet.hasArray() || packet.nioBufferCount() != 1) {
      packet.getBytes(index, to, 0, bytes);
    } else {
      // By the view that it keeps of itself: without Unsafe Netty would make another.
      packet.internalNioBuffer(index, bytes).get(to, 0, bytes);
    }
  }

  /**
   * Writes the header of a data or out-of-band packet.
   *
   * @param index where the packet begins
   * @param end where its payload ends
   */
  public static void write(ByteBuf packet, int index, int end, int seqid, int type) {
    int size = end - index - HEADER_BYTES;
    if (size < SIZE_BYTES || size > MAX_SHARD_BYTES) {
      throw new IllegalArgumentException(
          "size: " + size + " (expected: " + SIZE_BYTES + " to " + MAX_SHARD_BYTES + ")");
    }
    packet.setLongLE(index, (seqid & 0xffffffffL) | (long) type << 32 | (long) size << 48);
  }
}
