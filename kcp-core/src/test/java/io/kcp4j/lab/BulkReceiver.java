package io.kcp4j.lab;

import io.kcp4j.sim.Payload;
import io.netty.buffer.ByteBuf;

/** Reads, checks and counts. */
final class BulkReceiver implements LabUser {

  private final Payload payload;
  private long bytes;

  BulkReceiver(Payload payload) {
    this.payload = payload;
  }

  @Override
  public void received(LabSession session, ByteBuf data) {
    if (!payload.matchesNext(data)) {
      throw new AssertionError("altered after " + bytes + " bytes");
    }
    bytes += data.readableBytes();
  }

  long bytes() {
    return bytes;
  }
}
