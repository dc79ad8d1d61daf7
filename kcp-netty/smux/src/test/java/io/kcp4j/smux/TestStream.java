package io.kcp4j.smux;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import java.io.ByteArrayOutputStream;

/** The user of a stream: writes what the test says, and reads everything unless paused. */
class TestStream implements SmuxStreamListener, SmuxStreamSource {

  SmuxStream stream;

  /** Whether input is read as it arrives. */
  boolean isReading = true;

  int inputReadyCalls;
  boolean isOutputEnded;
  Throwable outputStop;
  Throwable failure;

  private final ByteArrayOutputStream received = new ByteArrayOutputStream();
  private final ByteBuf output = Unpooled.buffer();

  /** Writes bytes whose values depend on their position. */
  TestStream write(int bytes) {
    output.discardReadBytes();
    for (int i = 0; i < bytes; i++) {
      output.writeByte(i * 7 + i / 256);
    }
    stream.outputReady();
    return this;
  }

  TestStream write(byte[] bytes) {
    output.discardReadBytes().writeBytes(bytes);
    stream.outputReady();
    return this;
  }

  /** Drops what was written and has not left. */
  void cancelWrites() {
    output.clear();
  }

  /** Reads all that there is, and returns how much. */
  int readAll() {
    int before = received.size();
    while (readPiece() > 0) {
      // Goes on.
    }
    return received.size() - before;
  }

  /** Reads the next piece, and returns its size, or 0 if there is none. */
  int readPiece() {
    ByteBuf piece = stream.read();
    if (piece == null) {
      return 0;
    }
    int bytes = piece.readableBytes();
    received.writeBytes(ByteBufUtil.getBytes(piece));
    piece.release();
    return bytes;
  }

  byte[] received() {
    return received.toByteArray();
  }

  int unsent() {
    return output.readableBytes();
  }

  @Override
  public boolean isEmpty() {
    return !output.isReadable();
  }

  @Override
  public ByteBuf take(int maxBytes) {
    return output.readBytes(Math.min(maxBytes, output.readableBytes()));
  }

  @Override
  public void inputReady(SmuxStream ready) {
    inputReadyCalls++;
    if (isReading) {
      readAll();
    }
  }

  @Override
  public void outputStopped(SmuxStream stopped, SmuxException cause) {
    outputStop = cause;
  }

  @Override
  public void outputEnded(SmuxStream ended) {
    isOutputEnded = true;
  }

  @Override
  public void failed(SmuxStream failed, Throwable cause) {
    failure = cause;
  }
}
