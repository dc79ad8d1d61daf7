package io.kcp4j.smux;

import io.netty.buffer.ByteBuf;

/**
 * The header of a frame: version, command (1 byte each), length of the payload (2), stream id (4),
 * little-endian. Read as one long, whose lowest byte is the version.
 */
final class FrameHeader {

  static final int BYTES = 8;

  /** Opens a stream. */
  static final int SYN = 0;

  /** Ends one direction of a stream. */
  static final int FIN = 1;

  /** Has payload. */
  static final int PSH = 2;

  /** Keep-alive. */
  static final int NOP = 3;

  /** Window update, version 2 only: total bytes read (4), window (4). */
  static final int UPD = 4;

  static final int UPD_BYTES = 8;

  /** The stream id of frames that belong to none. */
  static final int NO_STREAM = 0;

  private FrameHeader() {}

  static int version(long header) {
    return (int) header & 0xff;
  }

  static int command(long header) {
    return (int) header >>> 8 & 0xff;
  }

  static int length(long header) {
    return (int) header >>> 16;
  }

  static int streamId(long header) {
    return (int) (header >>> 32);
  }

  static void write(ByteBuf out, int version, int command, int length, int streamId) {
    out.writeByte(version).writeByte(command).writeShortLE(length).writeIntLE(streamId);
  }
}
