package io.kcp4j.lab;

import io.kcp4j.sim.Payload;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;

/** Writes as fast as the session takes it. */
final class BulkSender implements LabUser {

  private static final int WRITE_BYTES = 4096;

  private final Payload payload;
  private final ByteBuf unsent = Unpooled.buffer(WRITE_BYTES);

  /** What is not written to the session yet, or copied to be written. */
  private long leftBytes;

  BulkSender(Payload payload) {
    this(payload, Long.MAX_VALUE);
  }

  /** Writes so many bytes in all. */
  BulkSender(Payload payload, long bytes) {
    this.payload = payload;
    leftBytes = bytes;
  }

  @Override
  public void received(LabSession session, ByteBuf data) {
    throw new AssertionError("bulk data is one way");
  }

  @Override
  public void progressed(LabSession session) {
    do {
      if (!unsent.isReadable()) {
        int bytes = (int) Math.min(WRITE_BYTES, leftBytes);
        payload.write(unsent.clear(), bytes);
        leftBytes -= bytes;
      }
    } while (session.write(unsent) && leftBytes > 0);
    session.flush();
  }
}
