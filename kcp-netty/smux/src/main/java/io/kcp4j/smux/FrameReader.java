package io.kcp4j.smux;

import io.netty.buffer.ByteBuf;

/**
 * Splits the byte stream of a connection into frames, however it is cut. Payload is handed on as it
 * arrives and never gathered, so the only bytes that are kept are those of an incomplete header.
 */
final class FrameReader {

  /** Takes what was read. */
  interface Handler {

    /** A SYN. */
    void opened(int streamId);

    /** A FIN. */
    void ended(int streamId);

    /** A UPD. */
    void windowUpdated(int streamId, int consumed, int window);

    /** The next bytes of a PSH: takes exactly so many from {@code in}. */
    void payload(int streamId, ByteBuf in, int bytes);

    /** Whether nothing more is wanted. */
    boolean isDone();
  }

  private final int version;
  private final Handler handler;

  /** The header or the payload of a UPD, as far as it has arrived, from its lowest byte on. */
  private long word;

  private int wordBytes;
  private boolean isUpdate;

  // Of the current frame.
  private int streamId;
  private int payloadLeft;

  private long frames;

  FrameReader(int version, Handler handler) {
    this.version = version;
    this.handler = handler;
  }

  /** How many headers have been read. */
  long frames() {
    return frames;
  }

  /** Reads all that is there, or skips it when the handler is done. */
  void read(ByteBuf in) throws SmuxException {
    while (in.isReadable() && !handler.isDone()) {
      if (payloadLeft > 0) {
        int bytes = Math.min(payloadLeft, in.readableBytes());
        payloadLeft -= bytes;
        handler.payload(streamId, in, bytes);
      } else if (readWord(in)) {
        long complete = word;
        word = 0;
        wordBytes = 0;
        if (isUpdate) {
          isUpdate = false;
          handler.windowUpdated(streamId, (int) complete, (int) (complete >>> 32));
        } else {
          begin(complete);
        }
      }
    }
    in.skipBytes(in.readableBytes());
  }

  /** Returns whether the word is complete. */
  private boolean readWord(ByteBuf in) {
    if (wordBytes == 0 && in.readableBytes() >= Long.BYTES) {
      word = in.readLongLE();
      return true;
    }
    while (wordBytes < Long.BYTES && in.isReadable()) {
      word |= (in.readByte() & 0xffL) << (Byte.SIZE * wordBytes);
      wordBytes++;
    }
    return wordBytes == Long.BYTES;
  }

  private void begin(long header) throws SmuxException {
    frames++;
    if (FrameHeader.version(header) != version) {
      throw new SmuxException(
          "frame of version " + FrameHeader.version(header) + " (expected: " + version + ")");
    }
    streamId = FrameHeader.streamId(header);
    int length = FrameHeader.length(header);
    int command = FrameHeader.command(header);
    switch (command) {
      case FrameHeader.SYN -> {
        checkLength(command, length, 0);
        handler.opened(streamId);
      }
      case FrameHeader.FIN -> {
        checkLength(command, length, 0);
        handler.ended(streamId);
      }
      case FrameHeader.PSH -> payloadLeft = length;
      case FrameHeader.NOP -> checkLength(command, length, 0);
      case FrameHeader.UPD -> {
        if (version == 1) {
          throw new SmuxException("window update in version 1");
        }
        checkLength(command, length, FrameHeader.UPD_BYTES);
        isUpdate = true;
      }
      default -> throw new SmuxException("frame with unknown command " + command);
    }
  }

  private static void checkLength(int command, int length, int expected) throws SmuxException {
    if (length != expected) {
      throw new SmuxException(
          "frame of command "
              + command
              + " with length "
              + length
              + " (expected: "
              + expected
              + ")");
    }
  }
}
