package io.kcp4j.lab;

import io.netty.buffer.ByteBuf;

/** Writes back what it reads while it reads, and flushes after each batch. */
final class EchoServer implements LabUser {

  private final WriteQueue queue;
  private boolean hasWritten;

  EchoServer(int messageBytes) {
    queue = new WriteQueue(messageBytes);
  }

  @Override
  public void received(LabSession session, ByteBuf data) {
    queue.write(session, data);
    hasWritten = true;
  }

  @Override
  public void progressed(LabSession session) {
    hasWritten |= queue.drain(session);
    if (hasWritten) {
      hasWritten = false;
      session.flush();
    }
  }
}
