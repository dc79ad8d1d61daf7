package io.kcp4j.jmh;

import io.kcp4j.DatagramOutput;
import io.kcp4j.Kcp;
import io.netty.buffer.ByteBuf;

/**
 * Takes datagrams into equal slots of one direct buffer, as they would be handed to a socket. It
 * begins anew when the last slot is full: what was not delivered by then is lost.
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

  /** How many datagrams have been taken since then, or since {@link #clear}. */
  int size() {
    return count;
  }

  /** One of these; it is valid until the next is asked for. */
  ByteBuf datagram(int i) {
    return buffer.setIndex(i * KcpBenchmark.MTU_BYTES, ends[i]);
  }

  void clear() {
    count = 0;
  }

  /** Hands them to a session, and forgets them. */
  void deliverTo(Kcp kcp, long nowMs) {
    for (int i = 0; i < count; i++) {
      kcp.input(datagram(i), nowMs);
    }
    clear();
  }

  void release() {
    buffer.release();
  }
}
