package io.kcp4j.session;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kcp4j.KcpContext;
import io.kcp4j.KcpCounter;
import io.netty.buffer.AbstractByteBufAllocator;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.Unpooled;
import io.netty.buffer.UnpooledByteBufAllocator;
import io.netty.buffer.UnpooledHeapByteBuf;
import java.net.InetSocketAddress;
import org.junit.jupiter.api.Test;

/** {@link DeferredPackets}: nothing is held of a packet that cannot be kept. */
class DeferredPacketsTest {

  private static final InetSocketAddress REMOTE = InetSocketAddress.createUnresolved("host", 1);

  /** Allocates buffers that cannot be written, as if memory ended with the allocation. */
  private static final class LastMemory extends AbstractByteBufAllocator {

    @Override
    protected ByteBuf newHeapBuffer(int initialCapacity, int maxCapacity) {
      return new LastBuffer(this, initialCapacity, maxCapacity);
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

  private static final class LastBuffer extends UnpooledHeapByteBuf {

    private static int held;

    LastBuffer(ByteBufAllocator allocator, int initialCapacity, int maxCapacity) {
      super(allocator, initialCapacity, maxCapacity);
      held++;
    }

    @Override
    public ByteBuf writeBytes(ByteBuf source, int index, int length) {
      throw new OutOfMemoryError("simulated");
    }

    @Override
    protected void deallocate() {
      super.deallocate();
      held--;
    }
  }

  @Test
  void copyIsReleasedIfThereIsNoMemoryBehindItsAllocation() {
    KcpContext context = KcpContext.of(new LastMemory());
    DeferredPackets packets = new DeferredPackets(context);
    assertFalse(packets.add(REMOTE, Unpooled.buffer().writeZero(100)));
    assertEquals(0, LastBuffer.held);
    assertEquals(0, context.budget().usedBytes());
    assertEquals(1, context.total().get(KcpCounter.ALLOCATION_FAILED));
    assertNull(packets.poll());
  }

  @Test
  void packetsArePolledInOrderAndCountUntilTheyAreReleased() {
    UnpooledByteBufAllocator allocator = new UnpooledByteBufAllocator(false, true);
    KcpContext context = KcpContext.of(allocator);
    DeferredPackets packets = new DeferredPackets(context);
    for (int i = 0; i < DeferredPackets.MAX_PACKETS; i++) {
      assertTrue(packets.add(REMOTE, Unpooled.buffer().writeZero(8).writeInt(i).skipBytes(8)));
    }
    assertFalse(packets.add(REMOTE, Unpooled.buffer().writeInt(1)), "the limit");
    assertEquals(4 * DeferredPackets.MAX_PACKETS, context.budget().usedBytes());
    for (int i = 0; i < 2; i++) {
      DeferredPackets.Packet packet = packets.poll();
      assertEquals(i, packet.sealed().getInt(0));
      packets.release(packet);
    }
    assertEquals(4 * (DeferredPackets.MAX_PACKETS - 2), context.budget().usedBytes());
    assertTrue(packets.add(REMOTE, Unpooled.buffer().writeInt(1)));
    packets.clear();
    assertNull(packets.poll());
    assertEquals(0, context.budget().usedBytes());
    assertEquals(0, allocator.metric().usedHeapMemory());
  }
}
