package io.kcp4j.lab;

import io.netty.buffer.ByteBuf;

/** A session as its user sees it. */
interface LabSession {

  /**
   * Queues bytes: as many as there is room for, or a whole message or nothing. Moves the reader
   * index past what was taken.
   *
   * @return whether all was taken
   */
  boolean write(ByteBuf data);

  /** Queues a message on a lane, which takes over the buffer. Only if the delivery is lanes. */
  default void writeToLane(int lane, ByteBuf message) {
    throw new UnsupportedOperationException();
  }

  /** How much waits on a lane, in bytes. */
  default int queuedOnLane(int lane) {
    throw new UnsupportedOperationException();
  }

  /** Sends what was written; within a batch of input, at its end. */
  void flush();
}
