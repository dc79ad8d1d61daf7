package io.kcp4j.netty.internal.endpoint;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.kcp4j.internal.arq.KcpContext;
import io.kcp4j.netty.Fixture;
import io.netty.buffer.AbstractByteBufAllocator;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.buffer.UnpooledHeapByteBuf;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** {@link DatagramReceiver}: nothing is held of a packet that cannot be forwarded. */
class DatagramReceiverTest {

  /** Allocates buffers that cannot be written. */
  private static final class LastMemory extends AbstractByteBufAllocator {

    final List<ByteBuf> allocated = new ArrayList<>();

    @Override
    protected ByteBuf newHeapBuffer(int initialCapacity, int maxCapacity) {
      ByteBuf buffer =
          new UnpooledHeapByteBuf(this, initialCapacity, maxCapacity) {
            @Override
            public ByteBuf writeBytes(ByteBuf source, int index, int length) {
              throw new IllegalStateException("simulated");
            }
          };
      allocated.add(buffer);
      return buffer;
    }

    @Override
    protected ByteBuf newDirectBuffer(int initialCapacity, int maxCapacity) {
      return newHeapBuffer(initialCapacity, maxCapacity);
    }

    @Override
    public boolean isDirectBufferPooled() {
      return false;
    }
  }

  @Test
  void copyIsReleasedThatCannotBeForwarded() {
    LastMemory allocator = new LastMemory();
    DatagramReceiver receiver =
        new DatagramReceiver(null, null, null, null, KcpContext.of(allocator));
    ByteBuf packet = Unpooled.buffer().writeZero(100);
    assertThrows(IllegalStateException.class, () -> receiver.forward(Fixture.ANY_PORT, packet, 0));
    assertEquals(1, allocator.allocated.size());
    assertEquals(0, allocator.allocated.get(0).refCnt());
  }
}
