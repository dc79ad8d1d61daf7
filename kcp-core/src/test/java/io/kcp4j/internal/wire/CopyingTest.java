package io.kcp4j.internal.wire;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.nio.ByteBuffer;
import java.util.List;
import org.junit.jupiter.api.Test;

class CopyingTest {

  private final ByteBuf content = Unpooled.wrappedBuffer(new byte[] {1, 2, 3, 4, 5, 6});

  /** Two threads would change its position at the same time. */
  @Test
  void internalViewOfBufferThatMayBeSharedIsNotUsed() {
    ByteBuffer internal = content.internalNioBuffer(0, 6);
    for (ByteBuf shared :
        List.of(
            content.duplicate(),
            content.slice(),
            content.asReadOnly(),
            content.retain(),
            Unpooled.compositeBuffer().addComponent(true, content))) {
      ByteBuffer copy = ByteBuffer.allocate(3);
      Copying.get(shared, 2, copy);
      assertEquals(ByteBuffer.wrap(new byte[] {3, 4, 5}), copy.flip());
      assertEquals(0, internal.position(), () -> "used by " + shared);
    }
  }

  @Test
  void bufferOfItsOwnIsCopied() {
    ByteBuffer copy = ByteBuffer.allocate(3);
    Copying.get(content, 1, copy);
    assertEquals(ByteBuffer.wrap(new byte[] {2, 3, 4}), copy.flip());
    assertEquals(0, content.readerIndex());
  }
}
