package io.kcp4j.lab;

import io.kcp4j.sim.Payload;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;

/** Writes as fast as the session takes it. */
final class BulkSender implements LabUser {

  private static final int WRITE_BYTES = 4096;

  private final Payload payload;
  private final ByteBuf unsent = Unpooled.buffer(WRITE_BYTES);

  BulkSender(Payload payload) {
    this.payload = payload;
  }

  @Override
  public void received(LabSession session, ByteBuf data) {
    throw new AssertionError("bulk data is one way");
  }

  @Override
  public void progressed(LabSession session) {
    do {
      if (!unsent.isReadable()) {
        payload.write(unsent.clear(), WRITE_BYTES);
      }
    } while (session.write(unsent));
    session.flush();
  }
}
