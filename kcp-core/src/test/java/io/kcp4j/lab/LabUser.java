package io.kcp4j.lab;

import io.netty.buffer.ByteBuf;

/** What an application does with a session. */
interface LabUser {

  /** A part of the stream, or a message, has arrived. The buffer stays the caller's. */
  void received(LabSession session, ByteBuf data);

  /** A message has arrived on a lane. The buffer stays the caller's. */
  default void receivedOnLane(LabSession session, int lane, ByteBuf message) {
    throw new AssertionError("a message on a lane");
  }

  /** A batch of input has been read; there may be room to write. */
  default void progressed(LabSession session) {}
}
