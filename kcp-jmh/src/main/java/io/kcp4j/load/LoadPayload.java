package io.kcp4j.load;

import io.netty.buffer.ByteBuf;

/**
 * The payload of clients. Every byte tells the server what to do with it: the server keeps no state
 * for a session.
 */
enum LoadPayload {
  /** To be counted. */
  COUNTED(0),
  /** To be sent back. */
  ECHOED(1);

  private final int content;

  LoadPayload(int content) {
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
