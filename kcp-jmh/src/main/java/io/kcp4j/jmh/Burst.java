package io.kcp4j.jmh;

import io.kcp4j.DatagramOutput;
import io.kcp4j.Kcp;
import io.netty.buffer.ByteBuf;

/**
 * Takes datagrams into equal slots of one direct buffer, as they would be handed to a socket. When
 * the last slot is full the first is next: undelivered datagrams are lost.
 */
final class Burst implements DatagramOutput {

  private static final int SLOTS = 64;

  private final ByteBuf buffer =
      KcpBenchmark.ALLOCATOR.directBuffer(SLOTS * KcpBenchmark.MTU_BYTES);
  private final int[] ends = new int[SLOTS];
  private int count;

  @Override
  public ByteBuf begin(int maxBytes) {
    int start = (count & (SLOTS - 1)) * KcpBenchmark.MTU_BYTES;
    return buffer.setIndex(start, start);
  }

  @Override
  public void end() {
    ends[count++ & (SLOTS - 1)] = buffer.writerIndex();
  }

  /** Hands what was taken since the last call, at most a slot each, to a session. */
  void deliverTo(Kcp kcp, long nowMs) {
    for (int i = 0; i < count; i++) {
      buffer.setIndex(i * KcpBenchmark.MTU_BYTES, ends[i]);
      kcp.input(buffer, nowMs);
    }
    count = 0;
  }

  void release() {
    buffer.release();
  }
}
