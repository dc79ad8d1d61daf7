package io.kcp4j.crypto;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import org.junit.jupiter.api.Test;

/** The list of packets. */
class PacketBatchTest {

  private final ByteBuf buffer = Unpooled.buffer(1000);
  private final PacketBatch batch = new PacketBatch().reset(buffer);

  @Test
  void packetsKeepTheirPositions() {
    for (int i = 0; i < 100; i++) {
      batch.add(10 * i, 10 * i + i % 10);
    }
    assertSame(buffer, batch.buffer());
    assertEquals(100, batch.size());
    for (int i = 0; i < 100; i++) {
      assertEquals(10 * i, batch.start(i));
      assertEquals(10 * i + i % 10, batch.end(i));
      assertFalse(batch.isRefused(i));
    }
  }

  @Test
  void narrowRemovesBytesFromBothEnds() {
    batch.add(100, 200);
    batch.narrow(0, 20, 16);
    assertEquals(120, batch.start(0));
    assertEquals(184, batch.end(0));
  }

  @Test
  void resetClearsRefusals() {
    batch.add(0, 1);
    batch.refuse(0);
    assertTrue(batch.isRefused(0));
    batch.reset(buffer).add(0, 1);
    assertEquals(1, batch.size());
    assertFalse(batch.isRefused(0));
  }

  @Test
  void packetsEndWithinTheBuffer() {
    batch.add(999, 1000);
    batch.add(1000, 1000);
    assertThrows(IllegalArgumentException.class, () -> batch.add(999, 1001));
    assertThrows(IllegalArgumentException.class, () -> batch.add(-1, 1));
    assertThrows(IllegalArgumentException.class, () -> batch.add(5, 4));
  }
}
