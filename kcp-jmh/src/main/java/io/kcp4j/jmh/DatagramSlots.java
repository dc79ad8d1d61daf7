package io.kcp4j.jmh;

import io.kcp4j.internal.arq.Kcp;
import io.kcp4j.internal.wire.DatagramOutput;
import io.netty.buffer.ByteBuf;

/**
 * Stores datagrams in equal slots of one direct buffer, as they would be handed to a socket. It
 * starts over when the last slot is full: undelivered datagrams are then lost.
 */
final class DatagramSlots implements DatagramOutput {

  private static final int SLOTS = 64;

  private final ByteBuf buffer =
      KcpBenchmark.ALLOCATOR.directBuffer(SLOTS * KcpBenchmark.MTU_BYTES);
  private final int[] ends = new int[SLOTS];
  private int count;

  @Override
  public ByteBuf begin(int maxBytes) {
    if (count == SLOTS) {
      count = 0;
    }
    int start = count * KcpBenchmark.MTU_BYTES;
    return buffer.setIndex(start, start);
  }

  @Override
  public void end() {
    ends[count++] = buffer.writerIndex();
  }

  /** The number of datagrams stored since it started over, or since {@link #clear}. */
  int size() {
    return count;
  }

  /** One of these datagrams, valid until the next call. */
  ByteBuf datagram(int i) {
    return buffer.setIndex(i * KcpBenchmark.MTU_BYTES, ends[i]);
  }

  void clear() {
    count = 0;
  }

  /** Delivers them to a session, and clears the slots. */
  void deliverTo(Kcp kcp, long nowUs) {
    for (int i = 0; i < count; i++) {
      kcp.input(datagram(i), nowUs);
    }
    clear();
  }

  void release() {
    buffer.release();
  }
}
