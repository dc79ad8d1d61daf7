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
class PacketBurstTest {

  private final ByteBuf buffer = Unpooled.buffer(1000);
  private final PacketBurst burst = new PacketBurst().reset(buffer);

  @Test
  void packetsStandWhereTheyWereAdded() {
    for (int i = 0; i < 100; i++) {
      burst.add(10 * i, 10 * i + i % 10);
    }
    assertSame(buffer, burst.buffer());
    assertEquals(100, burst.size());
    for (int i = 0; i < 100; i++) {
      assertEquals(10 * i, burst.start(i));
      assertEquals(10 * i + i % 10, burst.end(i));
      assertFalse(burst.isRefused(i));
    }
  }

  @Test
  void narrowingTakesBytesOffBothEnds() {
    burst.add(100, 200);
    burst.narrow(0, 20, 16);
    assertEquals(120, burst.start(0));
    assertEquals(184, burst.end(0));
  }

  @Test
  void resettingForgetsWhatWasRefused() {
    burst.add(0, 1);
    burst.refuse(0);
    assertTrue(burst.isRefused(0));
    burst.reset(buffer).add(0, 1);
    assertEquals(1, burst.size());
    assertFalse(burst.isRefused(0));
  }

  @Test
  void packetsEndWithinTheBuffer() {
    burst.add(999, 1000);
    burst.add(1000, 1000);
    assertThrows(IllegalArgumentException.class, () -> burst.add(999, 1001));
    assertThrows(IllegalArgumentException.class, () -> burst.add(-1, 1));
    assertThrows(IllegalArgumentException.class, () -> burst.add(5, 4));
  }
}
