package io.kcp4j.tunnel.snappy;

import io.netty.buffer.ByteBuf;
import io.netty.util.concurrent.FastThreadLocal;
import java.nio.ByteBuffer;
import java.util.zip.CRC32C;

/**
 * The constants and the checksum of Snappy's framing format, and the memory that the codecs of a
 * thread share: a chunk is compressed or decompressed within one call.
 */
final class Framing {

  /** Type and length, in three bytes, of a chunk. */
  static final int HEADER_BYTES = 4;

  static final int CHECKSUM_BYTES = 4;

  // Types of chunks. Others from 0x80 on are skipped, and those before are errors.
  static final int COMPRESSED = 0x00;
  static final int UNCOMPRESSED = 0x01;
  static final int FIRST_SKIPPABLE = 0x80;
  static final int STREAM_IDENTIFIER = 0xff;

  /** What follows the header of the stream identifier: "sNaPpY", little-endian. */
  static final long MAGIC = 0x59705061_4e73L;

  static final int MAGIC_BYTES = 6;

  private static final int CHECKSUM_OFFSET = 0xa282ead8;

  private static final FastThreadLocal<Framing> OF_THREAD =
      new FastThreadLocal<>() {
        @Override
        protected Framing initialValue() {
          return new Framing();
        }
      };

  final BlockCompressor compressor = new BlockCompressor();

  /** A block, or the body of a compressed chunk. */
  final byte[] input = new byte[CHECKSUM_BYTES + BlockCompressor.MAX_COMPRESSED_BYTES];

  /** What the input becomes. */
  final byte[] output = new byte[BlockCompressor.OUTPUT_BYTES];

  private final CRC32C crc = new CRC32C();

  private Framing() {}

  static Framing ofThread() {
    return OF_THREAD.get();
  }

  /** The masked CRC-32C of bytes. */
  int checksum(byte[] bytes, int start, int length) {
    crc.reset();
    crc.update(bytes, start, length);
    return masked();
  }

  /** The masked CRC-32C of bytes in one piece of memory. */
  int checksum(ByteBuf bytes, int start, int length) {
    ByteBuffer view = bytes.internalNioBuffer(start, length);
    crc.reset();
    crc.update(view);
    return masked();
  }

  /** Checksums are masked, because data may contain the checksum of other data. */
  private int masked() {
    int value = (int) crc.getValue();
    return Integer.rotateRight(value, 15) + CHECKSUM_OFFSET;
  }
}
