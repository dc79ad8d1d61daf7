package io.kcp4j.lab;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;

/** What a user could not write yet. */
final class WriteQueue {

  private final int messageBytes;
  private final ByteBuf waiting = Unpooled.buffer();

  /**
   * Makes an empty queue.
   *
   * @param messageBytes the size of every message
   */
  WriteQueue(int messageBytes) {
    this.messageBytes = messageBytes;
  }

  /** Writes messages, or queues those for which there is no room. */
  void write(LabSession session, ByteBuf messages) {
    waiting.writeBytes(messages);
    drain(session);
  }

  /** Writes as much as there is room for; returns whether there was anything to write. */
  boolean drain(LabSession session) {
    if (!waiting.isReadable()) {
      return false;
    }
    while (waiting.isReadable()) {
      int bytes = Math.min(messageBytes, waiting.readableBytes());
      ByteBuf message = waiting.slice(waiting.readerIndex(), bytes);
      boolean taken = session.write(message);
      waiting.skipBytes(message.readerIndex());
      if (!taken) {
        waiting.discardSomeReadBytes();
        return true;
      }
    }
    waiting.clear();
    return true;
  }
}
