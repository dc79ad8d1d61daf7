package io.kcp4j.smux;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kcp4j.netty.internal.ConnectionMemory;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.lang.management.ManagementFactory;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** {@link StreamInput}: what a stream keeps. */
class StreamInputTest {

  private static final int STREAMS = 2_000;
  private static final int PIECES = 3_600;

  /** Each of them kept the largest queue that it had needed: 16 KB, which nobody counts. */
  @Test
  void streamThatHasBeenReadKeepsNoLargeQueue() {
    ReceiveQuota quota = new ReceiveQuota(1 << 22, 10_000, ConnectionMemory.UNLIMITED);
    ByteBuf piece = Unpooled.wrappedBuffer(new byte[1]);
    long before = heapBytes();
    StreamInput[] streams =
        Stream.generate(() -> new StreamInput(1 << 18)).limit(STREAMS).toArray(StreamInput[]::new);
    for (StreamInput stream : streams) {
      for (int i = 0; i < PIECES; i++) {
        stream.add(piece, quota);
      }
      while (stream.readableBytes() > 0) {
        stream.poll(quota);
      }
    }
    long eachBytes = (heapBytes() - before) / STREAMS;
    assertTrue(eachBytes < 2_000, eachBytes + " bytes");
    assertEquals(0, streams[STREAMS - 1].readableBytes());
    assertEquals(0, quota.used());
  }

  private static long heapBytes() {
    System.gc();
    return ManagementFactory.getMemoryMXBean().getHeapMemoryUsage().getUsed();
  }
}
