package io.kcp4j.crypto;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import io.kcp4j.BufferKinds;
import io.netty.buffer.ByteBuf;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** {@link PacketBatch} over buffers of every kind. */
class PacketBatchKindsTest {

  @TempDir private Path folder;

  @Test
  void bytesAreReadAndWrittenWhereTheBufferHasThem() {
    byte[] content = new byte[300];
    for (int i = 0; i < content.length; i++) {
      content[i] = (byte) (i * 11);
    }
    PacketBatch batch = new PacketBatch();
    for (Map.Entry<String, ByteBuf> kind : BufferKinds.of(content, folder).entrySet()) {
      String name = kind.getKey();
      ByteBuf buffer = kind.getValue();
      int start = buffer.readerIndex();
      batch.reset(buffer);
      batch.add(start, buffer.writerIndex());
      batch.map();
      byte[] read = new byte[100];
      batch.read(start + 50, read, 10, 90);
      assertArrayEquals(
          Arrays.copyOfRange(content, 50, 140), Arrays.copyOfRange(read, 10, 100), name);
      if (!name.contains("read-only") && !name.contains("fixed")) {
        byte[] before = {content[60], content[61], content[62]};
        batch.write(start + 60, new byte[] {0, 1, 2, 3}, 1, 3);
        for (int i = 0; i < 3; i++) {
          assertEquals(1 + i, buffer.getByte(start + 60 + i), name);
        }
        batch.write(start + 60, before, 0, 3);
      }
      batch.unmap();
      buffer.release();
    }
  }
}
