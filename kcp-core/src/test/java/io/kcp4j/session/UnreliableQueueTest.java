package io.kcp4j.session;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kcp4j.KcpContext;
import io.kcp4j.KcpCounters;
import io.kcp4j.MemoryAccount;
import io.kcp4j.MemoryBudget;
import io.netty.buffer.AbstractByteBufAllocator;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.Unpooled;
import io.netty.buffer.UnpooledByteBufAllocator;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** {@link UnreliableQueue} alone: what it keeps, and what that counts as. */
class UnreliableQueueTest {

  private static final int LIMIT = 3;

  private boolean isOutOfMemory;

  private final UnpooledByteBufAllocator memory = new UnpooledByteBufAllocator(true, true);

  private final ByteBufAllocator allocator =
      new AbstractByteBufAllocator(true) {
        @Override
        protected ByteBuf newHeapBuffer(int initialCapacity, int maxCapacity) {
          return memory.heapBuffer(initialCapacity, maxCapacity);
        }

        @Override
        protected ByteBuf newDirectBuffer(int initialCapacity, int maxCapacity) {
          if (isOutOfMemory) {
            throw new OutOfMemoryError("simulated");
          }
          return memory.directBuffer(initialCapacity, maxCapacity);
        }

        @Override
        public boolean isDirectBufferPooled() {
          return false;
        }
      };

  private final MemoryBudget budget = MemoryBudget.unlimited();
  private final UnreliableQueue queue =
      new UnreliableQueue(new MemoryAccount(new KcpContext(allocator, budget, new KcpCounters())));

  /** Adds a datagram of four bytes with this value, behind other bytes. */
  private int add(int value) {
    ByteBuf packet = Unpooled.buffer().writeInt(-1).writeInt(value).writeInt(-1);
    return queue.add(packet, 4, 4, LIMIT);
  }

  private int poll() {
    ByteBuf datagram = queue.poll();
    assertEquals(4, datagram.readableBytes());
    int value = datagram.readInt();
    datagram.release();
    return value;
  }

  @AfterEach
  void nothingIsHeldWhenAllIsClosed() {
    queue.close();
    assertEquals(0, budget.usedBytes());
    assertEquals(0, memory.metric().usedDirectMemory());
  }

  @Test
  void oldestIsDroppedBeyondTheLimit() {
    assertTrue(queue.isEmpty());
    for (int i = 1; i <= LIMIT; i++) {
      assertEquals(0, add(i));
    }
    long usedBytes = budget.usedBytes();
    assertEquals(LIMIT * (4 + 128), usedBytes);
    assertEquals(1, add(4));
    assertEquals(usedBytes, budget.usedBytes());
    assertEquals(2, poll());
    assertEquals(3, poll());
    assertEquals(4, poll());
    assertNull(queue.poll());
    assertEquals(0, budget.usedBytes());
  }

  @Test
  void datagramForWhichTheAllocatorHasNothingIsNotCounted() {
    add(1);
    long usedBytes = budget.usedBytes();
    isOutOfMemory = true;
    assertThrows(OutOfMemoryError.class, () -> add(2));
    assertEquals(usedBytes, budget.usedBytes());
    assertEquals(1, poll());
    assertTrue(queue.isEmpty());
  }
}
