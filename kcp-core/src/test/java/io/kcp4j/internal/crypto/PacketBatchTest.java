package io.kcp4j.internal.crypto;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kcp4j.BufferKinds;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The list of packets, and access to their bytes. */
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

  @Test
  void bytesAreReadAndWrittenInBuffersOfEveryKind(@TempDir Path folder) {
    byte[] content = new byte[300];
    for (int i = 0; i < content.length; i++) {
      content[i] = (byte) (i * 11);
    }
    for (Map.Entry<String, ByteBuf> kind : BufferKinds.of(content, folder).entrySet()) {
      String name = kind.getKey();
      ByteBuf other = kind.getValue();
      int start = other.readerIndex();
      batch.reset(other);
      batch.add(start, other.writerIndex());
      batch.map();
      byte[] read = new byte[100];
      batch.read(start + 50, read, 10, 90);
      assertArrayEquals(
          Arrays.copyOfRange(content, 50, 140), Arrays.copyOfRange(read, 10, 100), name);
      if (!name.contains("read-only") && !name.contains("fixed")) {
        byte[] before = {content[60], content[61], content[62]};
        batch.write(start + 60, new byte[] {0, 1, 2, 3}, 1, 3);
        for (int i = 0; i < 3; i++) {
          assertEquals(1 + i, other.getByte(start + 60 + i), name);
        }
        batch.write(start + 60, before, 0, 3);
      }
      batch.unmap();
      other.release();
    }
  }
}
