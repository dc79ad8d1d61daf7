package io.kcp4j.load;

import io.netty.buffer.ByteBuf;

/**
 * What clients send. Every byte of it says what the server has to do with it, so the server needs
 * to know nothing else about a session.
 */
enum Payload {
  /** To be counted. */
  COUNTED(0),
  /** To be sent back. */
  ECHOED(1);

  private final int content;

  Payload(int content) {
    this.content = content;
  }

  /** Fills a new buffer. */
  ByteBuf fill(ByteBuf buffer) {
    while (buffer.isWritable()) {
      buffer.writeByte(content);
    }
    return buffer;
  }

  /** Whether a buffer that has been received is of this kind. */
  boolean is(ByteBuf received) {
    return received.isReadable() && received.getByte(received.readerIndex()) == content;
  }
}
