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

  /** Sends what was written; within a batch of input, at its end. */
  void flush();
}
