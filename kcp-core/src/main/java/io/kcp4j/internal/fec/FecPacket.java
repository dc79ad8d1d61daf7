package io.kcp4j.internal.fec;

import io.netty.buffer.ByteBuf;

/**
 * The FEC header: a sequence number of 4 bytes and a type of 2, and in data and out-of-band packets
 * a size of 2, which counts itself and the payload; protocol.md 11.1. All are little-endian.
 */
public final class FecPacket {

  /** The header of a parity packet, before its shard. */
  public static final int HEADER_BYTES = 6;

  /** The header of a data or out-of-band packet, before its payload. */
  public static final int DATA_HEADER_BYTES = 8;

  /** The size field, which is part of the shard of a data packet. */
  static final int SIZE_BYTES = DATA_HEADER_BYTES - HEADER_BYTES;

  /** Type of a packet with a datagram. */
  public static final int DATA = 0xf1;

  /** Type of a packet with parity. */
  public static final int PARITY = 0xf2;

  /** Type of an unreliable datagram, which is in no group. */
  public static final int OUT_OF_BAND = 0xf3;

  /** The sequence number of every out-of-band packet; packets of groups never have it. */
  public static final int OUT_OF_BAND_SEQID = 0xffffffff;

  /** The largest shard, in bytes: the maximum of the size field. */
  static final int MAX_SHARD_BYTES = 0xffff;

  private FecPacket() {}

  /** Where the sequence numbers of one side begin if those of the other begin at 0. */
  public static final int UPPER_SEQID = 1 << 30;

  /**
   * The modulus of sequence numbers: the largest multiple of the group size in 32 bits, so that
   * groups always begin at multiples of their size.
   */
  static long paws(int shards) {
    return 0xffffffffL / shards * shards;
  }

  /**
   * The type field. In a KCP datagram without FEC its place has a command and a fragment number,
   * which never equal one of the types.
   *
   * @param index of a packet of at least {@value #HEADER_BYTES} bytes
   */
  public static int type(ByteBuf packet, int index) {
    return packet.getUnsignedShortLE(index + 4);
  }

  /** Whether a type is {@link #DATA}, {@link #PARITY} or {@link #OUT_OF_BAND}. */
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

  /** Copies bytes out of a packet that no other thread uses at the same time. */
  static void read(ByteBuf packet, int index, byte[] to, int bytes) {
    if (packet.hasArray() || packet.nioBufferCount() != 1) {
      packet.getBytes(index, to, 0, bytes);
    } else {
      // By its cached NIO view: without Unsafe, getBytes would allocate one.
      packet.internalNioBuffer(index, bytes).get(to, 0, bytes);
    }
  }

  /**
   * Writes the header of a data or out-of-band packet.
   *
   * @param index of the packet
   * @param end the index after its payload
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
