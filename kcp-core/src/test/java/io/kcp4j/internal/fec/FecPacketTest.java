package io.kcp4j.internal.fec;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;

import io.kcp4j.BufferKinds;
import io.netty.buffer.ByteBuf;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** {@link FecPacket} over buffers of every kind. */
class FecPacketTest {

  @TempDir private Path folder;

  @Test
  void bytesAreReadWhereTheBufferHasThem() {
    byte[] content = new byte[200];
    for (int i = 0; i < content.length; i++) {
      content[i] = (byte) (i * 11);
    }
    for (Map.Entry<String, ByteBuf> kind : BufferKinds.of(content, folder).entrySet()) {
      ByteBuf packet = kind.getValue();
      byte[] read = new byte[150];
      FecPacket.read(packet, packet.readerIndex() + 40, read, 150);
      assertArrayEquals(Arrays.copyOfRange(content, 40, 190), read, kind.getKey());
      packet.release();
    }
  }
}
